"""What ``vixio firmware`` tells people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vixio.cli.registry import local, table
from vixio.data.devices.firmware.attempts import AttemptState

if TYPE_CHECKING:
    from vixio.data.devices.firmware.attempts import Attempt
    from vixio.data.devices.firmware.manager import Listed
    from vixio.data.devices.firmware.offer import Release


def listing(found: Sequence[Listed]) -> Iterator[str]:
    """Yield the lines of a list of images."""
    yield from table(
        ("BOARD", "VERSION", "CHIP", "SIZE", "RELEASED TO", "DEVICES"),
        [
            (
                each.board,
                each.version,
                _chip(each),
                _size(each),
                _fault(each) or (described(each.record.release) if each.record else "no device"),
                _counts(each.counts),
            )
            for each in found
        ],
    )


def details(listed: Listed) -> Iterator[str]:
    """Yield the lines that say all of one image."""
    image = listed.stored.image if listed.stored else None
    pairs: dict[str, str] = {
        "board": listed.board,
        "version": listed.version,
        "chip": _chip(listed),
        "size": f"{image.size} bytes" if image else _size(listed),
    }
    if image is not None and listed.stored is not None:
        pairs |= {
            "project": image.project,
            "built": f"{image.built}, with ESP-IDF {image.idf_version}",
            "flash": f"{image.flash_bytes // 1024**2} MB",
            "sha256": image.sha256,
            "file": str(listed.stored.path),
        }
    if fault := _fault(listed):
        pairs["fault"] = fault
    if listed.record is not None:
        pairs["released to"] = described(listed.record.release)
        pairs["since"] = local(listed.record.released_at)
        if listed.record.release.devices:
            pairs["devices"] = ", ".join(sorted(listed.record.release.devices))
    else:
        pairs["released to"] = "no device"
    pairs["updates"] = _counts(listed.counts)
    width = max(map(len, pairs))
    for name, value in pairs.items():
        yield f"{name:<{width}}  {value}"


def attempts(found: Sequence[Attempt]) -> Iterator[str]:
    """Yield the lines of a list of attempts."""
    yield from table(
        ("OFFERED", "DEVICE", "BOARD", "FROM", "TO", "STATE", "WHY"),
        [
            (
                local(each.offered_at),
                each.device_id,
                each.board,
                each.from_version,
                each.version + (" (forced)" if each.forced else ""),
                _progress(each),
                each.reason,
            )
            for each in found
        ],
    )


def described(release: Release) -> str:
    """Return in a few words who gets a release."""
    parts = []
    if release.percent:
        parts.append(f"{release.percent:g} %")
    if number := len(release.devices):
        parts.append(f"{number} device{'' if number == 1 else 's'}")
    words = " and ".join(parts)
    notes = [
        word for word, given in (("forced", release.forced), ("paused", release.paused)) if given
    ]
    return f"{words} ({', '.join(notes)})" if notes else words


def listed_as_json(listed: Listed) -> Mapping[str, Any]:
    """Return an image as JSON; times in milliseconds since 1970."""
    image = listed.stored.image if listed.stored else None
    record = listed.record
    return {
        "board": listed.board,
        "version": listed.version,
        "fault": _fault(listed),
        "image": {
            "chip": image.chip,
            "size": image.size,
            "sha256": image.sha256,
            "project": image.project,
            "built": image.built,
            "idf_version": image.idf_version,
        }
        if image
        else None,
        "release": {
            "percent": record.release.percent,
            "devices": sorted(record.release.devices),
            "forced": record.release.forced,
            "paused": record.release.paused,
            "released_at": record.released_at,
        }
        if record
        else None,
        "devices": listed.counts,
    }


def size_of(count: int) -> str:
    """Return bytes as flash is measured, in powers of two."""
    return f"{count / 1024**2:.1f} MB" if count >= 1024**2 else f"{max(1, count // 1024)} KB"


def _chip(listed: Listed) -> str:
    if listed.stored is not None and listed.stored.image is not None:
        return listed.stored.image.chip
    return listed.record.release.chip if listed.record else "?"


def _size(listed: Listed) -> str:
    if listed.stored is not None and listed.stored.image is not None:
        return size_of(listed.stored.image.size)
    return size_of(listed.record.release.size) if listed.record else "?"


def _fault(listed: Listed) -> str:
    """Return why no device gets the image; empty: nothing is wrong with it."""
    if listed.stored is None:
        return "the file is gone"
    if listed.stored.fault:
        return listed.stored.fault
    image, record = listed.stored.image, listed.record
    if image is not None and record is not None and image.sha256 != record.release.sha256:
        return "the file is another one than was released: release it again"
    return ""


def _counts(counts: Mapping[str, int]) -> str:
    known = [state for state in AttemptState if counts.get(state)]
    return ", ".join(f"{counts[state]} {state}" for state in known) or "-"


def _progress(attempt: Attempt) -> str:
    if attempt.state is AttemptState.DOWNLOADING and attempt.size:
        return f"{attempt.state} {100 * attempt.sent // attempt.size} %"
    return str(attempt.state)
