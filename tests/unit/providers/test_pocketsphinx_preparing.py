"""Grammars are prepared one at a time, and utterances have precedence."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.support.waiting import until
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import SpeechHints
from vixio.providers.pocketsphinx.pool import MAX_WANTED, Preparations
from vixio.providers.pocketsphinx.provider import PocketSphinxASRProvider, PocketSphinxSettings

BOUND = 60.0


async def test_the_latest_comes_first_and_the_oldest_is_dropped() -> None:
    sent: list[bytes] = []
    preparations = Preparations(sent.append)
    for number in range(MAX_WANTED + 10):
        preparations.want(b"%d" % number)
    assert preparations.waiting == MAX_WANTED
    running = asyncio.create_task(preparations.run())
    async with asyncio.timeout(BOUND):
        while preparations.waiting:
            before = len(sent)
            while len(sent) == before:
                preparations.done()
                await asyncio.sleep(0)
    running.cancel()
    assert [int(each) for each in sent] == list(range(MAX_WANTED + 9, 9, -1))


async def test_one_at_a_time() -> None:
    sent: list[bytes] = []
    preparations = Preparations(sent.append)
    running = asyncio.create_task(preparations.run())
    preparations.want(b"one")
    for _ in range(5):
        await asyncio.sleep(0)
    preparations.want(b"two")
    preparations.want(b"two")
    for _ in range(5):
        await asyncio.sleep(0)
    assert sent == [b"one"]
    assert preparations.waiting == 1
    preparations.done()
    await until(lambda: len(sent) == 2)
    running.cancel()
    assert sent == [b"one", b"two"]


@pytest.mark.slow
async def test_requests_do_not_pile_up_at_a_worker_that_hangs() -> None:
    provider = PocketSphinxASRProvider(PocketSphinxSettings(workers=1, timeout=BOUND))
    await provider.start()
    (worker,) = provider.workers
    os.kill(worker.pid, signal.SIGSTOP)
    try:
        for number in range(1_000):
            tool = ToolDefinition(f"tool_{number}", "Turn it on. " * 50, alias=f"tool_{number}")
            provider.prepare(SpeechHints((tool,), "en"))
            await asyncio.sleep(0)
        assert worker.preparations.waiting <= MAX_WANTED
        assert worker.waiting < 10_000
    finally:
        os.kill(worker.pid, signal.SIGCONT)
        await provider.close()
