"""All attacks, with the numbers of both forms."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.chaos.attack_floods import FLOODS
from tests.chaos.attack_providers import DEVICE_TOOL_KINDS
from tests.chaos.field import Field, Scenario
from tests.chaos.hearing import WORDS
from tests.chaos.outcome import Outcome

_FAULTS: dict[str, Sequence[tuple[str, str, int]]] = {
    "VAD fails": [
        ("vad", "raise", 1),
        ("vad", "crash", 1),
        ("vad", "hang", 1),
        ("vad", "stubborn", 1),
        ("vad", "slow", 25),
        ("vad", "megabytes", 2),
        ("vad", "nonsense", 3),
    ],
    "ASR fails": [
        ("asr.open", "raise", 1),
        ("asr.feed", "raise", 1),
        ("asr.feed", "crash", 1),
        ("asr.feed", "hang", 1),
        ("asr", "raise", 1),
        ("asr", "crash", 1),
        ("asr", "hang", 1),
        ("asr", "stubborn", 1),
        ("asr", "slow", 1),
        ("asr", "megabytes", 1),
        ("asr", "nonsense", 1),
        ("asr.close", "crash", 1),
    ],
    "agent fails": [
        ("agent", "raise", 1),
        ("agent", "crash", 1),
        ("agent", "hang", 1),
        ("agent", "late raise", 1),
        ("agent", "late crash", 1),
        ("agent", "late hang", 1),
        ("agent", "closes", 1),
        ("agent", "nothing", 1),
        ("agent", "trickle", 1),
    ],
    "TTS fails": [
        ("tts", "raise", 1),
        ("tts", "crash", 1),
        ("tts", "hang", 1),
        ("tts", "late raise", 1),
        ("tts", "late hang", 1),
        ("tts", "trickle", 1),
        ("tts", "nothing", 1),
        ("tts", "odd", 1),
        ("tts.middle", "closes", 1),
    ],
}

_CALLED_OFF: Sequence[tuple[str, str, int]] = [
    ("agent", "stubborn", 1),
    ("agent", "megabytes", 1),
    ("agent", "endless", 1),
    ("tts", "stubborn", 1),
    ("tts", "megabytes", 1),
]

_IN_SHORT = {
    *(("vad", kind) for kind in ("crash", "hang", "nonsense")),
    ("asr.open", "raise"),
    *(("asr", kind) for kind in ("crash", "hang", "slow", "megabytes")),
    *(("agent", kind) for kind in ("raise", "late hang", "closes", "trickle")),
    *(("tts", kind) for kind in ("crash", "late raise", "trickle", "odd")),
    ("tts.middle", "closes"),
    *(("agent", kind) for kind in ("stubborn", "endless")),
    ("tts", "megabytes"),
}
"""The faults of the short form: each kind at one stage at least. All of them together would ask
more of two cores than they have, and the cause of lateness would be unknown."""

_MAY_BE_SILENT = {("asr.close", "crash"), ("vad", "megabytes"), ("vad", "nonsense")}
"""Faults after which there may be no turn at all to say anything about."""


async def _victims(
    faults: Sequence[tuple[str, str, int]], field: Field, *, abort: bool = False
) -> Outcome:
    total = Outcome()

    async def one(stage: str, kind: str, times: int) -> None:
        device_id, number = await field.order(stage, kind, times)
        outcome = await field.attack(
            "victim",
            device_id=device_id,
            number=number,
            abort=abort,
            mute=(stage, kind) in _MAY_BE_SILENT,
            http_port=field.http_port,
            wait=4.0 if kind == "stubborn" and field.long else 0.0,
        )
        _add(total, outcome, f"{stage} {kind}")
        met = await field.server.call("met")
        total.expect(met.get(f"{stage}.{kind}"), f"{stage} {kind}: the fault was never met")

    chosen = [fault for fault in faults if field.long or fault[:2] in _IN_SHORT]
    for _ in range(field.times(2, 1)):
        await asyncio.gather(*(one(*fault) for fault in chosen))
    return total


def _add(total: Outcome, outcome: Outcome, name: str) -> None:
    total.done += outcome.done
    for what, times in outcome.seen.items():
        total.saw(what, times)
    total.problems += [f"{name}: {problem}" for problem in outcome.problems]


async def _local_tools(field: Field) -> Outcome:
    total = Outcome()
    names = ("raises", "hangs", "stubborn", "megabytes", "nonsense")

    async def one(name: str) -> None:
        outcome = await field.attack(
            "typed", device_id=f"local-{name}", text=f"call tool_{name} {{}}", within=60
        )
        _add(total, outcome, name)

    await asyncio.gather(*(one(name) for name in names))
    return total


async def _device_tools(field: Field) -> Outcome:
    total = Outcome()

    async def one(number: int, kind: str) -> None:
        _add(total, await field.attack("device_tool", kind=kind, number=number), kind)

    await asyncio.gather(*(one(number, kind) for number, kind in enumerate(DEVICE_TOOL_KINDS)))
    return total


async def _clock(field: Field) -> Outcome:
    outcome = Outcome()
    for seconds in (3_600, -3_600, 86_400 * 400, -86_400 * 400, -1.7e9, 0)[: field.times(6, 3)]:
        await field.server.call("step_clock", seconds=seconds)
        outcome.done += 1
        await asyncio.sleep(field.times(4, 1))
    await field.server.call("step_clock", seconds=0)
    return outcome


async def _descriptors(field: Field) -> Outcome:
    await field.server.call("limit_files", spare=4)
    try:
        outcome = await field.attack("connects", seconds=field.times(8, 2))
    finally:
        await field.server.call("limit_files", spare=-1)
    # asyncio pauses accepting for a second when it runs out.
    await asyncio.sleep(1.5)
    after = await field.attack("typed", device_id="after", text="number 3", within=60)
    _add(outcome, after, "a device that comes afterwards")
    return outcome


async def _workers(field: Field) -> Outcome:
    turns = field.times(4, 1)
    await field.server.call("start_words")
    try:
        speaking = asyncio.create_task(field.attack("speaker", device_id=f"{WORDS}1", broken=turns))
        killed = 0
        for _ in range(2 * turns):
            await asyncio.sleep(1.2)
            killed += await field.server.call("kill_workers")
        outcome = await speaking
        outcome.saw("killed", killed)
        outcome.expect(killed, "no process was killed")
    finally:
        await field.server.call("stop_words")
    return outcome


async def _flood(kind: str, field: Field) -> Outcome:
    return await field.attack(
        "flood", kind=kind, seconds=field.times(6, 2), devices=field.times(4, 1)
    )


async def _simple(name: str, long: dict[str, Any], short: dict[str, Any], field: Field) -> Outcome:
    return await field.attack(name, **(long if field.long else short))


def scenarios(seed: int) -> list[Scenario]:
    """Return every attack, in the order in which they are tried."""
    s = seed
    return [
        Scenario(
            "protocol",
            "spoiled recordings of conversations",
            partial(
                _simple,
                "fuzz",
                {"frames": 100_000, "seed": s, "per_second": 3_200},
                {"frames": 2_000, "seed": s, "per_second": 400},
            ),
        ),
        Scenario(
            "protocol",
            "deep, huge and broken JSON, broken UTF-8",
            partial(_simple, "shapes", {"rounds": 20}, {"rounds": 1}),
        ),
        Scenario(
            "protocol",
            "no Opus, wrong sizes and versions",
            partial(
                _simple, "garbage_opus", {"count": 6_000, "seed": s}, {"count": 600, "seed": s}
            ),
        ),
        Scenario(
            "protocol",
            "forbidden, oversize, fragmented frames",
            partial(_simple, "violations", {"rounds": 4}, {"rounds": 1}),
        ),
        Scenario(
            "clients",
            "no HTTP, slow and endless handshakes",
            partial(
                _simple,
                "not_http",
                {"count": 200, "seed": s, "hold_s": 8},
                {"count": 40, "seed": s, "hold_s": 2},
            ),
        ),
        Scenario(
            "clients",
            "never read",
            partial(
                _simple, "never_read", {"count": 10, "seconds": 12}, {"count": 3, "seconds": 3}
            ),
        ),
        Scenario(
            "clients",
            "read a byte at a time",
            partial(_simple, "slow_read", {"count": 20, "seconds": 10}, {"count": 4, "seconds": 3}),
        ),
        Scenario(
            "clients",
            "never send",
            partial(
                _simple, "never_send", {"count": 100, "seconds": 8}, {"count": 20, "seconds": 4}
            ),
        ),
        Scenario(
            "clients",
            "half open",
            partial(_simple, "half_open", {"count": 50, "seconds": 8}, {"count": 10, "seconds": 3}),
        ),
        Scenario(
            "clients",
            "reset at every stage",
            partial(_simple, "vanishing", {"count": 600}, {"count": 100}),
        ),
        *(Scenario("floods", f"flood of {kind}", partial(_flood, kind)) for kind in FLOODS),
        Scenario(
            "floods",
            "flood of connects",
            partial(_simple, "connects", {"seconds": 6}, {"seconds": 2}),
        ),
        Scenario("floods", "flood of HTTP", _http),
        *(
            Scenario("providers", name, partial(_victims, faults), lasting=True)
            for name, faults in _FAULTS.items()
        ),
        Scenario(
            "providers",
            "answers after being called off",
            partial(_victims, _CALLED_OFF, abort=True),
        ),
        Scenario("tools", "local tools fail", _local_tools),
        Scenario("tools", "device tools fail", _device_tools, lasting=True),
        Scenario(
            "tools",
            "answers with another device's ids",
            partial(_simple, "forged", {"rounds": 8, "forgers": 4}, {"rounds": 2, "forgers": 2}),
        ),
        Scenario(
            "tools",
            "answers of 10 MB",
            partial(_simple, "huge_answers", {"rounds": 5}, {"rounds": 1}),
        ),
        Scenario("tools", "endless lists, 10,000 tools", partial(_simple, "endless_lists", {}, {})),
        Scenario(
            "tools",
            "impostors, orders to the model",
            partial(_simple, "impostors", {}, {}),
            lasting=True,
        ),
        Scenario("tools", "schemas that bite", partial(_simple, "biting_schemas", {}, {})),
        Scenario(
            "sources",
            "MCP servers that answer wrongly or die",
            partial(
                _simple,
                "mcp_calls",
                {"rounds": 2},
                {"rounds": 1, "kinds": ("megabytes", "garbage", "dies")},
            ),
            lasting=True,
        ),
        Scenario(
            "sources",
            "MCP over HTTP that does the same",
            partial(
                _simple,
                "web_calls",
                {"rounds": 3},
                {"rounds": 1, "kinds": ("megabytes", "closes")},
            ),
        ),
        Scenario(
            "sources",
            "MCP servers that list for ever, 10,000 tools",
            partial(_simple, "mcp_lists", {}, {}),
        ),
        Scenario(
            "sources",
            "REST that stalls, redirects, bursts",
            partial(_simple, "rest_calls", {"rounds": 3}, {"rounds": 1}),
        ),
        Scenario("sources", "bad photos for the camera's endpoint", _photos),
        Scenario("process", "recognisers are killed in mid-utterance", _workers, lasting=True),
        Scenario(
            "servers",
            "server processes are killed in mid-turn",
            partial(_simple, "server_processes", {"kills": 10}, {"kills": 1}),
        ),
        Scenario("process", "the wall clock steps", _clock),
        Scenario("descriptors", "no descriptor is left", _descriptors),
    ]


async def _photos(field: Field) -> Outcome:
    return await field.attack(
        "photos", http_port=field.http_port, seconds=field.times(10, 3), stuck=field.times(8, 0)
    )


async def _http(field: Field) -> Outcome:
    return await field.attack("http", port=field.http_port, seconds=field.times(6, 2))
