#!/usr/bin/env python3
"""How many machines a number of devices needs, and what their models use: with the arithmetic.

    python scripts/sizing.py --devices 1000000 --conversing 0.02
    python scripts/sizing.py --devices 1000 --conversing 1 --asr-rtf 0.18 --tts-rtf 0.08

docs/performance.md explains it and says which command measures each figure; each is an option, for
those of your own machines. Money is counted only where a price is given, in whatever currency it
is.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

GB = 1e6
"""In kilobytes."""
MONTH_DAYS = 30.4
CELL = 50_000
"""Connected devices of one cluster at most: docs/operations.md."""

FIGURES = {
    # Of one device at the speed of the reference machine: `vixio bench load`.
    "core-listening": (0.0025, "cores of a device that listens"),
    "core-conversing": (0.0036, "cores of a device in conversation"),
    "kb-listening": (150.0, "KB of memory of a device that listens"),
    "kb-conversing": (300.0, "KB of memory of a device in conversation"),
    "mb-process": (140.0, "MB of an idle process"),
    # scripts/bench_presence.py
    "kb-presence": (0.6, "KB in each process for each connected device of the cluster"),
    "kb-nats": (0.3, "KB in nats-server for each connected device"),
    # How full a core is to be: 1 / 1.8 is 56 %.
    "head-room": (1.8, "factor on the cores that are used"),
    "cores": (16.0, "cores of a machine"),
    # scripts/measure_turn_use.py
    "turn-every": (10.0, "seconds from turn to turn of a conversation"),
    "tokens-fixed": (4007.0, "tokens read in a turn that are the same each time"),
    "tokens-conversation": (383.0, "other tokens read in a turn"),
    "tokens-written": (34.0, "tokens written in a turn"),
    "heard": (3.1, "seconds of speech that a turn has recognised"),
    "spoken": (5.7, "seconds of speech that a turn has spoken"),
}

OPTIONS = {
    "asr-rtf": "core-seconds for a second of speech, if the recogniser is yours",
    "tts-rtf": "core-seconds for a second of speech, if the voice is yours",
    "minutes-a-day": "conversation of each device, for the use of a month",
    "price-machine": "of a machine and month",
    "price-read": "of a million tokens read",
    "price-cached": "of a million that the service has read before; none: as the others",
    "price-written": "of a million tokens written",
    "price-heard": "of an hour of speech recognised",
    "price-spoken": "of an hour of speech spoken",
}


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, required=True, help="registered devices")
    parser.add_argument("--conversing", type=float, default=0.0, help="share at the busiest time")
    parser.add_argument("--listening", type=float, default=0.0, help="share that only listens then")
    for name, (value, text) in FIGURES.items():
        parser.add_argument(f"--{name}", type=float, default=value, help=f"{text} ({value:g})")
    for name, text in OPTIONS.items():
        parser.add_argument(f"--{name}", type=float, help=text)
    asked = parser.parse_args(words)
    if asked.devices < 1 or min(asked.conversing, asked.listening) < 0:
        parser.error("expected at least one device, and shares of 0 to 1")
    if not 0 < asked.conversing + asked.listening <= 1:
        parser.error("expected --conversing and --listening to be more than 0 and at most 1 in all")
    return asked


def machines_for(cores: float, a: argparse.Namespace) -> tuple[int, int]:
    """Return the machines that hold ``cores``, and the spare ones: one in eight, at least one."""
    needed = math.ceil(round(cores / a.cores, 6))
    return needed, math.ceil(needed / 8)


def server(a: argparse.Namespace) -> Iterator[str]:
    """Yield the lines about Vixio."""
    conversing, listening = round(a.devices * a.conversing), round(a.devices * a.listening)
    connected = conversing + listening
    cells = math.ceil(connected / CELL)
    talk, listen = conversing / cells, listening / cells
    used = listen * a.core_listening + talk * a.core_conversing
    cores = used * a.head_room
    needed, spare = machines_for(cores, a)
    yield f"connected      {listening:,} listen + {conversing:,} converse = {connected:,}"
    yield f"cells          {connected:,} / {CELL:,} = {cells}"
    each = " of a cell" if cells > 1 else ""
    yield (
        f"cores used     {listen:,.0f} x {a.core_listening:g} + {talk:,.0f} x "
        f"{a.core_conversing:g} = {used:,.1f}{each}"
    )
    yield f"cores          {used:,.1f} x {a.head_room:g} = {cores:,.1f}{each}"
    yield f"machines       {cores:,.1f} / {a.cores:g} = {needed} and {spare} spare{each}"
    processes = min(a.cores, math.ceil(cores))
    own = (listen * a.kb_listening + talk * a.kb_conversing) / needed / GB
    idle = processes * a.mb_process / 1000
    known = processes * (listen + talk) * a.kb_presence / GB
    yield (
        f"memory         {processes:g} processes {idle:.1f} + devices {own:.1f} + presence "
        f"{known:.1f} = {idle + own + known:.1f} GB a machine"
    )
    yield f"NATS           {(listen + talk) * a.kb_nats / 1000:,.0f} MB{each}"
    if cells > 1:
        yield f"in all         {cells} x {needed + spare} = {cells * (needed + spare):,} machines"
    if a.price_machine is not None:
        bill = cells * (needed + spare) * a.price_machine
        yield (
            f"cost           {bill:,.2f} a month, "
            f"{bill / a.devices * 1000:,.2f} for a thousand devices"
        )


def models(a: argparse.Namespace) -> Iterator[str]:
    """Yield the lines about models at the busiest time."""
    conversing = a.devices * a.conversing
    turns = conversing / a.turn_every
    yield f"turns          {conversing:,.0f} / {a.turn_every:g} s = {turns:,.0f} a second"
    total = a.tokens_fixed + a.tokens_conversation
    yield (
        f"tokens read    {turns:,.0f} x ({a.tokens_fixed:g} + {a.tokens_conversation:g}) "
        f"= {turns * total:,.0f} a second"
    )
    yield (
        f"written        {turns:,.0f} x {a.tokens_written:g} = "
        f"{turns * a.tokens_written:,.0f} a second"
    )
    for name, seconds, factor in (("heard", a.heard, a.asr_rtf), ("spoken", a.spoken, a.tts_rtf)):
        speech = turns * seconds
        line = f"{name:14} {turns:,.0f} x {seconds:g} s = {speech:,.0f} s of speech a second"
        if factor is not None:
            line += f"; x {factor:g} x {a.head_room:g} = {speech * factor * a.head_room:,.0f} cores"
        yield line


def month(a: argparse.Namespace) -> Iterator[str]:
    """Yield the lines about a thousand devices in a month."""
    turns = 1000 * a.minutes_a_day * 60 / a.turn_every * MONTH_DAYS
    yield (
        f"turns          1,000 x {a.minutes_a_day:g} min x 60 / {a.turn_every:g} s x "
        f"{MONTH_DAYS:g} days = {turns:,.0f}"
    )
    cached = a.price_read if a.price_cached is None else a.price_cached
    total = 0.0
    for name, amount, unit, price in (
        ("read, fixed", turns * a.tokens_fixed / 1e6, "million tokens", cached),
        ("read, other", turns * a.tokens_conversation / 1e6, "million tokens", a.price_read),
        ("written", turns * a.tokens_written / 1e6, "million tokens", a.price_written),
        ("heard", turns * a.heard / 3600, "hours", a.price_heard),
        ("spoken", turns * a.spoken / 3600, "hours", a.price_spoken),
    ):
        line = f"{name:14} {amount:,.0f} {unit}"
        if price is not None:
            total += amount * price
            line += f" x {price:g} = {amount * price:,.2f}"
        yield line
    if total:
        yield f"cost           {total:,.2f} for a thousand devices"


def report(a: argparse.Namespace) -> list[str]:
    """Return all lines."""
    lines = ["Vixio", *server(a)]
    if a.conversing:
        lines += ["", "models, at the busiest time", *models(a)]
    if a.minutes_a_day is not None:
        lines += ["", "models, a thousand devices in a month", *month(a)]
    return lines


if __name__ == "__main__":
    print("\n".join(report(arguments())))
