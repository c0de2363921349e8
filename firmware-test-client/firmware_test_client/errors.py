"""The exceptions of this package.

DeviceError
├── OtaError            the OTA endpoint is unreachable, or its answer does not start the device
├── ConnectError        the connection could not be opened (carries the refusal's status, if any)
├── HelloError          no acceptable server hello within ten seconds
├── Disconnected        the connection ended during an operation that needs it
├── SpeechError         speech cannot be synthesised, or a sound file cannot be read
└── DeviceTimeout       (also a TimeoutError) a wait timed out; names what was waited for
"""

from __future__ import annotations


class DeviceError(Exception):
    """Base class of the errors of this package."""


class OtaError(DeviceError):
    """The OTA endpoint is unreachable, or its answer does not start the device."""


class ConnectError(DeviceError):
    """The WebSocket, the MQTT connection or the UDP socket could not be opened.

    Attributes:
        status: of the refusal: an HTTP status, or the code of an MQTT CONNACK (1 to 5). None when
            there was no answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class HelloError(DeviceError):
    """No acceptable server hello within the firmware's time limit."""


class Disconnected(DeviceError):
    """The connection ended during an operation that needs it."""


class SpeechError(DeviceError):
    """Speech cannot be synthesised, or a sound file cannot be read."""


class DeviceTimeout(DeviceError, TimeoutError):
    """A wait timed out. The message names what was waited for and the last frames."""
