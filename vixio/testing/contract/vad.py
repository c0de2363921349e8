"""What every VAD provider does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest
import pytest_asyncio

from vixio.cli.diagnostics.spoken import spoken
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.vad import VADProvider, VADStream
from vixio.testing.contract.base import LIMIT, ProviderContract


async def hear(stream: VADStream, pcm: bytes, size: int = 1920) -> list[float]:
    """Feed ``pcm`` in packets of ``size`` bytes; return all probabilities."""
    heard: list[float] = []
    async with asyncio.timeout(LIMIT):
        for start in range(0, len(pcm), size):
            heard.extend(await stream.process(pcm[start : start + size]))
    return heard


def same(one: Sequence[float], other: Sequence[float]) -> bool:
    return list(one) == pytest.approx(list(other), abs=1e-4)


def windows(vad: VADProvider, pcm: bytes) -> int:
    return len(pcm) // (BYTES_PER_SAMPLE * vad.window_samples)


_speech: list[bytes] = []
"""Two sentences, once they were spoken: no test changes them."""


class VADContract(ProviderContract[VADProvider]):
    """What every detector does."""

    @pytest.fixture
    def vad(self, provider: VADProvider) -> VADProvider:
        """Return a started detector, each test its own."""
        return provider

    @pytest_asyncio.fixture
    async def speech(self) -> bytes:
        """Return two sentences of 16 kHz PCM, about five seconds."""
        if not _speech:
            text = "Please set the volume to thirty percent. And turn on the lamp."
            _speech.append(await spoken(text))
        return _speech[0]

    async def test_speech_is_told_from_silence(self, vad: VADProvider, speech: bytes) -> None:
        stream = vad.open()
        heard = await hear(stream, speech)
        assert len(heard) == windows(vad, speech)
        assert {type(each) for each in heard} == {float}
        assert 0.0 <= min(heard) <= max(heard) <= 1.0
        assert sum(each > 0.5 for each in heard) > len(heard) / 3
        pause = LISTEN_RATE // 2 // vad.window_samples
        assert max(heard[: pause - 2]) < 0.5

    async def test_silence_is_silent(self, vad: VADProvider) -> None:
        heard = await hear(vad.open(), bytes(10 * LISTEN_RATE * BYTES_PER_SAMPLE))
        assert len(heard) == 10 * LISTEN_RATE // vad.window_samples
        assert max(heard) < 0.5

    async def test_empty_audio_completes_nothing(self, vad: VADProvider) -> None:
        stream = vad.open()
        assert list(await stream.process(b"")) == []
        assert list(await stream.process(b"\x01")) == []
        assert list(await stream.process(b"")) == []

    async def test_packet_size_changes_nothing(self, vad: VADProvider, speech: bytes) -> None:
        whole = await hear(vad.open(), speech, len(speech))
        generator = random.Random(7)
        stream, heard, position = vad.open(), list[float](), 0
        while position < len(speech):  # odd sizes too: a sample may arrive in two halves
            size = generator.choice([1, 3, 333, 640, 1023, 1024, 1025, 1921, 9999])
            heard.extend(await stream.process(speech[position : position + size]))
            position += size
        assert same(heard, whole)

    async def test_ten_minutes(self, vad: VADProvider, speech: bytes) -> None:
        minute = (speech * 60)[: 60 * LISTEN_RATE * BYTES_PER_SAMPLE]
        stream, count = vad.open(), 0
        async with asyncio.timeout(LIMIT * 2):
            for _ in range(10):
                count += len(await stream.process(minute))
        assert count == 600 * LISTEN_RATE // vad.window_samples

    async def test_a_long_piece_does_not_hold_up_another_device(
        self, vad: VADProvider, speech: bytes
    ) -> None:
        long = asyncio.create_task(hear(vad.open(), speech * 100, len(speech) * 100))
        await asyncio.sleep(0)
        await hear(vad.open(), speech[:19200])
        assert not long.done()
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)

    async def test_devices_do_not_disturb_each_other(self, vad: VADProvider, speech: bytes) -> None:
        shifted = [speech[1000 * n :][: len(speech) // 2] for n in range(24)]
        alone = [await hear(vad.open(), each) for each in shifted]
        together = await asyncio.gather(*(hear(vad.open(), each) for each in shifted))
        assert all(map(same, alone, together))

    async def test_overlapping_calls_get_their_own_windows(
        self, vad: VADProvider, speech: bytes
    ) -> None:
        alone = await hear(vad.open(), speech)
        stream = vad.open()
        async with asyncio.timeout(LIMIT):
            parts = await asyncio.gather(
                *(stream.process(speech[n : n + 5000]) for n in range(0, len(speech), 5000))
            )
        assert same([each for part in parts for each in part], alone)

    @pytest.mark.parametrize("yields", [0, 1, 2, 5])
    async def test_a_cancelled_call_was_heard(
        self, vad: VADProvider, speech: bytes, yields: int
    ) -> None:
        """Its probabilities are lost, the detector goes on as if they were not."""
        middle, size = len(speech) // 2 // 1920 * 1920, 19200
        alone = await hear(vad.open(), speech)
        stream = vad.open()
        before = await hear(stream, speech[:middle])
        call = asyncio.ensure_future(stream.process(speech[middle : middle + size]))
        await asyncio.sleep(0)  # a coroutine that never ran has not taken its audio
        for _ in range(yields):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        after = await hear(stream, speech[middle + size :])
        assert same(before, alone[: len(before)])
        assert same(after, alone[-len(after) :])

    async def test_reset_forgets_everything(self, vad: VADProvider, speech: bytes) -> None:
        stream = vad.open()
        fresh = await hear(stream, speech)
        await stream.process(speech[40001:60000])  # ends inside a window, inside a sample
        stream.reset()
        assert same(await hear(stream, speech), fresh)

    async def test_a_new_device_inherits_nothing(self, vad: VADProvider, speech: bytes) -> None:
        first = vad.open()
        fresh = await hear(first, speech)
        await first.process(speech[40000:60000])
        waiting = asyncio.ensure_future(first.process(speech[60000:100000]))
        await asyncio.sleep(0)
        first.close()
        assert same(await hear(vad.open(), speech), fresh)
        await asyncio.gather(waiting, return_exceptions=True)

    async def test_a_closed_stream_refuses(self, vad: VADProvider, speech: bytes) -> None:
        stream, other = vad.open(), vad.open()
        stream.close()
        stream.close()
        with pytest.raises(ProviderError):
            await stream.process(speech)
        stream.reset()
        assert await hear(other, speech[:19200])

    async def test_not_started_refuses(self, unstarted: VADProvider, speech: bytes) -> None:
        with pytest.raises(ProviderError):
            await unstarted.open().process(speech)

    async def test_start_is_idempotent(self, unstarted: VADProvider, speech: bytes) -> None:
        await asyncio.gather(unstarted.start(), unstarted.start())
        await unstarted.start()
        assert await hear(unstarted.open(), speech[:19200])

    async def test_a_cancelled_start_leaves_nothing(self, unstarted: VADProvider) -> None:
        starting = asyncio.create_task(unstarted.start())
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    async def test_close_fails_what_waits(self, vad: VADProvider, speech: bytes) -> None:
        streams = [vad.open() for _ in range(3)]
        waiting = [asyncio.ensure_future(each.process(speech * 50)) for each in streams]
        await asyncio.sleep(0)
        async with asyncio.timeout(LIMIT):
            await vad.close()
            results = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(each, ProviderError) for each in results)
        with pytest.raises(ProviderError):
            await streams[0].process(speech)
        for each in streams:
            each.close()
        await vad.close()
