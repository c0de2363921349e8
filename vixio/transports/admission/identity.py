"""A device's identity, as it states it to a carrier."""

from __future__ import annotations

from dataclasses import dataclass

from vixio.core.device import (
    PERSON_PREFIX,
    RESERVED_PREFIX,
    TRIAL_PREFIX,
    normalise_device_id,
)

MAX_ID_CHARS = 128
"""Identities are MAC addresses and UUIDs; a longer one is a mistake."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Unverified until ``Admission.check`` has returned no refusal."""

    device_id: str
    """Normalised."""
    client_id: str = ""
    token: str = ""
    """Without its "Bearer " prefix."""
    sent_id: str = ""
    """The device id in the device's own spelling, where that differs."""

    @classmethod
    def stated(cls, sent_id: str, client_id: str, authorization: str) -> Identity:
        """Return the identity for an id as sent and an Authorization value, either may be empty."""
        scheme, _, token = authorization.strip().rpartition(" ")
        device_id = normalise_device_id(sent_id)
        return cls(
            device_id=device_id,
            client_id=client_id,
            token=token if scheme.strip().lower() in {"", "bearer"} else "",
            sent_id=sent_id if sent_id != device_id else "",
        )

    @property
    def well_formed(self) -> bool:
        """Whether both ids are short enough and printable, and the device's is a device's."""
        return not self.device_id.startswith(
            (RESERVED_PREFIX, TRIAL_PREFIX, PERSON_PREFIX)
        ) and all(
            len(value) <= MAX_ID_CHARS and value.isprintable()
            for value in (self.device_id, self.client_id)
        )
