"""The figures of nodes that are joined by NATS: what the bus carries, and what a kill costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from vixio_bench.load.bus import BusRate
from vixio_bench.load.usage import Spread


@dataclass(slots=True)
class BusFigures:
    """Of the NATS server; memory in KB."""

    phases: dict[str, BusRate] = field(default_factory=dict)
    """``idle``: no device yet; ``connecting``; ``listening``, where the mix has such a time;
    ``measuring``: what the mix does."""
    idle_rss: int = 0
    rss: int = 0
    """At the end."""


@dataclass(slots=True)
class Killed:
    """One node was killed half-way. Times in milliseconds."""

    devices: int
    """It had so many."""
    greeted: Spread
    """From the kill until another node has greeted them, one value for each."""
    answered: int
    """So many of them had an answer afterwards."""
    cut: int
    """Turns that ended with the connection: the user spoke, or the answer was not over."""
    lost: int
    """Turns without an answer, on connections that lasted."""
    share_before: Spread
    """The server's share of a turn, of all devices."""
    share_moved: Spread
    """Afterwards: of the devices of the killed node."""
    share_others: Spread
    """Of the others."""
    response_before: Spread
    """Last word → sound, at the devices."""
    response_after: Spread
