"""What can go wrong with an image.

FirmwareError (a RegistryError)  one line for people
└── NoFirmware                   there is no such image or release
"""

from __future__ import annotations

from vixio.data.devices.records import NotKnown, RegistryError


class FirmwareError(RegistryError):
    """An image is refused, or not there: one line that says why and what to do."""


class NoFirmware(FirmwareError, NotKnown):
    """There is no such image or release."""
