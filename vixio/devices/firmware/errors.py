"""What can go wrong with an image.

FirmwareError (a VixioError)   one line for people
"""

from __future__ import annotations

from vixio.core.errors import VixioError


class FirmwareError(VixioError):
    """An image is refused, or not there: one line that says why and what to do."""
