"""Turns that are aborted, spoken over or held up, at each stage; and the turn behind them.

Stand-ins take their time as services do, so that each stage can be met.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from firmware_test_client import DeviceConfig, DeviceTimeout, Pcm, SimulatedDevice
from firmware_test_client.errors import DeviceError
from vixio.core.audio import LISTEN_RATE
from vixio.server import Providers
from vixio.testing.voices import Floats, Speaker, Voices
from vixio_bench.conversation.network import Network, Relay
from vixio_bench.conversation.servers import running
from vixio_bench.conversation.situations import loud
from vixio_bench.conversation.stand_ins import (
    DELAYS,
    MarkedWords,
    StallingBackend,
    StallingTTS,
    Stalls,
    marked,
)
from vixio_bench.paused_speech import paused

SAID: Final = "tell me something about the sea"
WHO: Final = Speaker("en-us+m1", rate=155, pitch=52)
LIMITS: Final = {"asr": 2.0, "agent_first": 2.0, "agent_next": 2.0, "tts": 2.0}
"""Timeouts of the settings: a stall is not waited for as long as with the defaults."""
STALL_S: Final = 1.5
ANSWER_S: Final = 30.0
SPOKEN_PACKETS: Final = 10

STAGES: Final = ("thinking", "before the first sound", "speaking", "last sentence", "behind it")
HELD_UP: Final = ("words", "model", "model in mid sentence", "voice", "voice in mid sentence")
NETWORKS: Final = {
    "150 ms each way": Network(delay=0.15),
    "jitter of 80 ms": Network(jitter=0.08),
    "2 % lost": Network(loss=0.02),
    "all of it": Network(delay=0.1, jitter=0.06, loss=0.02),
}

Kind = Literal["abort", "voice", "provider", "network", "stall up", "stall down", "reset"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to a turn. ``name``: the stage, the part or the network."""

    kind: Kind
    name: str

    @property
    def group(self) -> str:
        """Its line of the table."""
        if self.kind in ("stall up", "stall down", "reset"):
            return "network"
        return {"abort": "abort", "voice": "spoken over"}.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class Survived:
    """What a user noticed. ``lost``: turns without their answer, of two; ``after``: whether the
    second had it. ``silence_ms``: from the disturbance to the last sample of the answer that it
    ended; None: none sounded. ``clipped_ms``, ``gap_ms``: of answers that nobody interrupted."""

    trouble: Trouble
    lost: int
    after: bool
    silence_ms: float | None
    clipped_ms: float
    gap_ms: float
    wrong: tuple[str, ...]
    """What a server must not do."""


def troubles(limit: int | None = None) -> list[Trouble]:
    """Return all, or ``limit`` of each group."""
    every = [
        *(Trouble("abort", stage) for stage in STAGES),
        *(Trouble("voice", stage) for stage in STAGES),
        *(Trouble("provider", part) for part in HELD_UP),
        *(Trouble("network", name) for name in NETWORKS),
        Trouble("stall up", f"microphone stalls for {STALL_S:g} s"),
        Trouble("stall down", f"loudspeaker stalls for {STALL_S:g} s"),
        Trouble("reset", "connection breaks"),
    ]
    if limit is None:
        return every
    groups: dict[str, list[Trouble]] = {}
    for each in every:
        groups.setdefault(each.group, []).append(each)
    return [each for group in groups.values() for each in group[:limit]]


async def play_troubles(
    said: Sequence[Trouble], devices: int, tell: Callable[[], None]
) -> list[Survived]:
    """Play each by a device of its own, some at a time. ``tell`` is called after each.

    Raises VixioError if the server cannot work, DeviceError if a device is refused.
    """
    sound = await asyncio.to_thread(_sound)
    stalls = Stalls()
    words = {number: f"device {number} please" for number in range(len(said))}
    made = Providers(
        asr=MarkedWords(words, DELAYS, stalls=stalls),
        agent=StallingBackend(DELAYS, stalls),
        tts=StallingTTS(DELAYS, stalls),
    )
    waiting = list(enumerate(said))
    found: dict[int, Survived] = {}
    async with running({}, made, LIMITS) as (server, url):

        async def survive() -> None:
            while waiting:
                number, trouble = waiting.pop(0)
                if trouble.kind == "provider":
                    stalls.at[number] = trouble.name
                found[number] = await _survive(url, trouble, number, marked(sound, number))
                tell()

        async with asyncio.TaskGroup() as group:
            for _ in range(devices):
                group.create_task(survive())
        defects = server.counters.get("session.defect")
    if defects:
        raise RuntimeError(f"{defects} tasks of sessions have failed")
    return [found[number] for number in sorted(found)]


def _sound() -> Floats:
    return loud(paused(Voices(repeatable=True), [SAID], [], WHO).sound)


