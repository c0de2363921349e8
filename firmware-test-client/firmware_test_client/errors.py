"""What can go wrong, as one tree.

DeviceError
├── OtaError            the OTA endpoint is unreachable or its answer is of no use to a device
├── ConnectError        the WebSocket could not be opened (carries the HTTP status, if any)
├── HelloError          no acceptable server hello within ten seconds
├── Disconnected        the connection is gone while something was expected of it
├── SpeechError         speech could not be synthesised or a sound file not read
└── DeviceTimeout       (also a TimeoutError) a bounded wait ran out; names what was waited for
"""

from __future__ import annotations


class DeviceError(Exception):
    """Base of everything that this package raises on purpose."""


class OtaError(DeviceError):
    """The OTA endpoint is unreachable or its answer is of no use to a device."""


class ConnectError(DeviceError):
    """The WebSocket could not be opened.

    Attributes:
        status: HTTP status of the refusal, None when there was no HTTP answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class HelloError(DeviceError):
    """No acceptable server hello within the firmware's patience."""


class Disconnected(DeviceError):
    """The connection is gone while something was expected of it."""


class SpeechError(DeviceError):
    """Speech could not be synthesised, or a sound file could not be read."""


class DeviceTimeout(DeviceError, TimeoutError):
    """A bounded wait ran out. The message names what was waited for and the last frames."""
