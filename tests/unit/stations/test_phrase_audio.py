"""The audio of recurring sentences: kept once it is whole, in bounded memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.stations.test_tts import RATE, Tone, reply_of
from vixio.core.chunk import AudioOut, Chunk, Sentence
from vixio.core.errors import ProviderError
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.providers.tts import TTSProvider
from vixio.stations.phrase_audio import MAX_BYTES, MAX_SENTENCE_BYTES, PhraseAudio, Spoken
from vixio.stations.tts import TTSStation

HELLO = Sentence(1, "Hello.", "Hello.", recurring=True)


class Noted(Tone):
    """Notes what it speaks, and may break off."""

    def __init__(self, name: str = "noted", amplitude: float = 9_000) -> None:
        super().__init__(name, amplitude)
        self.spoken: list[str] = []
        self.error: ProviderError | None = None

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.spoken.append(text)
        async for pcm in super().synthesize(text, language=language):
            yield pcm
            if pcm and self.error is not None:
                raise self.error


def pcm(chunks: list[Chunk]) -> bytes:
    return b"".join(chunk.pcm for chunk in chunks if isinstance(chunk, AudioOut))


def spoken(size: int) -> Spoken:
    return Spoken((bytes(size),), RATE, "v")


async def test_a_recurring_sentence_is_made_once() -> None:
    voice, phrases = Noted(), PhraseAudio()
    first = await reply_of(TTSStation(voice, loudness=None, phrases=phrases), HELLO)
    again = await reply_of(TTSStation(voice, loudness=None, phrases=phrases), HELLO)
    assert pcm(first) == pcm(again) != b""
    assert [chunk.sample_rate for chunk in again if isinstance(chunk, AudioOut)] == [RATE]
    assert voice.spoken == ["Hello."]
    once = Sentence(1, "Hello.", "Hello.")
    await reply_of(TTSStation(voice, loudness=None, phrases=phrases), once)
    await reply_of(TTSStation(voice, loudness=None, phrases=phrases), HELLO, language="de")
    assert voice.spoken == ["Hello."] * 3, "any other text, and another language, is made"


async def test_it_is_levelled_as_the_voice_is_known_by_then() -> None:
    """What is kept is what the voice made: its loudness is measured better each time."""
    voice, phrases = Noted(), PhraseAudio()
    levelled = await reply_of(TTSStation(voice, loudness=-20.0, phrases=phrases), HELLO)
    kept = phrases.get("en", "Hello.")
    assert kept is not None
    raw = await reply_of(TTSStation(Noted(), loudness=None), HELLO)
    assert b"".join(kept.pieces) == pcm(raw) != pcm(levelled)


async def test_a_voice_that_is_out_still_says_what_is_kept() -> None:
    voice, phrases = Noted(), PhraseAudio()
    await reply_of(TTSStation(voice, phrases=phrases), HELLO)
    voice.error = ProviderError("noted", "gone")
    assert pcm(await reply_of(TTSStation(voice, phrases=phrases), HELLO))


@pytest.mark.parametrize("how", ["fails", "is left"])
async def test_half_a_sentence_is_not_kept(how: str) -> None:
    voice, phrases = Noted(), PhraseAudio()
    station = TTSStation(voice, loudness=None, phrases=phrases)
    if how == "fails":
        voice.error = ProviderError("noted", "gone")
        with pytest.raises(ProviderError):
            await reply_of(station, HELLO)
    else:
        await reply_of(station, HELLO, leave_at_audio=True)
    assert phrases.size == 0


async def test_a_voice_that_stands_in_is_not_kept() -> None:
    first, second, phrases = Noted("first"), Noted("second", 3_000), PhraseAudio()

    def station() -> TTSStation:
        return TTSStation(voices, loudness=None, phrases=phrases)

    voices: TTSProvider = FallbackTTSProvider([first, second])
    await voices.start()
    first.error = ProviderError("first", "gone")
    await reply_of(station(), HELLO)
    other = Sentence(1, "Bye.", "Bye.", recurring=True)
    assert phrases.size == 0, "it broke off"
    voices = FallbackTTSProvider([first, second])
    await voices.start()
    first.error = None
    await reply_of(station(), other)
    assert phrases.size > 0
    assert first.spoken[-1] == "Bye."


def test_the_memory_is_bounded() -> None:
    phrases = PhraseAudio()
    for number in range(10):
        phrases.keep("en", str(number), spoken(MAX_SENTENCE_BYTES))
        phrases.get("en", "0")
    assert phrases.size == MAX_BYTES
    assert [number for number in range(10) if phrases.get("en", str(number))] == [0, 7, 8, 9]
    phrases.keep("en", "9", spoken(100))
    assert phrases.size == MAX_BYTES - MAX_SENTENCE_BYTES + 100
    phrases.keep("en", "long", spoken(MAX_SENTENCE_BYTES + 2))
    phrases.keep("en", "silence", spoken(0))
    assert phrases.get("en", "long") is phrases.get("en", "silence") is None
