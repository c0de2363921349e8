"""What became of offers: each is an attempt, which ends when the device comes back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from vixio.data.database.database import Row
from vixio.data.devices.firmware.offer import History, Stated


class AttemptState(StrEnum):
    """How far an attempt has come."""

    OFFERED = "offered"
    DOWNLOADING = "downloading"
    DOWNLOADED = "downloaded"
    """All bytes were sent. Whether it is installed shows when the device comes back."""
    INSTALLED = "installed"
    FAILED = "failed"
    POSTPONED = "postponed"
    """The server had too many downloads. Does not count as a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One offer to a device. Times are milliseconds since 1970; None: it has not happened."""

    id: int
    device_id: str
    release_id: int
    board: str
    version: str
    sha256: str
    elf_sha256: str
    from_version: str
    """What the device ran."""
    forced: bool
    state: AttemptState = AttemptState.OFFERED
    reason: str = ""
    """Why it failed, in one line."""
    size: int
    """Bytes of the image."""
    sent: int = 0
    """Bytes."""
    offered_at: int
    started_at: int | None = None
    """Of the download; so is ``finished_at``."""
    finished_at: int | None = None
    ended_at: int | None = None
    """When the device came back. Nothing changes after that."""

    @classmethod
    def of(cls, row: Row) -> Attempt:
        """Read a row of the table ``firmware_attempts``."""
        values = dict(row)
        values["state"] = AttemptState(values["state"])
        values["forced"] = bool(values["forced"])
        return cls(**values)


def settle(attempt: Attempt, device: Stated, at: int) -> Attempt | None:
    """Return how an attempt ended, now that the device is back; None if that is known already."""
    if attempt.ended_at is not None:
        return None
    if _installed(attempt, device):
        state, reason = AttemptState.INSTALLED, ""
    elif attempt.state in (AttemptState.FAILED, AttemptState.POSTPONED):
        state, reason = attempt.state, attempt.reason
    else:
        state, reason = AttemptState.FAILED, _why(attempt, device)
    return replace(attempt, state=state, reason=reason, ended_at=at)


def history(attempts: Iterable[Attempt], retry_from: Mapping[str, int]) -> History:
    """Return the history of a device from its attempts, the newest first.

    ``retry_from``: by the SHA-256 of an image, since when its failures count.
    """
    failures: dict[str, int] = {}
    over: set[str] = set()
    forced = 0
    for attempt in attempts:
        image = attempt.sha256
        if attempt.forced:
            forced = max(forced, attempt.release_id)
        if attempt.state is AttemptState.POSTPONED or image in over:
            continue
        if attempt.state is AttemptState.FAILED and attempt.offered_at >= retry_from.get(image, 0):
            failures[image] = failures.get(image, 0) + 1
        else:
            over.add(image)
    return History(failures=failures, forced=forced)


def broken_off(sent: int, size: int) -> str:
    """Return the reason of a download that did not reach its end."""
    return f"the download broke off after {sent} of {size} bytes"


def _installed(attempt: Attempt, device: Stated) -> bool:
    """Whether the device runs the image. Of two builds of one version the ELF files tell."""
    same_version = device.version == attempt.version
    if attempt.from_version != attempt.version:
        return same_version
    return same_version and device.elf_sha256 == attempt.elf_sha256


def _why(attempt: Attempt, device: Stated) -> str:
    match attempt.state:
        case AttemptState.OFFERED:
            return "the device did not begin to download"
        case AttemptState.DOWNLOADING:
            return broken_off(attempt.sent, attempt.size)
        case _:
            return (
                f"the device came back with {device.version or 'no version'}: it did not take the "
                "image, or the image did not start"
            )
