"""Worker processes that crash, hang or are killed, with the real library."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from vixio.core.errors import REQUEST, ProviderError
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider
from vixio.providers.espeak_process import pool as speeches
from vixio.providers.espeak_process.messages import Kind, Voice
from vixio.providers.espeak_process.pool import EspeakPool, Request, SpeechWorker, acquire, release
from vixio.testing.contract.tts import SENTENCE, say, speech

pytestmark = pytest.mark.slow

LIMIT = 20.0
CRASHING = "\u28ff"
"""Its name overflows a buffer of version 1.52 in the Arabic voice. Cleaning removes it."""
LONG = "The quick brown fox jumps over the lazy dog, and nobody minds. " * 20
Crash = Callable[[EspeakPool], Awaitable[None]]


@pytest.fixture
async def tts() -> AsyncIterator[EspeakTTSProvider]:
    provider = EspeakTTSProvider(EspeakSettings(rate=80))
    await provider.start()
    yield provider
    await provider.close()


@pytest.fixture
async def pool(tts: EspeakTTSProvider) -> AsyncIterator[EspeakPool]:
    """The pool that ``tts`` uses."""
    async with asyncio.timeout(LIMIT):
        yield await acquire()
        await release()


def spoken(text: str, voice: str = "en-us") -> Request:
    """A request that is not cleaned."""
    return Request(Kind.SPEAK, [Voice(voice)], text)


def busy(pool: EspeakPool) -> SpeechWorker:
    """The worker that has a request."""
    (worker,) = (each for each in pool.workers if each.load)
    return worker


async def replaced(pool: EspeakPool, times: int) -> None:
    """Wait until so many workers have been replaced."""
    while pool.restarts < times:
        pool._changed.clear()
        await pool._changed.wait()


async def crash_by_text(pool: EspeakPool) -> None:
    request = spoken(CRASHING, "ar")
    pool.submit(request)
    with pytest.raises(ProviderError, match="crashed on this text"):
        await request.all()


async def crash_by_signal(pool: EspeakPool) -> None:
    request = spoken(LONG)
    pool.submit(request)
    (worker,) = (each for each in pool.workers if request in each._requests.values())
    await request.next()
    os.kill(worker.pid, signal.SIGSEGV)
    with pytest.raises(ProviderError, match="crashed on this text"):
        await request.all()


async def test_a_worker_killed_in_mid_sentence_fails_only_that_sentence(
    tts: EspeakTTSProvider, pool: EspeakPool
) -> None:
    async with aclosing(speech(tts, LONG)) as chunks:
        assert await anext(chunks)
        # Half a minute of audio is more than what the pipe and the reader hold: it is not done.
        os.kill(busy(pool).pid, signal.SIGKILL)
        with pytest.raises(ProviderError, match="crashed") as caught:
            async for _ in chunks:
                pass
    assert caught.value.retryable
    assert await say(tts, SENTENCE)
    await replaced(pool, 1)
    assert await say(tts, SENTENCE)


@pytest.mark.parametrize("crash", [crash_by_text, crash_by_signal])
async def test_a_crash_costs_one_sentence_while_another_device_is_served(
    tts: EspeakTTSProvider, pool: EspeakPool, crash: Crash
) -> None:
    whole = len(await say(tts, LONG))
    async with aclosing(speech(tts, LONG)) as chunks:
        heard = len(await anext(chunks))
        for times in range(1, 4):
            await crash(pool)
            heard += len(await anext(chunks))
            await replaced(pool, times)
        heard += sum([len(chunk) async for chunk in chunks])
    assert heard == pytest.approx(whole, rel=0.05)


async def test_requests_behind_a_crashing_one_go_to_another_worker(pool: EspeakPool) -> None:
    requests = [spoken(CRASHING, "ar"), *(spoken(SENTENCE) for _ in range(6))]
    for request in requests:
        pool.submit(request)
    with pytest.raises(ProviderError, match="crashed"):
        await requests[0].all()
    assert all([await request.all() for request in requests[1:]])


async def test_a_crash_concerns_its_request_alone(pool: EspeakPool) -> None:
    worker = await single(pool)
    first = spoken(SENTENCE)
    pool.submit(first)
    assert await first.all()
    for _ in range(2):  # the second is the first request that its worker gets
        request = spoken(CRASHING, "ar")
        pool.submit(request)
        with pytest.raises(ProviderError) as caught:
            await request.all()
        assert caught.value.reason == REQUEST
    assert worker.exit_code == -signal.SIGABRT


async def single(pool: EspeakPool) -> SpeechWorker:
    """Leave the pool one worker."""
    keepers, others = pool._keepers[1:], pool.workers[1:]
    for keeper in keepers:
        keeper.cancel()
    await asyncio.gather(*keepers, return_exceptions=True)
    assert all(each not in pool.workers for each in others)
    return pool.workers[0]


async def test_crashes_without_work_between_them_are_restarted_with_a_delay(
    pool: EspeakPool,
) -> None:
    await single(pool)
    errors: list[ProviderError] = []
    while not (errors and errors[-1].retry_after):
        request = spoken(CRASHING, "ar")
        pool.submit(request)
        with pytest.raises(ProviderError) as caught:
            await request.all()
        errors.append(caught.value)
        assert len(errors) < 5
    assert "does not start" in str(errors[-1])  # refused at once, instead of left to wait
    assert errors[-1].reason == "service"
    await pool.ready()
    request = spoken(SENTENCE)
    pool.submit(request)
    assert await request.all()


async def test_a_cancelled_sentence_is_not_heard_in_the_next(
    tts: EspeakTTSProvider, pool: EspeakPool
) -> None:
    await single(pool)
    alone = len(await say(tts, "yes"))
    for _ in range(20):
        async with aclosing(speech(tts, LONG)) as chunks:
            assert await anext(chunks)
        assert len(await say(tts, "yes")) == pytest.approx(alone, rel=0.05)
    assert pool.restarts == 0


async def test_a_cancelled_request_stops_in_the_worker(
    pool: EspeakPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await single(pool)
    cancelled, after = spoken("word " * 2_000), spoken("yes")
    pool.submit(cancelled)
    assert await cancelled.next()
    dropped: list[int] = []
    monkeypatch.setattr(cancelled, "add", lambda data: dropped.append(len(data)))
    pool.cancel(cancelled)
    pool.submit(after)
    assert await after.all()
    assert worker.load == 0
    assert sum(dropped) < 22_050 * 2 * 500  # of some 1,000 seconds


async def test_a_stuck_worker_is_killed_when_its_request_is_cancelled(
    pool: EspeakPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speeches, "SILENT_SECONDS", 0.0)
    worker = await single(pool)
    os.kill(worker.pid, signal.SIGSTOP)
    stuck, after = spoken(SENTENCE), spoken(SENTENCE)
    pool.submit(stuck)
    pool.submit(after)
    pool.cancel(stuck)
    assert await after.all()
    assert worker.exit_code == -signal.SIGKILL


async def test_a_worker_in_an_endless_loop_is_ended_by_its_cpu_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looping = replace(speeches.PROGRAM, module="tests.support.looping_espeak")
    monkeypatch.setattr(speeches, "PROGRAM", looping)
    async with asyncio.timeout(LIMIT):
        worker = await SpeechWorker.start()
        worker.submit(spoken(SENTENCE))
        await worker.run()
        await worker.stop()
    assert worker.exit_code == -signal.SIGPROF


async def test_workers_end_with_a_server_that_is_killed() -> None:
    program = """
import asyncio
from vixio.providers.espeak_process.pool import acquire
async def main():
    pool = await acquire()
    print(*(worker.pid for worker in pool.workers), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    async with asyncio.timeout(LIMIT):
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
        )
        assert server.stdout is not None
        watched = [os.pidfd_open(int(pid)) for pid in (await server.stdout.readline()).split()]
        assert watched
        server.kill()
        await server.wait()
        for descriptor in watched:
            await ended(descriptor)
            os.close(descriptor)


async def ended(descriptor: int) -> None:
    """Wait until the process behind a pidfd has ended."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    loop.add_reader(descriptor, event.set)
    await event.wait()
    loop.remove_reader(descriptor)
