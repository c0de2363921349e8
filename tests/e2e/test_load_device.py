"""The benchmark's device: it asks as soon as it is greeted, and goes to another node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from firmware_test_client import DeviceError
from firmware_test_client.pcm import Pcm, room_noise
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.servers import free_ports
from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.core.messages import LOADING
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.testing.providers import Step
from vixio_bench.load.control import BenchError
from vixio_bench.load.device import LoadDevice, Notes

QUESTION = "what time is it"
NOTICES = 2


class Agent:
    """A script that raises the reasons, then answers."""

    def __init__(self, *reasons: str) -> None:
        self._reasons = list(reasons)

    def __call__(self, text: str) -> Sequence[Step]:
        """Return the next step."""
        if self._reasons:
            return [ProviderError("scripted", "scripted", reason=self._reasons.pop(0))]
        return ["It is noon."]


@asynccontextmanager
async def asking(agent: Agent) -> AsyncIterator[tuple[LoadDevice, RunningServer]]:
    backend = ScriptedAgentBackend(agent)
    tts = ScriptedTTS(seconds_per_char=0.02)
    async with serving(
        settings(), vad=ScriptedVAD(), asr=ScriptedASR(), agent=backend, tts=tts
    ) as server:
        device = LoadDevice(
            0,
            room_noise(0.1, 16_000, None),
            [server.ws_url],
            "idle",
            (1.0, 1.0),
            Notes(),
            asks=QUESTION,
        )
        await device.connect()
        living = asyncio.create_task(device.live())
        try:
            yield device, server
        finally:
            living.cancel()
            await asyncio.wait([living])
            await device.device.close()


async def test_the_first_answer_is_the_one_behind_the_notices_of_loading() -> None:
    async with asking(Agent(*[LOADING] * NOTICES)) as (device, _):
        at, notices = await device.first_answer
        assert notices == NOTICES
        answer = device.device.replies[NOTICES]
        assert answer.text == "It is noon."
        assert at == answer.first_audio
        assert len(device.device.replies) == NOTICES + 1  # it asks no more


async def test_an_apology_is_no_answer() -> None:
    async with asking(Agent("service")) as (device, _):
        with pytest.raises(BenchError, match="has a problem"):
            await device.first_answer


async def test_a_connection_that_ends_is_no_answer() -> None:
    async with asking(Agent(*[LOADING] * 1_000)) as (device, server):
        await until(lambda: device.device.replies, what="a notice")
        await server.app.stop()
        with pytest.raises(DeviceError):
            await device.first_answer


ROOM = room_noise(0.1, 16_000, None)
VOICE = room_noise(30.0, 16_000, None)
"""Longer than the test: its user still speaks when the connection ends."""


@asynccontextmanager
async def living(urls: Sequence[str], voice: Pcm, notes: Notes) -> AsyncIterator[LoadDevice]:
    device = LoadDevice(0, voice, urls, "talk", (0.0, 0.0), notes)
    device.may_talk.set()
    device.measuring = True
    await device.connect()
    task = asyncio.create_task(device.live())
    try:
        yield device
    finally:
        task.cancel()
        await asyncio.wait([task])
        await device.device.close()


def scripted(agent: Agent) -> AbstractAsyncContextManager[RunningServer]:
    backend, tts = ScriptedAgentBackend(agent), ScriptedTTS(seconds_per_char=0.02)
    return serving(settings(), vad=ScriptedVAD(), asr=ScriptedASR(), agent=backend, tts=tts)


async def test_a_turn_is_cut_and_the_device_goes_where_it_is_served() -> None:
    notes = Notes()
    async with scripted(Agent()) as first, scripted(Agent()) as second:
        urls = [first.ws_url, second.ws_url]
        async with living(urls, VOICE, notes) as device:
            await until(lambda: device.device.records.spoken, what="a user who speaks")
            before = asyncio.get_running_loop().time()
            await first.app.stop()
            await until(lambda: notes.back, what="a new connection")
            ((number, at),) = notes.back
            assert number == device.number
            assert at > before
            assert second.app.transport.stats()["connected"] == 1
            assert (notes.counts["cut"], notes.counts["dropped"]) == (1, 1)
            assert notes.trouble == []


async def test_an_address_where_nothing_listens_is_passed_over() -> None:
    notes = Notes()
    async with scripted(Agent()) as server:
        urls = [f"ws://127.0.0.1:{port}/xiaozhi/v1/" for port in free_ports(2)]
        async with living([*urls, server.ws_url], ROOM, notes) as device:
            assert device.device.connected
            assert server.app.transport.stats()["connected"] == 1
            assert notes.back == []  # it never had another
