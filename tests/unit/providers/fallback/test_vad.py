"""Several detectors: the stream goes over in mid-stream, whatever their windows."""

from __future__ import annotations

import array
import asyncio
from collections.abc import Sequence

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.vad import CONTEXT_SAMPLES, FallbackVADProvider
from vixio.providers.vad import VADProvider, VADStream

LIMIT = 30.0


class Meter(VADProvider):
    """A window's highest sample, in thousandths, is its "probability"."""

    def __init__(self, name: str, window: int) -> None:
        self.name = name
        self.window_samples = window
        self.error: Exception | None = None
        self.hangs = False
        self.heard = 0
        self.streams = 0

    async def start(self) -> None:
        pass

    def open(self) -> VADStream:
        self.streams += 1
        return _MeterStream(self)

    async def close(self) -> None:
        pass


class _MeterStream(VADStream):
    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._rest = b""

    async def process(self, pcm: bytes) -> Sequence[float]:
        if self._meter.hangs:
            await asyncio.sleep(1_000)
        if self._meter.error is not None:
            raise self._meter.error
        self._meter.heard += len(pcm) // 2
        self._rest += pcm
        size = 2 * self._meter.window_samples
        found: list[float] = []
        while len(self._rest) >= size:
            found.append(max(array.array("h", self._rest[:size])) / 1000)
            self._rest = self._rest[size:]
        return found

    def reset(self) -> None:
        self._rest = b""

    def close(self) -> None:
        self._meter.streams -= 1


def ramp(windows: int, size: int = 512) -> bytes:
    """Every window of ``size`` has its own number as samples."""
    return b"".join(array.array("h", [number % 1000] * size).tobytes() for number in range(windows))


async def hear(stream: VADStream, pcm: bytes, size: int = 1_920) -> list[float]:
    heard: list[float] = []
    async with asyncio.timeout(LIMIT):
        for start in range(0, len(pcm), size):
            heard += await stream.process(pcm[start : start + size])
    return heard


@pytest.mark.parametrize("window", [160, 256, 480, 512])
@pytest.mark.parametrize("size", [1, 333, 1_920, 100_000])
async def test_shorter_windows_are_told_as_the_longest(window: int, size: int) -> None:
    fallback = FallbackVADProvider([Meter("short", window), Meter("long", 512)])
    await fallback.start()
    assert fallback.window_samples == 512
    told = await hear(fallback.open(), ramp(8 if size == 1 else 40), size)
    # What ends within a window may begin in the one before, which is lower here.
    assert told == [number / 1000 for number in range(8 if size == 1 else 40)]
    await fallback.close()


@pytest.mark.parametrize(("first", "second"), [(512, 512), (256, 512), (512, 256), (512, 160)])
async def test_it_goes_over_in_mid_stream(first: int, second: int) -> None:
    one, other = Meter("one", first), Meter("other", second)
    fallback = FallbackVADProvider([one, other])
    await fallback.start()
    stream = fallback.open()
    pcm = ramp(200)
    whole = [number / 1000 for number in range(200)]
    told = await hear(stream, pcm[:102_400])
    one.error = ProviderError("one", "out of order")
    told += await hear(stream, pcm[102_400:])
    assert told == whole
    assert one.streams == 0
    assert other.heard >= 51_200 + CONTEXT_SAMPLES - 512  # it had heard what was before
    first_state, second_state = fallback.stats()
    assert first_state["state"] == "open"
    assert second_state["served"] > 0
    stream.close()
    assert other.streams == 0
    await fallback.close()


@pytest.mark.slow
async def test_one_that_hangs_is_passed_over() -> None:
    one, other = Meter("one", 512), Meter("other", 512)
    one.hangs = True
    fallback = FallbackVADProvider([one, other])
    await fallback.start()
    assert await hear(fallback.open(), ramp(5)) == [0.0, 0.001, 0.002, 0.003, 0.004]
    assert fallback.stats()[0]["reason"] == "timeout"
    await fallback.close()


async def test_where_one_device_sees_it_fail_all_go_over() -> None:
    one, other = Meter("one", 512), Meter("other", 512)
    fallback = FallbackVADProvider([one, other])
    await fallback.start()
    streams = [fallback.open() for _ in range(20)]
    for stream in streams:
        await hear(stream, ramp(3))
    one.error = ProviderError("one", "out of order")
    for stream in streams:
        assert await hear(stream, ramp(3)) == [0.0, 0.001, 0.002]
    assert fallback.stats()[0]["failures"] == 1
    assert (one.streams, other.streams) == (0, 20)
    await fallback.close()


async def test_the_first_has_another_chance_at_a_reset() -> None:
    one, other = Meter("one", 512), Meter("other", 512)
    fallback = FallbackVADProvider([one, other], BreakerSettings(first=0.0))
    await fallback.start()
    stream = fallback.open()
    one.error = ProviderError("one", "out of order")
    await hear(stream, ramp(3))
    one.error = None
    heard = other.heard
    await hear(stream, ramp(3))
    assert one.heard == 0  # not in mid-stream
    assert other.heard > heard
    stream.reset()
    assert await hear(stream, ramp(3)) == [0.0, 0.001, 0.002]
    assert one.heard == 3 * 512
    assert other.streams == 0
    assert fallback.stats()[0]["state"] == "ready"
    await fallback.close()


async def test_all_failing_is_the_first_ones_error() -> None:
    one, other = Meter("one", 512), Meter("other", 512)
    one.error, other.error = ProviderError("one", "gone"), KeyError()
    fallback = FallbackVADProvider([one, other])
    await fallback.start()
    stream = fallback.open()
    with pytest.raises(ProviderError, match="one: gone"):
        await hear(stream, ramp(3))
    one.error = None
    stream.reset()
    assert await hear(stream, ramp(3)) == [0.0, 0.001, 0.002]
    await fallback.close()


async def test_ten_minutes_keep_no_more_than_the_context() -> None:
    fallback = FallbackVADProvider([Meter("one", 512), Meter("other", 256)])
    await fallback.start()
    stream = fallback.open()
    minute = ramp(1_875)
    for _ in range(10):
        await hear(stream, minute, 19_200)
    kept = stream._listening  # type: ignore[attr-defined]  # what it holds is what is tested
    assert len(kept.audio) <= 2 * CONTEXT_SAMPLES + 19_200
    assert len(kept.peaks) <= 1
    await fallback.close()
