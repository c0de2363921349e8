"""Who may use the server: the interface between the doors (OTA, the carriers) and the registry.

``vixio.data.devices.registry`` implements it. Without a registry every device is welcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum

from vixio.transports.admission.identity import Identity
from vixio.transports.admission.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class OtaRequest:
    """What a device says of itself when it asks OTA. Unverified; empty where it says nothing."""

    device_id: str
    """Normalised, well-formed."""
    client_id: str = ""
    address: str = ""
    board: str = ""
    chip: str = ""
    firmware: str = ""
    serial: str = ""
    language: str = ""
    rssi: int | None = None
    """Strength of its Wi-Fi signal, in dBm; None: not stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtaDecision:
    """What OTA tells a device. Not ``admitted``: a notice, and nothing that opens anything yet."""

    admitted: bool
    token: str = ""
    """Empty: none is needed. Of a device that is not admitted: void until the claim of the code."""
    code: str = ""
    """Six digits that the device shows and reads aloud; empty: there is nothing to enter."""
    message: str = ""
    """What the device shows."""
    challenge: str = ""
    """Makes the device ask `/activate`, which it does not do without one (ota.cc, Activate)."""
    server_aec: bool = False
    """Its last hello left echo cancellation to the server, which then needs its timestamps."""
    mqtt: bool = False
    """It is served over MQTT, as far as the server can be reached so."""


OPEN_DOOR = OtaDecision(admitted=True)


class Activation(StrEnum):
    """The answer to `/activate`."""

    DONE = "done"
    WAITING = "waiting"
    REFUSED = "refused"


class RegistryUnavailable(Exception):
    """The registry cannot say now whether the device is welcome."""


class Access(ABC):
    """Decides who may use the server."""

    @property
    @abstractmethod
    def admits_strangers(self) -> bool:
        """Whether OTA may answer a client that does not say which device it is."""

    @abstractmethod
    async def decide(self, ota_request: OtaRequest) -> OtaDecision:
        """Answer a device at OTA. Raises RegistryUnavailable."""

    @abstractmethod
    async def activate(self, device_id: str, client_id: str, body: bytes) -> Activation:
        """Answer a device that asks whether it is claimed. Raises RegistryUnavailable."""

    @abstractmethod
    def check(self, identity: Identity) -> Refusal | None:
        """Return why the device may not connect. Never waits, never raises."""


class OpenAccess(Access):
    """Every device is welcome, and none is known."""

    admits_strangers = True

    async def decide(self, ota_request: OtaRequest) -> OtaDecision:
        """Invite it, without a token."""
        return OPEN_DOOR

    async def activate(self, device_id: str, client_id: str, body: bytes) -> Activation:
        """There is nothing to wait for."""
        return Activation.DONE

    def check(self, identity: Identity) -> Refusal | None:
        """Refuse nothing."""
        return None
