"""What our clients add to the time that the services take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from vixio.composition.core_speed import CoreSpeed
from vixio_bench.load.control import BenchError
from vixio_bench.load.usage import Spread
from vixio_bench.vendor_times.bare import bare
from vixio_bench.vendor_times.providers import BARE, Places, Provider
from vixio_bench.vendor_times.stand_ins import StandIns, stand_ins
from vixio_bench.vendor_times.uses import Seen, used
from vixio_bench.vendors.base import Delays, Times

SHORT: Final = Delays(partial=0.1, words=0.05, token=0.05, audio=0.05, pace=0.1)
"""What the services take here: enough that the client waits for each, as it does for a vendor."""

MOST_MS: Final = 5.0
"""Of a client's own, p50; more where the cores are slower than the reference, or shared."""

COLD: Final = 1
"""Uses that are not counted: what is imported and opened once is in them."""


@dataclass(slots=True)
class Overhead:
    """Milliseconds that a client added: to the first of the answer, and to all of it.

    Of a recogniser: from the first audio to the first partial words, and from the end of the
    utterance to its words.
    """

    provider: Provider
    first: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)

    def note(self, seen: Seen, theirs: Times) -> None:
        """Take a use: what the caller waited, less what the service says that it took."""
        if seen.first and theirs.first:
            waited, took = seen.first - seen.begun, theirs.first - theirs.begun
            self.first.append((waited - took) * 1000)
        waited, took = seen.last - seen.begun, theirs.last - theirs.begun
        if seen.ended:
            waited, took = seen.last - seen.ended, theirs.last - theirs.ended
        self.total.append((waited - took) * 1000)

    def row(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        return {
            "kind": self.provider.kind,
            "provider": self.provider.title,
            "first_ms": self.first,
            "total_ms": self.total,
        }

    def met(self, most: float) -> bool:
        """Whether it is at most so many milliseconds, p50."""
        every = [Spread.of(each).p50 for each in (self.first, self.total) if each]
        return bool(self.total) and max(every) <= most


@dataclass(slots=True)
class Overheads:
    """All providers. ``violations``: of the vendors' rules, by our clients."""

    found: list[Overhead]
    violations: list[str]
    speed: CoreSpeed

    def table(self) -> str:
        """Return the figures for people."""
        lines = [
            "| kind | provider | to the first: p10, p50, p95 | in all: p10, p50, p95 | uses |",
            "|---|---|---|---|---|",
        ]
        for each in self.found:
            cells = [each.provider.kind, each.provider.title]
            cells += [_spread(each.first), _spread(each.total), str(len(each.total))]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)

    def marks(self) -> list[tuple[str, bool]]:
        """Return each mark, and whether it is met."""
        most = MOST_MS * max(1.0, self.speed.slowness) * max(1.0, self.speed.shared)
        ours = [each for each in self.found if each.provider.kind != BARE]
        slow = [each.provider.title for each in ours if not each.met(most)]
        words = f"our clients add at most {most:.1f} ms (p50): "
        words += f"{len(ours) - len(slow)} of {len(ours)}"
        words += f", not {', '.join(slow)}" if slow else ""
        wrong = "; ".join(dict.fromkeys(self.violations))
        return [
            (words, bool(ours) and not slow),
            (f"nothing that a client must not do: {wrong or 'nothing'}", not self.violations),
        ]


async def measure_overhead(repeat: int, speed: CoreSpeed, tell: Callable[[], None]) -> Overheads:
    """Use each provider ``repeat`` times, in rounds, so that a busy moment meets all of them.

    ``tell`` is called after each round. Raises BenchError and ProviderError.
    """
    async with stand_ins(SHORT) as services, AsyncExitStack() as running:
        places = Places(services.ports)
        found = [Overhead(each) for each in (*places.bare(), *places.every())]
        uses = [
            await running.enter_async_context(
                (bare if each.provider.kind == BARE else used)(each.provider)
            )
            for each in found
        ]
        for number in range(COLD + repeat):
            for each, use in zip(found, uses, strict=True):
                seen, theirs = await _once(each, use, services)
                if number >= COLD:
                    each.note(seen, theirs)
            tell()
        return Overheads(found, await services.violations(), speed)


async def _once(
    overhead: Overhead, use: Callable[[], Awaitable[Seen]], services: StandIns
) -> tuple[Seen, Times]:
    provider = overhead.provider
    await services.take(provider.service)
    seen = await use()
    theirs = await services.take(provider.service)
    if len(theirs) != 1 or not theirs[0].last:
        raise BenchError(f"{provider.title}: the service knows of {len(theirs)} uses, not of one")
    return seen, theirs[0]


def _spread(found: Sequence[float]) -> str:
    """Return p10, p50 and p95."""
    if not found:
        return "–"
    spread = Spread.of(found)
    return f"{sorted(found)[len(found) // 10]:.1f}, {spread.p50:.1f}, {spread.p95:.1f} ms"