@asynccontextmanager
async def _device(
    url: str, trouble: Trouble, number: int
) -> AsyncIterator[tuple[SimulatedDevice, Relay]]:
    mode: Literal["auto", "realtime"] = "realtime" if trouble.kind == "voice" else "auto"
    async with Relay(url, NETWORKS.get(trouble.name, Network()), number) as relay:
        direct = trouble.kind in ("abort", "voice", "provider")
        config = DeviceConfig(ws_url=url if direct else relay.url, mode=mode)
        async with SimulatedDevice(config) as device:
            yield device, relay


async def _survive(url: str, trouble: Trouble, number: int, sound: Floats) -> Survived:
    pcm = Pcm(np.clip(sound * 32768, -32768, 32767).astype("<i2").tobytes(), LISTEN_RATE)
    async with _device(url, trouble, number) as (device, relay):
        await device.wait_for(device.connected_and_listening, what="a listening microphone")
        happened = await _disturbed(device, relay, trouble, pcm)
        cut = trouble.kind in ("abort", "voice", "reset")
        before = len(device.replies)
        await _quiet(device)
        if trouble.kind == "voice":  # the words over it are the next turn
            last = device.replies[-1] if device.replies else None
            after, first = _is_answer(last.text if last else "", number), True
        else:
            first = cut or any(_is_answer(each.text, number) for each in device.replies)
            count = len(device.replies)
            await device.say(pcm)
            after = await _answered(device, count, number)
        sounds = [each for each in device.heard if each.reply < before and each.time < happened + 3]
        silence = None
        if cut and trouble.kind != "reset" and sounds:
            silence = max(0.0, (sounds[-1].time + sounds[-1].duration - happened) * 1000)
        spoken_over = trouble.kind == "voice"
        whole = [each for each in device.replies if not (each.aborted or each.cut or spoken_over)]
        return Survived(
            trouble,
            lost=int(not first) + int(not after),
            after=after,
            silence_ms=silence,
            clipped_ms=sum(each.clipped_ms for each in whole),
            gap_ms=sum(each.gap_ms for each in whole),
            wrong=tuple(device.violations),
        )


async def _disturbed(device: SimulatedDevice, relay: Relay, trouble: Trouble, pcm: Pcm) -> float:
    """Ask, let the trouble happen, and return when it did."""
    if trouble.kind == "stall up":
        talk = asyncio.create_task(device.say(pcm))
        await asyncio.sleep(0.7)
        relay.stall("up", STALL_S)
        await talk
        await _reached(device, "speaking")
        return device.now
    await device.say(pcm)
    if trouble.kind in ("provider", "network"):
        await _begun(device)
        return device.now
    await _reached(device, trouble.name if trouble.name in STAGES else "speaking")
    happened = device.now
    if trouble.kind == "abort":
        await device.abort()
    elif trouble.kind == "voice":
        happened = (await device.say(pcm)).voice_start
        await _answer_begins(device, happened)
    elif trouble.kind == "stall down":
        relay.stall("down", STALL_S)
    else:
        relay.reset()
        await device.wait_for_close()
        await device.connect()
    return happened


async def _reached(device: SimulatedDevice, stage: str) -> None:
    def reached() -> bool:
        reply = device.replies[-1] if device.replies else None
        match stage:
            case "thinking":
                return bool(device.stt_texts)
            case "speaking":
                return len(device.heard) >= SPOKEN_PACKETS
            case "last sentence":
                return reply is not None and len(reply.sentences) > 1
            case "behind it":
                return reply is not None and reply.tts_stop is not None
            case _:
                return reply is not None

    await device.wait_for(reached, what=f"the stage {stage}", timeout=ANSWER_S)


async def _begun(device: SimulatedDevice) -> None:
    """Wait for an answer, of whatever kind, to end."""
    await device.wait_for(lambda: device.replies, what="an answer", timeout=ANSWER_S)


async def _answer_begins(device: SimulatedDevice, since: float) -> None:
    """Wait for the answer to what was said over another one."""
    words = len(device.stt_texts)
    await device.wait_for(
        lambda: (
            len(device.stt_texts) >= words
            and device.replies
            and any(each.text for each in device.replies if each.tts_start > since)
        ),
        what="the answer to what was said over another one",
        timeout=ANSWER_S,
    )


async def _quiet(device: SimulatedDevice) -> None:
    """Wait until the device has played all that it gets, and listens."""
    while True:
        await device.wait_for(
            lambda: device.listening and all(each.ended for each in device.replies),
            what="silence",
            timeout=ANSWER_S,
        )
        count = len(device.replies)
        await asyncio.sleep(0.5)  # an apology, or more of an answer, may follow
        if count == len(device.replies) and device.listening:
            return


async def _answered(device: SimulatedDevice, count: int, number: int) -> bool:
    try:
        reply = await device.wait_for_reply(after=count, timeout=ANSWER_S)
    except (DeviceTimeout, DeviceError):
        return False
    return _is_answer(reply.text, number)


def _is_answer(text: str, number: int) -> bool:
    return f"Device {number} in turn" in text
