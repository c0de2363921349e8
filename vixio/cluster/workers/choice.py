"""How many processes `vixio serve` starts for ``--workers auto``, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vixio.core.control_group import memory_left
from vixio.core.cores import processor_time
from vixio.providers import registry
from vixio.settings import Settings
from vixio.settings.provider import ProviderSection
from vixio.settings.sections import MAX_WORKERS

SERVER_MB: Final = 110
"""One more process without its models (docs/performance.md)."""

MEMORY_SHARE: Final = 0.5
"""Of the available memory; the rest is for the devices and for what else runs on the machine."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the processes may use."""

    platform: str
    """As in ``sys.platform``."""
    cores: float
    """Cores' time: 1.5 in a container limited to that."""
    memory_mb: int | None
    """Available; None: unknown."""

    @classmethod
    def find(cls) -> Machine:
        """Return this machine, or the part of it that this process may use."""
        return cls(sys.platform, processor_time(), memory_left())


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of processes, and what decided it in a few words."""

    processes: int
    reason: str


def choose(machine: Machine, process_mb: int) -> Choice:
    """Return the number of processes of ``process_mb`` MB each that serve most devices.

    One for each whole core, because one event loop fills a core; fewer if memory is short.
    """
    if machine.platform != "linux":
        return Choice(
            1, f"only Linux spreads connections over processes, this is {machine.platform}"
        )
    cores = f"{machine.cores:.3g} core" + "s" * (machine.cores != 1)
    by_cores = max(1, min(MAX_WORKERS, int(machine.cores)))
    if machine.memory_mb is not None:
        by_memory = max(1, int(machine.memory_mb * MEMORY_SHARE) // process_mb)
        if by_memory < by_cores:
            return Choice(
                by_memory,
                f"{cores}, but {machine.memory_mb} MB of memory left and {process_mb} MB a process",
            )
    return Choice(by_cores, cores)


def process_memory(settings: Settings) -> int:
    """Return about how many MB each process needs, with its own models."""
    distinct: list[ProviderSection] = []
    for section in _sections(settings):
        distinct += [each for each in section.each() if each not in distinct]
    return SERVER_MB + sum(
        registry.resolve(each.kind, each.name).memory_mb(each.options) for each in distinct
    )


def _sections(settings: Settings) -> Iterator[ProviderSection]:
    yield from (settings.vad, settings.asr, settings.agent, settings.tts)
    if settings.vision is not None:
        yield settings.vision
    for device in settings.devices.values():
        yield from (section for _, section in device.providers())


def choose_processes(settings: Settings) -> Choice:
    """Return the number of processes for ``settings`` on this machine."""
    return choose(Machine.find(), process_memory(settings))
