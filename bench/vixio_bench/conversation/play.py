"""Plays situations by simulated devices to a server of this process, each in real time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from firmware_test_client import DeviceConfig, DeviceTimeout, Pcm, Reply, SimulatedDevice
from vixio.core.audio import LISTEN_RATE
from vixio.core.session.events import Event, TurnEnded
from vixio.core.whole_phrases import bare
from vixio.server import Providers
from vixio_bench.conversation.servers import running
from vixio_bench.conversation.situations import Situation

ANSWER_S = 10.0
"""For which an answer is waited for."""
NO_ANSWER_S = 2.0
"""For which none may come."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the user of one situation noticed.

    ``response_ms``: from the last voice to the first sound of the answer; None without.
    ``turn_ms``: to the end of the turn, by the server. ``cut``: an answer began before the user had
    finished. ``right``: it was an answer to what was expected.
    ``clipped_ms``, ``gap_ms``: of the answers' sound, not heard, and silent in between. ``heard``:
    the words that the device showed. ``voice_end``: when the last voice was over, by the clock.
    """

    situation: Situation
    response_ms: float | None
    cut: bool
    right: bool
    clipped_ms: float
    gap_ms: float
    heard: str = ""
    turn_ms: float | None = None
    voice_end: float = 0.0


@dataclass(frozen=True, slots=True)
class Played:
    """All situations with the same settings. ``counters``: the server's."""

    outcomes: tuple[Outcome, ...]
    counters: Mapping[str, int]


COUNTED: Final = (
    *("turn.ahead", "turn.ahead_taken", "turn.ahead_dropped", "asr.early_partial"),
    *("model.tokens.input", "model.tokens.output"),
)
"""Counters of the server that belong to the figures."""


async def play(
    listening: Mapping[str, Any],
    said: Sequence[Situation],
    devices: int,
    tell: Callable[[], None],
    providers: Providers | None = None,
    sections: Mapping[str, Any] | None = None,
) -> Played:
    """Play all; ``listening``: settings of that section. ``tell`` is called after each.

    ``providers``: in the place of the default set. ``sections``: further ones of the settings.

    Raises VixioError if the server cannot work, DeviceError if a device is refused.
    """
    waiting = list(enumerate(said))
    outcomes: dict[int, Outcome] = {}
    ends: dict[str, float] = {}
    """When the first turn ended that a device has had in its situation."""

    def happened(event: Event) -> None:
        if isinstance(event, TurnEnded) and (end := event.timeline.marks.get("turn_end")):
            ends.setdefault(event.device_id, end)

    async def device(url: str) -> None:
        async with SimulatedDevice(DeviceConfig(ws_url=url)) as one:
            await one.type_text("hello")  # its tools are known then
            while waiting:
                number, situation = waiting.pop(0)
                ends.pop(one.config.device_id, None)
                outcome, voice_end = await _play(one, situation)
                if (end := ends.get(one.config.device_id)) is not None and not outcome.cut:
                    outcome = replace(outcome, turn_ms=(end - voice_end) * 1000)
                outcomes[number] = outcome
                tell()

    async with running(listening, providers, sections=sections) as (server, url):
        server.events.attach(happened)
        async with asyncio.TaskGroup() as group:
            for _ in range(devices):
                group.create_task(device(url))
        counters = {name: server.counters.get(name) for name in COUNTED}
    return Played(tuple(outcomes[number] for number in sorted(outcomes)), counters)


async def _play(device: SimulatedDevice, situation: Situation) -> tuple[Outcome, float]:
    """Return what became of it, and when the user's voice ended."""
    before = len(device.replies)
    await device.wait_for(device.connected_and_listening, what="a listening microphone")
    samples = np.clip(situation.sound * 32768, -32768, 32767).astype("<i2")
    spoken = await device.say(Pcm(samples.tobytes(), LISTEN_RATE))
    ends = spoken.voice_end if situation.ends is None else spoken.start + situation.ends
    wait = NO_ANSWER_S if situation.expected == "" else ANSWER_S
    answered = True
    while answered:
        try:
            await device.wait_for_reply(after=len(device.replies[before:]) + before, timeout=wait)
        except DeviceTimeout:
            answered = False
        else:
            wait = NO_ANSWER_S  # the rest of what was cut may be answered as well
        if answered and device.replies[-1].tts_start >= ends:
            break
    replies = device.replies[before:]
    return judge(situation, ends, replies), ends


def judge(situation: Situation, voice_end: float, replies: Sequence[Reply]) -> Outcome:
    """Return what became of a situation, by the answers to it."""
    cut = len(replies) > 1 or any(each.tts_start < voice_end for each in replies)
    last = replies[-1] if replies else None
    heard = bare(last.stt or "") if last is not None else ""
    expected = situation.expected
    if expected:
        right = not cut and last is not None and heard == bare(expected)
    else:
        right = last is None if expected == "" else last is not None and not cut
    first = last.first_audio if last is not None else None
    return Outcome(
        situation,
        response_ms=None if first is None or cut else (first - voice_end) * 1000,
        cut=cut,
        right=right,
        clipped_ms=sum(each.clipped_ms for each in replies),
        gap_ms=sum(each.gap_ms for each in replies),
        heard=(last.stt or "") if last is not None else "",
        voice_end=voice_end,
    )
