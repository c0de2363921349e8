"""What the registry knows. Times are milliseconds since 1970, UTC; None: it has not happened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from vixio.core.errors import VixioError
from vixio.data.database.database import Row

MAX_TEXT: Final = 64
"""Characters of a name, and of a reason."""


Carrier = Literal["", "websocket", "mqtt"]
"""By which a device is to come; empty: as the settings say."""


class AccessMode(StrEnum):
    """Which devices may use the server."""

    OPEN = "open"
    """Every device that is not blocked."""
    ALLOW_LIST = "allow_list"
    """Those that were added or claimed by their id."""
    ACTIVATION = "activation"
    """Those that were claimed, by the code that they show or by their id."""


class RegistryError(VixioError):
    """A change that cannot be made. The message says why and what to do, in one line."""


class NotKnown(RegistryError):
    """There is nothing of that id, name or code."""


class NameTaken(RegistryError):
    """A device that nobody has claimed states the name of another one as its id."""


class TooManyTries(RegistryError):
    """The caller has to wait. ``wait_s``: seconds."""

    def __init__(self, message: str, wait_s: int) -> None:
        super().__init__(message)
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What decides whether a device is let in, and how it is served.

    Of each device, every process has it in memory.
    """

    client_id: str = ""
    claimed: bool = False
    blocked: str | None = None
    """The reason, which may be empty; None: it is not blocked."""
    unproven: bool = False
    """It has a key, and has not shown that it has."""
    tokens_from: int = 0
    granted: str = ""
    """The id of the token that it got with its code, valid since the claim of that code."""
    name: str = ""
    place: str = ""
    profile: str = ""
    role: str = ""
    """The name of the profile that it has taken as a role, over its own; empty: none."""
    person: str = ""
    """The id of the person that it belongs to; empty: nobody."""
    carrier: str = ""
    """As :attr:`DeviceRecord.carrier`."""

    @property
    def served_as(self) -> str:
        """The name of the profile that is uppermost."""
        return self.role or self.profile

    def lets_in(self, mode: AccessMode, client_id: str) -> bool:
        """Whether a client that states this device's id may use the server."""
        if self.blocked is not None:
            return False
        if mode is AccessMode.OPEN:
            return True
        return self.claimed and not self.unproven and self.client_id in ("", client_id)


UNKNOWN: Final = Standing()
"""Of a device that has not been here."""


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """A device that has asked OTA, or that was added by hand."""

    id: str
    client_id: str
    """Of the installation that was claimed; empty: any."""
    name: str
    board: str
    chip: str
    firmware: str
    serial: str
    address: str
    """The IP address of its last request."""
    language: str
    features: Sequence[str]
    tools: Sequence[str]
    first_seen: int
    last_seen: int
    """0: never, it was added by hand."""
    claimed_at: int | None
    claimed_by: str
    blocked_at: int | None
    block_reason: str
    code: str | None
    code_at: int | None
    challenge: str
    asking_client: str
    """Client-Id of the last request that was not let in."""
    hmac_key: str
    """In hexadecimal: the key in the chip's eFuse, for devices that prove who they are."""
    verified_at: int | None
    tokens_from: int
    """Tokens that were issued before are void."""
    profile: str | None
    """The name of its profile; None: none but what the settings say."""
    role: str | None
    """The name of the profile that it has taken by voice; None: none."""
    person_id: str | None
    """Of the person that it belongs to; None: nobody."""
    person: str | None
    """The name of that person."""
    granted: str | None
    """As :attr:`Standing.granted`; None: there is none."""
    rssi: int | None
    """Strength of its Wi-Fi signal when it last stated one to OTA, in dBm."""
    place: str
    """Where it was said to stand; empty: where the settings and its profile say."""
    carrier: str
    """As :data:`Carrier`; OTA sends it there."""

    @classmethod
    def of(cls, row: Row) -> DeviceRecord:
        """Read a row of the table ``devices``, joined with the name of its person."""
        values = dict(row)
        for name in ("features", "tools"):
            values[name] = tuple(json.loads(values[name]))
        return cls(**values)

    @property
    def state(self) -> str:
        """``blocked``, ``claimed`` or ``unclaimed``."""
        if self.blocked_at is not None:
            return "blocked"
        return "claimed" if self.claimed_at is not None else "unclaimed"

    @property
    def standing(self) -> Standing:
        """What decides whether it is let in."""
        return Standing(
            client_id=self.client_id,
            claimed=self.claimed_at is not None,
            blocked=None if self.blocked_at is None else self.block_reason,
            unproven=bool(self.hmac_key) and self.verified_at is None,
            tokens_from=self.tokens_from,
            granted=self.granted or "",
            name=self.name,
            place=self.place,
            profile=self.profile or "",
            role=self.role or "",
            person=self.person_id or "",
            carrier=self.carrier,
        )


class DeviceLine(NamedTuple):
    """What devices are searched by; as in :class:`DeviceRecord`."""

    id: str
    client_id: str
    name: str
    board: str
    state: str


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """What an assistant is: the keys of a device's section of the settings."""

    name: str
    content: Mapping[str, Any]
    """As it was given: references to environment variables are not expanded."""
    changed_at: int

    @classmethod
    def of(cls, row: Row) -> ProfileRecord:
        """Read a row of the table ``profiles``."""
        return cls(row["name"], json.loads(row["content"]), row["changed_at"])


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """Somebody whom devices belong to. The id stays when the name changes."""

    id: str
    name: str
    added_at: int

    @classmethod
    def of(cls, row: Row) -> PersonRecord:
        """Read a row of the table ``people``."""
        return cls(**row)


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token that was issued; the token itself is not stored."""

    id: str
    device_id: str
    client_id: str
    issued_at: int
    expires_at: int
    used_at: int | None
    """First use."""
    revoked_at: int | None

    @classmethod
    def of(cls, row: Row) -> TokenRecord:
        """Read a row of the table ``tokens``."""
        return cls(**row)

    def state(self, now: int) -> str:
        """``revoked``, ``expired``, ``used`` or ``unused``."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at <= now:
            return "expired"
        return "unused" if self.used_at is None else "used"


def checked_text(text: str) -> str:
    """Return a name or a reason without spaces around it. Raises RegistryError."""
    text = text.strip()
    if len(text) > MAX_TEXT or not text.isprintable():
        raise RegistryError(f"at most {MAX_TEXT} characters, without control characters")
    return text
