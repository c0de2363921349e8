"""Several voices: the next one speaks from the first unspoken sentence on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

import numpy as np
import pytest

from vixio.core.errors import ProviderError
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.tts import FALLBACK_RATE, FallbackTTSProvider
from vixio.providers.tts import TTSProvider

LIMIT = 30.0
BROKEN = ProviderError("first", "out of order", reason="service")


class Voice(TTSProvider):
    """A tone of 300 Hz in uneven pieces; ``good`` pieces before it fails, or hangs."""

    def __init__(self, name: str, rate: int = 24_000, good: int = 1_000) -> None:
        self.name = name
        self.sample_rate = rate
        self.good = good
        self.hangs = False
        self.error: Exception = BROKEN
        self.spoken: list[str] = []
        self.running = 0

    async def start(self) -> None:
        pass

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.spoken.append(text)
        self.running += 1
        try:
            count = self.sample_rate // 2
            wave = 8_000 * np.sin(2 * np.pi * 300 / self.sample_rate * np.arange(count))
            pcm = wave.astype("<i2").tobytes()
            for number, at in enumerate(range(0, len(pcm), 1_001)):  # ends inside samples
                if number >= self.good:
                    if self.hangs:
                        await asyncio.sleep(1_000)
                    raise self.error
                yield pcm[at : at + 1_001]
        finally:
            self.running -= 1

    async def close(self) -> None:
        pass


def speech(voice: TTSProvider) -> AsyncGenerator[bytes, None]:
    """Return the iterator as the generator that the interface's "closing" implies."""
    return cast("AsyncGenerator[bytes, None]", voice.synthesize("x"))


