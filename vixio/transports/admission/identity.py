"""A device's identity, as it states it to a carrier."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vixio.core.device import normalise_device_id

MAX_ID_CHARS = 128
"""Identities are MAC addresses and UUIDs; a longer one is a mistake."""

UP_TOPIC = "vixio/up/"
"""Begins the MQTT topic that a device publishes to, before its id."""

_DEVICE = re.compile(rf"[ -.0-~]{{0,{MAX_ID_CHARS}}}")


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
        """Whether both ids are short enough and printable, and the device's is a device's.

        That is ASCII without a slash: it is no look-alike of another's, no place in a path, and
        none of the keys of other conversations.
        """
        return bool(_DEVICE.fullmatch(self.device_id)) and (
            len(self.client_id) <= MAX_ID_CHARS and self.client_id.isprintable()
        )


def user_name(client_id: str, host: str) -> str:
    """Return the MQTT user name for a client that reached the server as ``host``.

    It comes back with each connection. So the server knows, after its own restart too, by which
    address this device reaches it: behind a NAT or in a container it cannot see that.
    """
    return f"{client_id}@{host}"


def read_user_name(name: str) -> tuple[str, str]:
    """Return the client's id and the host in an MQTT user name; the host may be empty."""
    client_id, separator, host = name.rpartition("@")
    return (client_id, host) if separator else (host, "")
