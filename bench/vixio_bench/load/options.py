"""How the steps of a run are to be run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vixio.composition.core_speed import CoreSpeed
from vixio_bench.load.processes import Cores
from vixio_bench.load.providers import Delays
from vixio_bench.load.services.choice import SCRIPTED

Say = Callable[[str], None]
"""Takes a line about how far the run is."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. ``delays`` are those of the scripted providers."""

    cores: Cores = field(default_factory=Cores)
    generators: int = 1
    hold: float | None = None
    turns: int = 0
    """The measurement lasts until so many turns have ended, within ``TURNS_S`` more seconds."""
    delays: Delays = field(default_factory=Delays)
    settings: dict[str, Any] = field(default_factory=dict)
    """Sections of the server's settings that differ from the defaults."""
    tune: tuple[str, ...] = ()
    processes: int = 1
    """Of the server, on one port; of several nodes one for each."""
    providers: str = SCRIPTED
    """Whose turns are measured."""
    carrier: str = "websocket"
    """By which all devices come; the other one: ``mqtt``."""
    speed: CoreSpeed | None = None
    """Of the machine's cores, where it was measured before."""
    nodes: int = 0
    """Servers with ports of their own, joined by NATS; 0: no cluster."""
    kill: bool = False
    """Kill one of the nodes half-way through the measurement."""
    idle: float = 0.0
    """Seconds for which the idle server is watched when it has settled; 0: as the number of devices
    needs."""