async def say(voice: TTSProvider, text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    async with asyncio.timeout(LIMIT):
        pcm = b"".join([piece async for piece in voice.synthesize(text)])
    return np.frombuffer(pcm, dtype="<i2").astype(np.float64)


@pytest.mark.parametrize("error", [BROKEN, KeyError("x")])
async def test_before_the_first_sound_the_next_speaks_the_sentence(error: Exception) -> None:
    first, second = Voice("first", good=0), Voice("second")
    first.error = error
    fallback = FallbackTTSProvider([first, second])
    await fallback.start()
    turn = fallback.turn()
    assert len(await say(turn, "one")) == FALLBACK_RATE // 2
    assert turn.name == "second"
    assert first.spoken == second.spoken == ["one"]
    assert fallback.stats()[0]["state"] == "open"
    await fallback.close()


async def test_in_mid_sentence_what_was_heard_stays_and_the_rest_is_the_nexts() -> None:
    first, second = Voice("first", good=3), Voice("second")
    fallback = FallbackTTSProvider([first, second], breaker=BreakerSettings(first=0.0))
    await fallback.start()
    turn = fallback.turn()
    heard = await say(turn, "one")
    assert len(heard) == 3_003 // 2
    assert np.abs(heard[:-240]).max() > 7_000
    assert np.abs(np.diff(heard)).max() < 1_500  # it fades out: an edge would be a click
    assert abs(heard[-1]) < 100
    assert len(await say(turn, "two")) == FALLBACK_RATE // 2
    first.good = 1_000
    assert len(await say(turn, "three")) == FALLBACK_RATE // 2
    assert first.spoken == ["one"]  # not within this turn, though its pause is over
    assert second.spoken == ["two", "three"]
    assert len(await say(fallback.turn(), "four")) == FALLBACK_RATE // 2
    assert first.spoken == ["one", "four"]
    await fallback.close()


class Whole(Voice):
    """Learns of the reply."""

    def __init__(self, name: str, good: int = 1_000) -> None:
        super().__init__(name, good=good)
        self.learned: list[str] = []

    def expect(self, text: str, *, language: str = "", emotion: str = "") -> None:
        self.learned.append(f"{text} {emotion}")

    def complete(self) -> None:
        self.learned.append("complete")

    async def leave(self) -> None:
        self.learned.append("leave")


async def test_the_next_one_learns_of_what_is_still_to_be_spoken() -> None:
    first, second = Whole("first", good=3), Whole("second")
    fallback = FallbackTTSProvider([first, second])
    await fallback.start()
    turn = fallback.turn()
    turn.expect("one", emotion="happy")
    turn.expect("two", emotion="sad")
    await say(turn, "one")  # breaks off
    turn.expect("three")
    assert len(await say(turn, "two")) == FALLBACK_RATE // 2
    turn.expect("four")
    turn.complete()
    for text in ("three", "not expected", "four"):
        await say(turn, text)
    await turn.leave()
    assert first.learned == ["one happy", "two sad", "leave"]
    assert second.learned == ["two sad", "three ", "four ", "complete", "leave"]
    await fallback.close()


async def test_a_failure_before_the_first_sound_takes_the_sentence_along() -> None:
    first, second = Whole("first", good=0), Whole("second")
    fallback = FallbackTTSProvider([first, second])
    await fallback.start()
    turn = fallback.turn()
    turn.expect("one")
    assert len(await say(turn, "one")) == FALLBACK_RATE // 2
    await turn.leave()
    assert first.learned == second.learned == ["one ", "leave"]
    await fallback.close()


async def test_the_last_one_breaking_off_is_an_error() -> None:
    fallback = FallbackTTSProvider([Voice("first", good=0), Voice("second", good=3)])
    await fallback.start()
    with pytest.raises(ProviderError):
        await say(fallback, "one")
    await fallback.close()


async def test_all_failing_tells_the_first_ones_reason() -> None:
    fallback = FallbackTTSProvider([Voice("first", good=0), Voice("second", good=0)])
    await fallback.start()
    with pytest.raises(ProviderError, match="first: out of order"):
        await say(fallback, "one")
    await fallback.close()


async def test_one_that_hangs_has_its_share_of_the_time() -> None:
    first, second = Voice("first", good=0), Voice("second")
    first.hangs = True
    fallback = FallbackTTSProvider([first, second], seconds=1.0)
    await fallback.start()
    assert len(await say(fallback, "one")) == FALLBACK_RATE // 2
    assert first.running == 0
    assert fallback.stats()[0]["reason"] == "timeout"
    await fallback.close()


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
async def test_every_rate_becomes_the_lists_without_a_click(rate: int) -> None:
    fallback = FallbackTTSProvider([Voice("first", rate)])
    await fallback.start()
    heard = await say(fallback, "one")
    assert abs(len(heard) - FALLBACK_RATE // 2) <= 2
    # The ends apart, it is the very tone: a click would stand out of it.
    middle = slice(600, len(heard) - 600)
    tone = 8_000 * np.sin(2 * np.pi * 300 / FALLBACK_RATE * np.arange(len(heard)))
    assert float(np.max(np.abs(heard[middle] - tone[middle]))) < 40
    await fallback.close()


async def test_voices_of_one_name_are_told_apart() -> None:
    """Their loudness differs, and is remembered by name."""
    first = Voice("same")
    fallback = FallbackTTSProvider([first, Voice("same")])
    await fallback.start()
    turn = fallback.turn()
    await say(turn, "one")
    assert turn.name == "same[0]"
    first.good = 0
    await say(turn, "two")
    assert turn.name == "same[1]"
    await fallback.close()


async def test_who_stops_listening_says_nothing_against_the_voice() -> None:
    first = Voice("first")
    fallback = FallbackTTSProvider([first, Voice("second")])
    await fallback.start()
    for taken in (0, 1, 2):
        async with aclosing(speech(fallback)) as pieces:
            for _ in range(taken):
                await anext(pieces)
        assert first.running == 0
    assert fallback.stats()[0]["state"] == "ready"
    assert fallback.stats()[0]["served"] == 2
    await fallback.close()
