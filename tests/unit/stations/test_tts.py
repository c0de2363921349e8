"""The TTS station: every voice at the same loudness, or unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from vixio.audio.loudness import VoiceLevels
from vixio.core.audio import pcm_seconds
from vixio.core.chunk import AudioOut, Chunk, Emotion, Sentence, SentenceFailed
from vixio.core.errors import REQUEST, ProviderError
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.streams import closing
from vixio.core.tools.toolset import ToolSet
from vixio.providers.tts import TTSProvider
from vixio.stations.tts import CLAUSE_PAUSE_S, MAX_FAILED, SENTENCE_PAUSE_S, TTSStation

RATE = 16_000


class Tone(TTSProvider):
    """Speaks every sentence as one long piece of a tone."""

    sample_rate = RATE

    def __init__(self, name: str, amplitude: float) -> None:
        self.name = name
        self.amplitude = amplitude

    async def start(self) -> None:
        pass

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        wave = self.amplitude * np.sin(2 * np.pi * 200 / RATE * np.arange(3 * RATE))
        yield b""
        yield wave.astype("<i2").tobytes()

    async def close(self) -> None:
        pass


async def pieces(voice: TTSProvider, loudness: float | None, levels: VoiceLevels) -> list[bytes]:
    spoken = await station_output(TTSStation(voice, loudness=loudness, levels=levels), "One.")
    return [chunk.pcm for chunk in spoken if isinstance(chunk, AudioOut)]


async def station_output(station: TTSStation, *texts: str) -> list[Chunk]:
    return await reply_of(station, *(Sentence(1, text, text) for text in texts))


async def reply_of(
    station: TTSStation, *sentences: Chunk, language: str = "en", leave_at_audio: bool = False
) -> list[Chunk]:
    """Return what the station makes of a reply; to its first audio if it is left there."""
    context = StationContext(
        "s", "d", History(), ToolSet(), Counters(), lambda work: work.close(), language=language
    )

    async def emit(chunks: object) -> None:
        pass

    async def reply() -> AsyncIterator[Chunk]:
        for sentence in sentences:
            yield sentence

    station.bind(context, emit)
    made: list[Chunk] = []
    async with closing(station.run(reply())) as chunks:
        async for chunk in chunks:
            made.append(chunk)
            if leave_at_audio and isinstance(chunk, AudioOut):
                break
    return made


def rms(spoken: list[bytes]) -> float:
    samples = np.frombuffer(b"".join(spoken), dtype="<i2").astype(np.float64)
    assert len(samples) == 3 * RATE
    return float(20 * np.log10(np.sqrt((samples**2).mean()) / 32_768))


@pytest.mark.parametrize("amplitude", [2_000.0, 20_000.0])
async def test_every_voice_at_the_same_loudness(amplitude: float) -> None:
    levels = VoiceLevels()
    spoken = await pieces(Tone("a", amplitude), -18.0, levels)
    assert len(spoken) >= 3  # a long piece is taken in parts
    assert rms(spoken) == pytest.approx(-18.0, abs=1.0)
    assert levels.of("a/en").seconds > 2.5


async def test_without_a_target_the_loudness_is_unchanged() -> None:
    spoken = await pieces(Tone("a", 20_000.0), None, VoiceLevels())
    assert len(spoken) == 1
    assert rms(spoken) == pytest.approx(20 * np.log10(20_000 / 32_768 / np.sqrt(2)), abs=0.01)


class Failing(Tone):
    """Fails at the texts that are keys of ``errors``."""

    def __init__(self, errors: dict[str, ProviderError]) -> None:
        super().__init__("a", 2_000.0)
        self.errors = errors

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        if text in self.errors:
            raise self.errors[text]
        async for pcm in super().synthesize(text):
            yield pcm


def refused(text: str, reason: str = REQUEST) -> ProviderError:
    return ProviderError("a", f"cannot speak {text}", reason=reason)


async def outline(errors: dict[str, ProviderError], *texts: str) -> list[str]:
    """The chunks that follow from ``texts``, in short; audio as a star."""
    station = TTSStation(Failing(errors), loudness=None)
    made: list[str] = []
    for chunk in await station_output(station, *texts):
        if isinstance(chunk, SentenceFailed):
            made.append(f"no {chunk.text}")
            assert (chunk.reason, chunk.detail) == (REQUEST, f"a: cannot speak {chunk.text}")
        else:
            made.append(chunk.text if isinstance(chunk, Sentence) else "*")
    return made


async def test_a_text_that_cannot_be_spoken_is_left_out() -> None:
    errors = {text: refused(text) for text in "ACD"}
    assert await outline(errors, *"ABCDE") == [
        *("A", "no A", "B", "*"),
        *("C", "no C"),
        *("D", "no D"),
        "E",
        "*",
    ]


async def test_a_voice_that_cannot_speak_at_all_fails() -> None:
    errors = {text: refused(text) for text in "ABCDE"}
    for texts in ("A", "AB"):
        with pytest.raises(ProviderError, match=f"cannot speak {texts[-1]}"):
            await outline(errors, *texts)
    with pytest.raises(ProviderError, match=f"cannot speak {'ABCDE'[MAX_FAILED - 1]}"):
        await outline(errors, *"ABCDE")


async def test_a_failure_that_is_not_the_texts_ends_the_reply() -> None:
    with pytest.raises(ProviderError, match="cannot speak B"):
        await outline({"B": refused("B", "service")}, *"ABC")


@pytest.mark.parametrize("pauses", [True, False])
async def test_a_voice_without_pauses_gets_them_between_sentences(pauses: bool) -> None:
    """Not in front of the first one, and the length fits the mark behind the words."""
    voice = Tone("robot", 5_000)
    voice.pauses = pauses
    made = await station_output(TTSStation(voice, loudness=None), "One,", '"Two."', "三，", "Four")
    lengths: list[list[float]] = []
    for chunk in made:
        if isinstance(chunk, Sentence):
            lengths.append([])
        elif isinstance(chunk, AudioOut):
            silent = not any(chunk.pcm)
            lengths[-1].append(round(pcm_seconds(chunk.pcm, RATE), 2) * (-1 if silent else 1))
    between = [] if pauses else [[-CLAUSE_PAUSE_S], [-SENTENCE_PAUSE_S], [-CLAUSE_PAUSE_S]]
    fronts = [[], *between] if between else [[]] * 4
    assert lengths == [[*front, 3.0] for front in fronts]


async def test_a_silence_that_there_was_anyway_counts_as_the_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind a tool that took long, the answer begins at once."""
    clock = [100.0]
    monkeypatch.setattr("vixio.stations.tts.now", lambda: clock[0])

    class Slow(Tone):
        async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
            clock[0] += float(text)
            async for pcm in super().synthesize(text):
                yield pcm

    voice = Slow("robot", 5_000)
    voice.pauses = False
    # The three seconds of the first are over after three; 0.1 s of silence are there already.
    made = await station_output(TTSStation(voice, loudness=None), "0", "3.1", "10")
    silent = [
        round(pcm_seconds(chunk.pcm, RATE), 2)
        for chunk in made
        if isinstance(chunk, AudioOut) and not any(chunk.pcm)
    ]
    assert silent == [round(SENTENCE_PAUSE_S - 0.1, 2)]


