"""Versions of firmware, as the firmware itself compares them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,7}", re.ASCII)
"""Each part fits into the ``int`` of std::stoi, which throws on anything else and thereby ends the
device (ota.cc, ParseVersion)."""


def is_version(text: str) -> bool:
    """Whether a device can read ``text``: numbers with dots between them."""
    return _VERSION.fullmatch(text) is not None


def is_newer(version: str, than: str) -> bool:
    """Whether a device that runs ``than`` takes ``version`` for newer. Both are versions.

    Part by part as numbers; if all common parts are equal, the one with more parts is newer
    (ota.cc, IsNewVersionAvailable).
    """
    return numbers(version) > numbers(than)


def numbers(version: str) -> tuple[int, ...]:
    """Return the parts of a version, for sorting. Raises ValueError if it is none."""
    if not is_version(version):
        raise ValueError(f"{version!r} is not a version")
    return tuple(map(int, version.split(".")))
