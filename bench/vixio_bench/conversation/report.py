"""How soon answers come and how often users are cut off, with features off and on, side by side.

    vixio bench conversation              # some five minutes, offline, in real time
    vixio bench conversation --limit 3    # three situations of each kind
    vixio bench conversation --json FILE  # each situation, too

The default set of providers talks with simulated devices. Off: a turn ends after 500 ms of silence,
and the answer is begun then. On: the defaults, by which thinking begins in a pause and the words so
far decide how long it may last. Exits with 1 if a mark is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from firmware_test_client import DeviceError
from vixio.core.errors import VixioError
from vixio.telemetry.logging.setup import configure_logging
from vixio_bench.conversation.play import Outcome, Played, play
from vixio_bench.conversation.situations import situations

WAYS: Final[dict[str, dict[str, Any]]] = {
    "off": {"think_ms": 0, "end_of_turn": "silence", "background_db": 0},
    "on": {},
}

RESPONSE_MS: Final = 560.0
"""From the last word of a known command to the sound, p50; 160 ms of it are
``output.start_lead_ms``."""
AMONG_OTHERS_MS: Final = 1_500.0
"""While others talk: from the user's last word to the end of the turn."""
AMONG_OTHERS: Final = 0.9
LATER_MS: Final = 150.0
"""By so much an answer counts as later: two packets and the machine's own scatter."""
LATER_AT_MOST: Final = 0.02
EXTRA_CALLS: Final = 0.5
"""Answers that were begun and dropped, for each situation."""


class Figures:
    """One way, group by group."""

    def __init__(self, played: Played) -> None:
        self.played = played
        self.groups: dict[str, list[Outcome]] = {}
        for outcome in played.outcomes:
            self.groups.setdefault(outcome.situation.group, []).append(outcome)

    def of(self, groups: Iterable[str]) -> list[Outcome]:
        """Return the outcomes of these groups."""
        return [outcome for group in groups for outcome in self.groups.get(group, [])]

    def response(self, groups: Iterable[str], share: float) -> float | None:
        """Return the response time in ms that this share of the answers has; None without any."""
        found = sorted(o.response_ms for o in self.of(groups) if o.response_ms is not None)
        if not found:
            return None
        return (
            statistics.median(found)
            if share == 0.5
            else found[min(len(found) - 1, int(share * len(found)))]
        )

    def cut(self, groups: Iterable[str]) -> int:
        """Return how many users were cut off."""
        return sum(outcome.cut for outcome in self.of(groups))


_WHOLE: Final = ("known", "slow", "noise", "other")
"""Groups without a pause in what is said."""


def later(off: Figures, on: Figures) -> tuple[int, int]:
    """Return how many of what was said without a pause was answered later, and of how many."""
    pairs = [
        (before.response_ms, after.response_ms)
        for before, after in zip(off.of(_WHOLE), on.of(_WHOLE), strict=True)
        if before.response_ms is not None and after.response_ms is not None
    ]
    return sum(after > before + LATER_MS for before, after in pairs), len(pairs)


def marks(off: Figures, on: Figures) -> list[tuple[str, bool]]:
    """Return each mark and whether it is met; none is where nothing was measured."""
    every = tuple(on.groups)
    response = on.response(("known",), 0.5)
    slower, of = later(off, on)
    number = len(on.played.outcomes)
    dropped = on.played.counters["turn.ahead_dropped"]
    clipped = sum(outcome.clipped_ms for outcome in on.played.outcomes)
    others = on.of(("others",))
    prompt = sum((each.turn_ms or math.inf) <= AMONG_OTHERS_MS for each in others)
    promptly = f"{prompt} of {len(others)}"
    answered = sum(not outcome.right for outcome in on.of(("cough",)))
    return [
        (
            f"known commands answered within {RESPONSE_MS:.0f} ms (p50): {_ms(response)}",
            response is not None and response <= RESPONSE_MS,
        ),
        (
            f"among others, {AMONG_OTHERS:.0%} end in {AMONG_OTHERS_MS:.0f} ms: {promptly}",
            bool(others) and prompt >= AMONG_OTHERS * len(others),
        ),
        (
            f"no more users cut off than without: {on.cut(every)}, without {off.cut(every)}",
            number > 0 and on.cut(every) <= off.cut(every),
        ),
        (
            f"whole sentences answered later, at most {LATER_AT_MOST:.0%}: {slower} of {of}",
            of > 0 and slower <= LATER_AT_MOST * of,
        ),
        (
            f"answers begun in vain, at most {EXTRA_CALLS} for each: {dropped} for {number}",
            number > 0 and dropped <= EXTRA_CALLS * number,
        ),
        (f"0 ms of answers clipped: {clipped:.0f}", number > 0 and clipped == 0),
        (f"no cough answered: {answered}", bool(on.of(("cough",))) and answered == 0),
    ]


def table(off: Figures, on: Figures) -> str:
    """Return the comparison for people."""
    lines = [
        "| kind | situations | response off: p50, p95 | on | cut off: off | on | right: off | on |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for group, outcomes in on.groups.items():
        cells = [group, str(len(outcomes))]
        for way in (off, on):
            both = (way.response((group,), share) for share in (0.5, 0.95))
            cells.append(", ".join(map(_ms, both)))
        cells += [str(way.cut((group,))) for way in (off, on)]
        cells += [str(sum(each.right for each in way.of((group,)))) for way in (off, on)]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    gaps = (sum(each.gap_ms for each in way.played.outcomes) for way in (off, on))
    lines.append("silence within answers: {:.0f} ms off, {:.0f} ms on".format(*gaps))
    lines += [f"{'ok  ' if met else 'MISS'} {words}" for words, met in marks(off, on)]
    return "\n".join(lines)


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} ms"


def _as_json(figures: Figures) -> list[dict[str, Any]]:
    return [
        {
            "group": each.situation.group,
            "name": each.situation.name,
            "response_ms": each.response_ms,
            "turn_ms": each.turn_ms,
            "cut": each.cut,
            "right": each.right,
            "heard": each.heard,
            "clipped_ms": each.clipped_ms,
            "gap_ms": each.gap_ms,
        }
        for each in figures.played.outcomes
    ]


async def measure(seed: int, limit: int | None, devices: int) -> tuple[Figures, Figures]:
    """Play all situations in both ways."""
    said = await asyncio.to_thread(situations, seed, limit)
    found = []
    for way, listening in WAYS.items():
        done = 0

        def tell(way: str = way) -> None:
            nonlocal done
            done += 1
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{way}: {done} of {len(said)} ")

        found.append(Figures(await play(listening, said, devices, tell)))
    return found[0], found[1]


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0 if the marks are met, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="vixio bench conversation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--devices", type=int, default=3, help="that talk at the same time")
    parser.add_argument("--limit", type=int, help="so many situations of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the drawn pauses")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each situation here")
    options = parser.parse_args(list(argv))
    configure_logging("ERROR")
    try:
        off, on = asyncio.run(measure(options.seed, options.limit, options.devices))
    except (VixioError, DeviceError, OSError) as error:
        sys.stderr.write(f"vixio bench conversation: {error}\n")
        return 1
    if options.json is not None:
        both = {"off": _as_json(off), "on": _as_json(on)}
        options.json.write_text(json.dumps(both, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(table(off, on) + "\n")
    return 0 if all(met for _, met in marks(off, on)) else 1