class Recording(Tone):
    """Notes what it is given to speak."""

    def __init__(self) -> None:
        super().__init__("recording", 1_000)
        self.spoken: list[str] = []

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.spoken.append(text)
        async with closing(super().synthesize(text, language=language)) as pieces_:
            async for pcm in pieces_:
                yield pcm


@pytest.mark.parametrize(("normalise", "spoken"), [(True, "At 8 oh 5."), (False, "At 8:05.")])
async def test_numbers_are_read_and_shown_as_they_are_written(normalise: bool, spoken: str) -> None:
    voice = Recording()
    made = await station_output(TTSStation(voice, loudness=None, normalise=normalise), "At 8:05.")
    assert voice.spoken == [spoken]
    assert [chunk.text for chunk in made if isinstance(chunk, Sentence)] == ["At 8:05."]


async def test_numbers_are_read_in_the_language_of_the_session() -> None:
    voice = Recording()
    station = TTSStation(voice, loudness=None, normalise=True)
    await reply_of(station, Sentence(1, "12:30", "12:30"), language="zh-CN")
    assert voice.spoken == ["十二点三十分"]


class Whole(Tone):
    """Speaks a reply in one piece, and notes what it learns of it."""

    def __init__(self) -> None:
        super().__init__("whole", 8_000)
        self.heard: list[str] = []

    def turn(self) -> TTSProvider:
        self.heard.append("turn")
        return self

    def expect(self, text: str, *, language: str = "", emotion: str = "") -> None:
        self.heard.append(f"expect {text} {language} {emotion}".strip())

    def complete(self) -> None:
        self.heard.append("complete")

    async def leave(self) -> None:
        self.heard.append("leave")

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        self.heard.append(text)
        async for pcm in super().synthesize(text, language=language):
            yield pcm


async def test_a_voice_learns_of_the_reply_before_it_speaks() -> None:
    voice = Whole()
    station = TTSStation(voice, normalise=True)
    made = await reply_of(
        station,
        Emotion(1, "happy", "\U0001f642"),
        Sentence(1, "At 8:05.", "At 8:05."),
        Sentence(1, "Yes.", "Yes.", recurring=True),
        Emotion(1, "sad", "\U0001f614"),
        Sentence(1, "No.", "No."),
    )
    assert any(isinstance(chunk, Emotion) for chunk in made)
    expected, spoken = "expect At 8 oh 5. en happy", "At 8 oh 5."
    assert voice.heard.index(expected) < voice.heard.index(spoken)
    assert [each for each in voice.heard if each.startswith("expect")] == [
        expected,
        "expect No. en sad",  # what recurs has a sound of its own, which is kept
    ]
    assert voice.heard[-1] == "leave"
    assert voice.heard.count("complete") == 1


async def test_a_reply_that_is_left_is_told_to_the_voice() -> None:
    voice = Whole()
    await reply_of(TTSStation(voice), Sentence(1, "One.", "One."), leave_at_audio=True)
    assert voice.heard[-1] == "leave"
