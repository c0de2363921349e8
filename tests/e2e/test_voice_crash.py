"""Texts that crash eSpeak NG's worker process in the middle of a reply, with the real library."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.waiting import until
from vixio.core.history import AssistantMessage
from vixio.core.streams import closing
from vixio.providers.espeak import provider
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider
from vixio.providers.espeak_process.pool import EspeakPool, acquire, release
from vixio.testing import ScriptedAgentBackend

CRASHING = "\u28ff"
"""Its name overflows a buffer of version 1.52 in the Arabic voice. Cleaning removes it."""

STORY = "Here is one. Here is two. Here is three. Here is four."
REST = "Here is one. Here is three. Here is four."


@pytest.fixture
def crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a text that says "two" one that crashes the Arabic voice."""
    monkeypatch.setattr(provider, "speakable", lambda text: text.replace("two", CRASHING))


@asynccontextmanager
async def talking(tts: EspeakTTSProvider) -> AsyncIterator[tuple[RunningServer, EspeakPool]]:
    agent = ScriptedAgentBackend(lambda text: (STORY,) if text == "tell" else (REST,))
    async with serving(settings(), asr=WaveformASR({}), agent=agent, tts=tts) as server:
        pool = await acquire()
        try:
            yield server, pool
        finally:
            await release()


def said(server: RunningServer, device: SimulatedDevice) -> list[str]:
    history = server.app.host.histories.get(device.config.device_id)
    return [item.text for item in history.items() if isinstance(item, AssistantMessage)]


async def check(server: RunningServer, device: SimulatedDevice, reply: Reply) -> None:
    """One sentence is missing, the rest is heard, and the next turn is whole."""
    assert reply.text == REST
    assert_played_well(reply)
    again = await device.type_text("again")
    assert again.text == REST
    assert_played_well(again)
    assert said(server, device) == [REST, REST]
    assert server.count("turn.sentence_failed") == 1
    assert server.count("turn.outcome.answered") == 2
    assert not device.alerts
    assert_nothing_wrong(device)


async def test_a_text_that_crashes_the_worker_costs_one_sentence(crashes: None) -> None:
    tts = EspeakTTSProvider(EspeakSettings(voices={"en": "ar"}))
    async with talking(tts) as (server, pool), SimulatedDevice(server.device()) as device:
        before = {worker.pid for worker in pool.workers}
        reply = await device.type_text("tell")
        await until(lambda: pool.restarts == 1, what="a new worker")
        assert len({worker.pid for worker in pool.workers} & before) == len(before) - 1
        await check(server, device, reply)
        assert pool.restarts == 1


class KilledTTS(EspeakTTSProvider):
    """The worker that gets a text with "two" is killed before it can answer."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak, or have the worker killed."""
        speech = super().synthesize(text, language=language)
        async with closing(speech):
            if "two" in text:
                await self._kill(speech)
            async for pcm in speech:
                yield pcm

    async def _kill(self, speech: AsyncIterator[bytes]) -> None:
        assert self._pool is not None
        workers = self._pool.workers
        for worker in workers:
            os.kill(worker.pid, signal.SIGSTOP)
        request = asyncio.ensure_future(anext(speech))
        await until(lambda: any(worker.load for worker in workers), what="the request")
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL if worker.load else signal.SIGCONT)
        await request


async def test_a_worker_that_is_killed_costs_one_sentence() -> None:
    async with talking(KilledTTS()) as (server, pool), SimulatedDevice(server.device()) as device:
        reply = await device.type_text("tell")
        await check(server, device, reply)
        await until(lambda: pool.restarts == 1, what="a new worker")
