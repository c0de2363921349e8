"""What devices state of their firmware when they ask for the server's address.

For logs only: any client may state anything. The hello of the connection that follows does not have
it (websocket_protocol.cc, GetHelloMessage).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from vixio.transports.admission.limits import MAX_KEYS


@dataclass(frozen=True, slots=True)
class Firmware:
    """A board and the version of its firmware; empty where not stated."""

    board: str = ""
    version: str = ""


class StatedFirmware:
    """The firmware of the devices that asked last, in this process. Bounded."""

    def __init__(self, max_devices: int = MAX_KEYS) -> None:
        self._known: OrderedDict[str, Firmware] = OrderedDict()
        self._max = max_devices

    def note(self, device_id: str, firmware: Firmware) -> None:
        """Keep what a device states. ``device_id`` is normalised."""
        self._known[device_id] = firmware
        self._known.move_to_end(device_id)
        if len(self._known) > self._max:
            self._known.popitem(last=False)

    def get(self, device_id: str) -> Firmware:
        """Return what the device stated last; empty if it is not known."""
        return self._known.get(device_id, Firmware())
