"""How soon answers come, how often users are cut off, and what a user hears who interrupts.

    vixio bench conversation              # some nine minutes, offline, in real time
    vixio bench conversation --limit 3    # three situations of each kind
    vixio bench conversation --only over  # users over an answer; also: said, echo, troubles
    vixio bench conversation --stand-ins  # the answers of providers that take 300, 400 and 200 ms
    vixio bench conversation --json FILE  # each situation, too

The default set of providers talks with simulated devices. Off: a turn ends after 500 ms of silence,
and the answer is begun then. On: the defaults, by which thinking begins in a pause and the words so
far decide how long it may last. Then users speak over a long answer in realtime mode, devices hear
their own loudspeaker (with the extra `aec`), and turns are aborted, held up by providers and by the
network. Exits with 1 if a mark is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from firmware_test_client import DeviceError
from vixio.audio.echo import is_installed
from vixio.core.errors import VixioError
from vixio.telemetry.logging.setup import configure_logging
from vixio_bench.conversation.echoes import Echoed, echoes, play_echoes
from vixio_bench.conversation.marks import (
    Figures,
    Mark,
    echo_marks,
    marks,
    over_marks,
    slow_marks,
    trouble_marks,
)
from vixio_bench.conversation.over import WAYS as OVER_WAYS
from vixio_bench.conversation.over import Over, interjections, play_over
from vixio_bench.conversation.play import play
from vixio_bench.conversation.situations import situations
from vixio_bench.conversation.stand_ins import slow_providers
from vixio_bench.conversation.tables import echo_table, over_table, table, trouble_table
from vixio_bench.conversation.troubles import Survived, play_troubles, troubles

WAYS: Final[dict[str, dict[str, Any]]] = {
    "off": {"think_ms": 0, "end_of_turn": "silence", "background_db": 0},
    "on": {},
}
PARTS: Final = ("said", "over", "echo", "troubles")


@dataclass(slots=True)
class Found:
    """All that was measured. ``said``: off and on; ``over``: by the name of the way."""

    said: tuple[Figures, Figures] | None = None
    over: dict[str, list[Over]] = field(default_factory=dict)
    echoes: list[Echoed] = field(default_factory=list)
    troubles: list[Survived] = field(default_factory=list)
    slow: bool = False
    """Whether ``said`` is of the slow stand-ins."""

    def marks(self) -> list[Mark]:
        """Return the marks of what was measured."""
        met: list[Mark] = []
        if self.said is not None:
            met += slow_marks(self.said[1]) if self.slow else marks(*self.said)
        for way, found in self.over.items():
            met += over_marks(way, found)
        met += echo_marks(self.echoes) if self.echoes else []
        return met + (trouble_marks(self.troubles) if self.troubles else [])

    def tables(self) -> str:
        """Return the figures for people."""
        parts = [table(*self.said)] if self.said is not None else []
        parts += [over_table(self.over)] if self.over else []
        parts += [echo_table(self.echoes)] if self.echoes else []
        parts += [trouble_table(self.troubles)] if self.troubles else []
        lines = [f"{'ok  ' if met else 'MISS'} {words}" for words, met in self.marks()]
        return "\n\n".join([*parts, "\n".join(lines)])

    def as_json(self) -> dict[str, Any]:
        """Return each situation."""
        off, on = self.said if self.said is not None else (None, None)
        return {
            "off": _said(off),
            "on": _said(on),
            "over": {way: [_over(each) for each in found] for way, found in self.over.items()},
            "echo": [_echo(each) for each in self.echoes],
            "troubles": [_trouble(each) for each in self.troubles],
        }


def _said(figures: Figures | None) -> list[dict[str, Any]]:
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
        for each in (figures.played.outcomes if figures is not None else ())
    ]


def _over(each: Over) -> dict[str, Any]:
    return {
        "group": each.said.group,
        "words": each.said.words,
        "silence_ms": each.silence_ms,
        "told_ms": each.told_ms,
        "interrupted": each.interrupted,
        "answered": each.answered,
        "pauses": each.course.pauses,
        "resumed_ms": each.course.resumed_ms,
        "missing_ms": each.course.missing_ms,
        "repeated_ms": each.course.repeated_ms,
        "whole": each.course.whole,
        "subtitles_ms": each.subtitles_ms,
    }


def _echo(each: Echoed) -> dict[str, Any]:
    return {
        "group": each.echo.group,
        "delay_ms": each.echo.delay_ms,
        "user": each.echo.user,
        "itself": each.itself,
        "heard": each.heard,
        "silence_ms": each.silence_ms,
    }


def _trouble(each: Survived) -> dict[str, Any]:
    return {
        "group": each.trouble.group,
        "name": each.trouble.name,
        "lost": each.lost,
        "after": each.after,
        "silence_ms": each.silence_ms,
        "clipped_ms": each.clipped_ms,
        "gap_ms": each.gap_ms,
        "wrong": each.wrong,
    }


async def measure(
    seed: int, limit: int | None, devices: int, parts: Sequence[str] = PARTS, *, slow: bool = False
) -> Found:
    """Play all situations of ``parts``. ``slow``: answered by stand-ins that take their time."""
    found = Found(slow=slow)
    if "said" in parts:
        said = await asyncio.to_thread(situations, seed, limit)
        if slow:  # they hear the same words in every voice
            said = [replace(each, expected=each.expected and None) for each in said]
        ways = []
        for way, listening in WAYS.items():
            made = slow_providers() if slow else None
            ways.append(Figures(await play(listening, said, devices, _tell(way, len(said)), made)))
        found.said = ways[0], ways[1]
    if "over" in parts:
        users = await asyncio.to_thread(interjections, seed, limit)
        for each in OVER_WAYS:
            tell = _tell(f"over, {each.name}", len(users))
            found.over[each.name] = await play_over(each, users, devices + 2, tell)
    if "echo" in parts and is_installed():
        said_over = echoes(limit)
        tell = _tell("echo", len(said_over))
        found.echoes = await play_echoes(said_over, devices, tell)
    if "troubles" in parts:
        happens = troubles(limit)
        tell = _tell("troubles", len(happens))
        found.troubles = await play_troubles(happens, 2 * devices, tell)
    return found


def _tell(what: str, number: int) -> Callable[[], None]:
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{what}: {done} of {number} \033[K")

    return tell


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0 if the marks are met, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="vixio bench conversation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--devices", type=int, default=4, help="that talk at the same time")
    parser.add_argument("--limit", type=int, help="so many situations of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the drawn pauses")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; repeatable")
    parser.add_argument("--stand-ins", action="store_true", help="said, to slow providers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each situation here")
    options = parser.parse_args(list(argv))
    configure_logging("ERROR")
    parts = ["said"] if options.stand_ins else options.only or PARTS
    try:
        found = asyncio.run(
            measure(options.seed, options.limit, options.devices, parts, slow=options.stand_ins)
        )
    except (VixioError, DeviceError, OSError) as error:
        sys.stderr.write(f"vixio bench conversation: {error}\n")
        return 1
    if options.json is not None:
        text = json.dumps(found.as_json(), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(found.tables() + "\n")
    return 0 if all(met for _, met in found.marks()) else 1
