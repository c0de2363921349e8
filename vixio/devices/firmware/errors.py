"""What can go wrong with an image.

FirmwareError (a RegistryError)  one line for people
"""

from __future__ import annotations

from vixio.devices.records import RegistryError


class FirmwareError(RegistryError):
    """An image is refused, or not there: one line that says why and what to do."""
