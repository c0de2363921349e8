"""Devices that leave echo cancellation to the server and hear their own loudspeaker.

As ``vixio bench echo``, but through sockets, the pacer and the running server, in real time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from firmware_test_client import DeviceConfig, Pcm, SimulatedDevice
from vixio.core.audio import LISTEN_RATE
from vixio.core.session.speech import SpeechStatus
from vixio.server import Server
from vixio.testing.voices import Speaker, Voices
from vixio_bench.conversation.heard import STORY
from vixio_bench.conversation.over import COMMANDS, FROM_PACKET, QUIET_S, SPEAKERS, WAIT_S
from vixio_bench.conversation.servers import running
from vixio_bench.conversation.situations import loud, pink
from vixio_bench.paused_speech import paused

ROOM_DB: Final = -60.0
LOUDER_DB: Final = 5.0
"""By which the answer is louder at the loudspeaker than the user in the microphone."""
SETTLED_PACKETS: Final = 20
"""Of the answer, before a user speaks over it."""


@dataclass(frozen=True, slots=True)
class Echo:
    """One answer. ``user``: what is said over it; "" for nothing."""

    delay_ms: int
    echo_db: float
    user: str = ""
    who: Speaker = SPEAKERS[0]

    @property
    def group(self) -> str:
        """Its line of the table."""
        return f"{'user over ' if self.user else ''}{self.echo_db:g} dB"


@dataclass(frozen=True, slots=True)
class Echoed:
    """What became of one. ``itself``: the answer was ended before a user spoke; ``heard``: by the
    user. ``silence_ms``: from the user's voice to the last of the answer."""

    echo: Echo
    itself: bool
    heard: bool = False
    silence_ms: float | None = None


def echoes(limit: int | None = None) -> list[Echo]:
    """Return all, or ``limit`` of each group."""
    alone = [Echo(delay, db) for db in (-20.0, -12.0, -6.0) for delay in (80, 160, 240, 400)]
    spoken = [
        Echo((80, 160, 240, 400)[index % 4], db, COMMANDS[index % 5], SPEAKERS[index // 5 % 4])
        for db in (-12.0, -6.0)
        for index in range(20)
    ]
    every = [*alone, *spoken]
    if limit is None:
        return every
    groups: dict[str, list[Echo]] = {}
    for each in every:
        groups.setdefault(each.group, []).append(each)
    return [each for group in groups.values() for each in group[:limit]]


async def play_echoes(said: Sequence[Echo], devices: int, tell: Callable[[], None]) -> list[Echoed]:
    """Play each by a device of its own, some at a time. ``tell`` is called after each.

    Needs the extra ``aec``. Raises VixioError if the server cannot work, DeviceError if a device is
    refused.
    """
    waiting = list(enumerate(said))
    found: dict[int, Echoed] = {}
    voices = Voices(repeatable=True)
    async with running({}) as (server, url):

        async def one() -> None:
            while waiting:
                number, echo = waiting.pop(0)
                found[number] = await _play(server, url, echo, voices)
                tell()

        async with asyncio.TaskGroup() as group:
            for _ in range(devices):
                group.create_task(one())
    return [found[number] for number in sorted(found)]


async def _play(server: Server, url: str, echo: Echo, voices: Voices) -> Echoed:
    config = DeviceConfig(
        ws_url=url,
        mode="realtime",
        version=2,
        server_aec=True,
        echo_db=echo.echo_db - LOUDER_DB,
        echo_delay_ms=echo.delay_ms,
    )
    async with SimulatedDevice(config) as device:
        await device.type_text("hello")
        await asyncio.sleep(QUIET_S)
        session = server.sessions.find(config.device_id)
        if session is None:
            raise RuntimeError("the device is not connected")
        first = len(device.heard)
        handle = session.say(STORY)
        if not echo.user:
            outcome = await asyncio.wait_for(handle.played(), WAIT_S)
            return Echoed(echo, outcome.status is not SpeechStatus.PLAYED)
        await device.wait_for(
            lambda: handle.done or len(device.heard) - first >= FROM_PACKET + SETTLED_PACKETS,
            what="the story",
            timeout=WAIT_S,
        )
        if handle.done:
            return Echoed(echo, itself=True)
        sound = loud(paused(voices, [echo.user], [], echo.who).sound)
        sound = sound + pink(len(sound), ROOM_DB)
        pcm = np.clip(sound * 32768, -32768, 32767).astype("<i2").tobytes()
        spoken = await device.say(Pcm(pcm, LISTEN_RATE))
        outcome = await asyncio.wait_for(handle.played(), WAIT_S)
        heard = outcome.status is not SpeechStatus.PLAYED
        replies = {each.reply for each in device.heard[first : first + FROM_PACKET]}
        told = [each for each in device.heard[first:] if each.reply in replies]
        silence = float(told[-1].time + told[-1].duration - spoken.voice_start) * 1000
        if silence < 0:
            return Echoed(echo, itself=True)
        return Echoed(echo, itself=False, heard=heard, silence_ms=silence if heard else None)
