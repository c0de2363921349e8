"""The limits of the control groups (containers, systemd units) that this process is in.

The kernel's Documentation/admin-guide/cgroup-v2.rst (``cpu.max``, ``memory.max``) and
cgroup-v1/memory.rst, scheduler/sched-bwc.rst (``cpu.cfs_quota_us``) describe the files. An emulated
kernel writes others; what cannot be read is no limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
_MB: Final = 1024 * 1024


def cpu_limit(root: Path = _ROOT) -> float | None:
    """Return how many cores' time the groups grant, as 1.5; None: no limit.

    ``root`` holds ``proc`` and ``sys``.
    """
    quotas = [_quota(folder) for folder in _folders(root, "cpu")]
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_left(root: Path = _ROOT) -> int | None:
    """Return how many MB may still be used: of the machine's and of the groups'; None: unknown."""
    left = [_left(folder) for folder in _folders(root, "memory")]
    left.append(_machine(root))
    known = [each for each in left if each is not None]
    return max(0, min(known)) // _MB if known else None


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Return the folders of the process's group and of those above it, of either version.

    In a container the path may be the host's, of which only the last folder, its own, is mounted.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        if line.count(":") < 2:
            continue
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / (controller if controllers else "")
        place = mount / path.lstrip("/")
        yield from (folder for folder in (place, *place.parents) if folder.is_relative_to(mount))


def _quota(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = (_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    number, per = _number(quota), _number(period)
    return number / per if number and per else None


def _left(folder: Path) -> int | None:
    limit = _number(_text(folder / "memory.max") or _text(folder / "memory.limit_in_bytes"))
    used = _number(_text(folder / "memory.current") or _text(folder / "memory.usage_in_bytes"))
    if limit is None or used is None:
        return None
    # Cached files count as used, and give way.
    lines = (line.partition(" ") for line in _text(folder / "memory.stat").splitlines())
    statistics = {name: value for name, _, value in lines}
    cached = statistics.get("total_inactive_file", statistics.get("inactive_file", "0"))
    return limit - used + (_number(cached) or 0)


def _machine(root: Path) -> int | None:
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, size = line.partition(":")
        if name == "MemAvailable":
            number = _number(size.removesuffix("kB").strip())
            return None if number is None else number * 1024
    return None


def _number(text: str) -> int | None:
    """Return a positive number; None for ``max`` and ``-1``, which mean no limit."""
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape").strip()  # as in the names of folders
    except OSError:
        return ""
