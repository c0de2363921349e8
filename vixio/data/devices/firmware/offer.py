"""The decision which image a device is offered. Pure: no clock, no file, no database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vixio.data.devices.firmware.versions import is_newer, is_version, numbers

MAX_FAILURES = 3
"""In a row, of one image on one device. Each costs the user half a minute at the start of the
device, and the image will hardly fit better the next time."""

_SHARES = 10_000
"""So percentages have two digits behind the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An image that devices may get. ``id`` rises each time that something is released."""

    id: int
    board: str
    version: str
    chip: str
    sha256: str
    """Of the image, in hexadecimal digits; so is ``elf_sha256``, of the build."""
    elf_sha256: str
    size: int
    """Bytes."""
    percent: float = 0.0
    """Of the devices of the board, the same ones each time: a larger percentage adds to them."""
    devices: frozenset[str] = frozenset()
    """Normalised ids of devices that get it whatever the percentage."""
    paused: bool = False
    forced: bool = False
    """Offered once to each device that does not run a lower version, to go back to this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a device states of itself at OTA. Empty what it does not state."""

    device_id: str
    board: str
    chip: str
    version: str
    elf_sha256: str = ""
    room: int | None = None
    """Bytes of the partition to which it would write, None if not stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What became of earlier offers to a device."""

    failures: Mapping[str, int] = field(default_factory=dict)
    """How often an image, by its SHA-256, failed in a row."""
    forced: int = 0
    """The id of the latest release that was offered with force; 0: none. That it was offered ends
    the loop of forced updates."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A release for a device. ``force``: the device installs it although it is not newer."""

    release: Release
    force: bool = False


def choose(device: Stated, releases: Iterable[Release], history: History) -> Offer | None:
    """Return what the device is offered, None for nothing.

    That is the highest version that is newer than the device's. A forced release pins the device:
    it is offered once although it is not newer, and what was released before it not any more.
    """
    if not device.board or not device.chip or not is_version(device.version):
        return None
    candidates = [each for each in releases if _fits(device, each) and is_for(device, each)]
    pin = max([history.forced, *(each.id for each in candidates if each.forced)])
    newer = [
        each
        for each in candidates
        if each.id >= pin
        and is_newer(each.version, device.version)
        and history.failures.get(each.sha256, 0) < MAX_FAILURES
    ]
    if newer:
        return Offer(max(newer, key=lambda each: (numbers(each.version), each.id)))
    for each in candidates:
        if each.forced and each.id == pin > history.forced:
            wanted = not is_newer(each.version, device.version) and not _runs(device, each)
            return Offer(each, force=True) if wanted else None
    return None


def is_for(device: Stated, release: Release) -> bool:
    """Whether the device is one of those that get the release."""
    return device.device_id in release.devices or (
        _share(device.device_id, release) < release.percent / 100
    )


def _fits(device: Stated, release: Release) -> bool:
    return (
        not release.paused
        and device.board == release.board
        and device.chip == release.chip
        and (device.room is None or release.size <= device.room)
    )


def _runs(device: Stated, release: Release) -> bool:
    """Whether the device runs this very build."""
    return device.version == release.version and device.elf_sha256 == release.elf_sha256


def _share(device_id: str, release: Release) -> float:
    """Return a number in [0, 1) that is the same for a device and a version at any time."""
    name = f"{release.board}/{release.version}/{device_id}"
    number = int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:8], "big")
    return number % _SHARES / _SHARES
