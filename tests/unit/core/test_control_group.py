"""Limits of containers and units, read from files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.control_group import cpu_limit, memory_left

MB = 1024 * 1024
NO_LIMIT_V1 = 0x7FFFFFFFFFFFF000
MEMINFO = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8192000 kB\n"


def write(root: Path, files: dict[str, object]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", "utf-8", "surrogateescape")


def test_a_container_of_version_2(tmp_path: Path) -> None:
    """As in Docker with a control group namespace: its own group is the root."""
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/",
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/cpu.max": "150000 100000",
            "sys/fs/cgroup/memory.max": 1_000 * MB,
            "sys/fs/cgroup/memory.current": 700 * MB,
            "sys/fs/cgroup/memory.stat": f"anon 5\ninactive_file {100 * MB}",
        },
    )
    assert cpu_limit(tmp_path) == 1.5
    assert memory_left(tmp_path) == 400


def test_a_unit_in_a_limited_slice(tmp_path: Path) -> None:
    """The least of the process's group and of those above it."""
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/vixio.slice/vixio.service",
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/vixio.slice/cpu.max": "200000 100000",
            "sys/fs/cgroup/vixio.slice/memory.max": 500 * MB,
            "sys/fs/cgroup/vixio.slice/memory.current": 100 * MB,
            "sys/fs/cgroup/vixio.slice/vixio.service/cpu.max": "max 100000",
            "sys/fs/cgroup/vixio.slice/vixio.service/memory.max": "max",
            "sys/fs/cgroup/vixio.slice/vixio.service/memory.current": 100 * MB,
        },
    )
    assert cpu_limit(tmp_path) == 2.0
    assert memory_left(tmp_path) == 400


def test_a_container_of_version_1(tmp_path: Path) -> None:
    """The path is the host's; only the container's own folder is mounted."""
    write(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/12ab\n4:memory:/docker/12ab\n0::/",
            "proc/meminfo": MEMINFO,
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": 50_000,
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": 100_000,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": 300 * MB,
            "sys/fs/cgroup/memory/memory.usage_in_bytes": 200 * MB,
            "sys/fs/cgroup/memory/memory.stat": f"total_inactive_file {50 * MB}",
        },
    )
    assert cpu_limit(tmp_path) == 0.5
    assert memory_left(tmp_path) == 150


@pytest.mark.parametrize(
    "files",
    [
        {},
        {
            "proc/self/cgroup": "2:memory:/\n1:cpu:/",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": -1,
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": 100_000,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT_V1,
            "sys/fs/cgroup/memory/memory.usage_in_bytes": 200 * MB,
        },
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"},
    ],
)
def test_without_a_limit_the_machine_is_what_there_is(
    tmp_path: Path, files: dict[str, object]
) -> None:
    write(tmp_path, {"proc/meminfo": MEMINFO, **files})
    assert cpu_limit(tmp_path) is None
    assert memory_left(tmp_path) == 8_000


def test_a_full_group_has_nothing_left(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/",
            "sys/fs/cgroup/memory.max": 100 * MB,
            "sys/fs/cgroup/memory.current": 101 * MB,
        },
    )
    assert memory_left(tmp_path) == 0


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "no group"},
        {"proc/self/cgroup": "0::/caf\udce9"},
        {"proc/meminfo": "MemAvailable:"},
        {"proc/meminfo": "MemAvailable: 12 MB"},
    ],
)
def test_a_file_that_cannot_be_read_is_no_limit(tmp_path: Path, files: dict[str, object]) -> None:
    """As where the kernel is emulated; the server starts nevertheless."""
    write(tmp_path, files)
    assert cpu_limit(tmp_path) is None
    assert memory_left(tmp_path) is None


def test_odd_statistics_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/",
            "proc/meminfo": "MemAvailable: 0 kB",
            "sys/fs/cgroup/memory.max": 100 * MB,
            "sys/fs/cgroup/memory.current": 50 * MB,
            "sys/fs/cgroup/memory.stat": f"anon\ninactive_file {10 * MB}",
        },
    )
    assert memory_left(tmp_path) == 0
    write(tmp_path, {"proc/meminfo": MEMINFO})
    assert memory_left(tmp_path) == 60


def test_a_system_without_such_files(tmp_path: Path) -> None:
    assert cpu_limit(tmp_path) is None
    assert memory_left(tmp_path) is None
