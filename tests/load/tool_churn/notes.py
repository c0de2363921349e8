"""What is noticed while tools change, and the names by which everything is told apart.

A tool is called ``self.d7.g12.t3``: it belongs to device 7, was made in its 12th generation and is
the third of it. So every list, call and answer tells where it comes from.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

TOOLS = 20
"""Tools of a device at a time."""

_NAME = re.compile(r"self[._]d(\d+)[._]g(\d+)[._]t(\d+)")

clock = time.monotonic


class Origin(NamedTuple):
    """Where a tool comes from."""

    device: int
    generation: int
    number: int

    @property
    def name(self) -> str:
        """The tool's name on the device."""
        return f"self.d{self.device}.g{self.generation}.t{self.number}"

    @property
    def answer(self) -> str:
        """What calling it gives, which nothing else gives."""
        return f"answer {self.device}/{self.generation}/{self.number}"


def origin(name: str) -> Origin | None:
    """Return where the tool of that name comes from; None for one of the server's own."""
    found = _NAME.fullmatch(name)
    return Origin(*map(int, found.groups())) if found else None


def first_origin(listing: str) -> Origin | None:
    """Return where the first own tool of a ``tools/list`` answer comes from."""
    found = _NAME.search(listing)
    return Origin(*map(int, found.groups())) if found else None


class Notes:
    """Counts, times and mistakes of a whole run. One event loop writes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.seen_ms: list[float] = []
        """From a device's ``tools/list`` answer to the model call that offers its tools, for turns
        that began with that answer."""
        self.turn_ms: list[float] = []
        self.mistakes: list[str] = []
        self._listed: dict[int, tuple[int, float]] = {}
        """The generation of each device's last answer, and when it was sent."""
        self._began: dict[int, tuple[int, float]] = {}

    def wrong(self, what: str) -> None:
        """Note what may not happen."""
        self.counts["mistakes"] += 1
        if len(self.mistakes) < 20:
            self.mistakes.append(what)

    def listed(self, device: int, generation: int) -> None:
        """The device just answered ``tools/list`` with this generation."""
        self._listed[device] = (generation, clock())

    def begun(self, device: int) -> None:
        """The device's user said something, right behind an answer to ``tools/list``."""
        self._began[device] = self._listed[device]

    def offered(self, device: int, tools: Iterable[str], *, first: bool) -> list[Origin]:
        """Check the tools that a model call offers for a device; return its own ones.

        ``first``: the call that begins a turn. Turns begin with an answer to ``tools/list``, so its
        generation has to be there, or a later one.
        """
        names = list(tools)
        own = [found for found in map(origin, names) if found is not None]
        if len(set(names)) != len(names):
            self.wrong(f"device {device}: a tool is there twice")
        if any(each.device != device for each in own):
            self.wrong(f"device {device}: is offered another device's tools")
        generations = {each.generation for each in own}
        if len(generations) > 1:
            self.wrong(f"device {device}: generations {sorted(generations)} are mixed")
        if own and len(own) != TOOLS:
            self.wrong(f"device {device}: {len(own)} tools instead of {TOOLS}")
        self.counts["model calls"] += 1
        if first:
            self._note_first(device, generations)
        return own

    def _note_first(self, device: int, generations: set[int]) -> None:
        generation, answered = self._began[device]
        if generation in generations:
            self.seen_ms.append((clock() - answered) * 1000)
        elif max(generations, default=0) < generation:
            # The turn's words were sent after the list, on the same connection.
            self.wrong(
                f"device {device}: generation {generation} was listed, {generations} offered"
            )
        else:
            self.counts["turns whose tools were replaced before the first model call"] += 1
