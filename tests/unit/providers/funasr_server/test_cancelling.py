"""Cancellation at any stage of an utterance closes its connection or frees it."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.funasr_server import FunASRServer, Talk
from tests.support.waiting import until
from tests.unit.providers.funasr_server.support import BOUND, noise, provider, recognise
from vixio.core.errors import ProviderError
from vixio.providers.asr import SpeechHints


async def closed(server: FunASRServer, left: int = 0) -> None:
    """Wait until all but ``left`` connections are closed."""
    await until(lambda: server.open_connections <= left)


@pytest.mark.parametrize("yields", [*range(12), 14, 16, 20, 30])
async def test_cancelled_at_any_stage(yields: int) -> None:
    before = asyncio.all_tasks()
    async with FunASRServer() as server:
        async with provider(server) as asr:
            talking = asyncio.create_task(recognise(asr, noise(1)))
            for _ in range(yields):
                await asyncio.sleep(0)
            talking.cancel()
            (outcome,) = await asyncio.gather(talking, return_exceptions=True)
            await closed(server, 0 if isinstance(outcome, asyncio.CancelledError) else 1)
            assert (await recognise(asr, noise(0.5))).text == "loud 5"
            await closed(server, 1)
        await closed(server)
    assert asyncio.all_tasks() == before


async def test_an_abandoned_utterance_ends_at_the_server() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        stream = asr.open(SpeechHints())
        await stream.feed(noise(1))
        await stream.close()
        await stream.close()
        async with asyncio.timeout(BOUND):
            await server.gone.wait()
        assert not server.utterances[0].ended
        with pytest.raises(ProviderError, match="stream is closed"):
            await stream.feed(noise(1))
        with pytest.raises(ProviderError, match="stream is closed"):
            await stream.finish()


async def test_closing_fails_waiting_calls() -> None:
    reached = asyncio.Event()

    async def hold(talk: Talk, stage: str) -> None:
        if stage == "end":
            reached.set()
            await asyncio.Event().wait()

    async with FunASRServer(fault=hold) as server, provider(server) as asr:
        waiting = asyncio.create_task(recognise(asr, noise(1)))
        idle = asr.open(SpeechHints())
        async with asyncio.timeout(BOUND):
            await reached.wait()
            for _ in range(100):
                await asyncio.sleep(0)  # it has sent the end, and waits for words
            await asr.close()
            await asr.close()
            with pytest.raises(ProviderError, match="the provider is closed"):
                await waiting
        with pytest.raises(ProviderError, match="the provider is closed"):
            await idle.feed(noise(1))
        with pytest.raises(ProviderError, match="the provider is closed"):
            await asr.start()
        with pytest.raises(ProviderError, match="the provider is closed"):
            await recognise(asr, noise(1))


async def test_closing_while_connecting() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        waiting = asyncio.create_task(recognise(asr, noise(1)))
        for _ in range(3):
            await asyncio.sleep(0)
        await asr.close()
        with pytest.raises(ProviderError):
            await waiting
        await closed(server)


async def test_unused_connections_are_closed_after_a_while() -> None:
    async with FunASRServer() as server, provider(server, keep=0.05) as asr:
        await recognise(asr, noise(0.5))
        await closed(server)
        assert (await recognise(asr, noise(0.5))).text == "loud 5"


async def test_no_more_are_kept_than_wanted() -> None:
    async with FunASRServer() as server:
        async with provider(server, idle_connections=2) as asr:
            await asyncio.gather(*(recognise(asr, noise(0.5)) for _ in range(5)))
            await closed(server, 2)
            assert server.open_connections == 2
        async with provider(server, idle_connections=0) as asr:
            await recognise(asr, noise(0.5))
            await closed(server)


async def test_start_is_idempotent_and_needs_no_server() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        await asyncio.gather(asr.start(), asr.start())
        assert server.connections == 0
