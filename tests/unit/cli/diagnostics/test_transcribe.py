"""A file is heard utterance by utterance, and what it took is told."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import numpy as np
import pytest

from tests.unit.cli.diagnostics.kit import Kit
from vixio.cli.diagnostics.audio_file import WavWriter
from vixio.cli.diagnostics.providers import Timing
from vixio.cli.diagnostics.room import NOISE_DB, Room
from vixio.cli.diagnostics.transcribe import Listener, longest_utterance, transcribe
from vixio.cli.diagnostics.utterances import Utterance
from vixio.core.audio import LISTEN_RATE, pcm_seconds
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.asr import ASRStream, Recognition, SpeechHints
from vixio.settings import Settings


def recording(path: Path, *parts: tuple[float, bool]) -> Path:
    """A file of tones (true) and silence, each of so many seconds."""
    with WavWriter(path, LISTEN_RATE) as file:
        for seconds, loud in parts:
            tone = np.sin(np.arange(round(seconds * LISTEN_RATE)) / 5) * (8_000 if loud else 0)
            file.write(tone.astype("<i2").tobytes())
    return path


class Log:
    """All that a listener is told."""

    def __init__(self) -> None:
        self.progress: list[str] = []
        self.partials: list[str] = []
        self.heard: list[tuple[float, Recognition]] = []

    def listener(self) -> Listener:
        return Listener(self.progress.append, self.partials.append, self._heard)

    def _heard(self, utterance: Utterance, recognition: Recognition) -> None:
        self.heard.append((utterance.start, recognition))


async def hear(path: Path, log: Log, **settings: dict[str, object]) -> Timing:
    return await transcribe(
        Settings.model_validate(settings), path, language="de", listener=log.listener()
    )


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return recording(
        tmp_path / "two.wav", (1.0, False), (1.0, True), (1.0, False), (1.0, True), (0.2, False)
    )


async def test_two_utterances(kit: Kit, two: Path) -> None:
    kit.asr.script = ["guten tag", Recognition("", rejected=True)]
    log = Log()
    timing = await hear(two, log)
    assert [each.text for _, each in log.heard] == ["guten tag", ""]
    assert [start for start, _ in log.heard] == pytest.approx([0.7, 2.7], abs=0.1)
    assert timing.audio == pytest.approx(4.2)
    assert timing.first is not None
    assert timing.first <= timing.total
    assert [hints.language for hints in kit.asr.hints] == ["de", "de"]
    assert {tool.name for tool in kit.asr.hints[0].tools} >= {"get_time", "self.lamp.turn_on"}
    assert sorted(kit.closed) == ["asr", "vad"]
    assert (kit.vad.open_streams, kit.asr.open_streams) == (0, 0)
    assert "all after" in timing.described("first words")


async def test_long_speech_is_cut_below_the_bound(kit: Kit, tmp_path: Path) -> None:
    path = recording(tmp_path / "long.wav", (7.0, True))
    log = Log()
    await hear(path, log, listening={"max_utterance_ms": 2_000})
    lengths = [pcm_seconds(pcm, LISTEN_RATE) for pcm in kit.asr.utterances]
    assert max(lengths) <= 2.0
    assert sum(lengths) == pytest.approx(7.8, abs=0.5)


def test_a_recogniser_with_a_bound_of_its_own() -> None:
    assert longest_utterance(Settings.model_validate({"asr": {"max_seconds": 5}})) == 5
    assert longest_utterance(Settings.model_validate({"asr": {"max_seconds": 90}})) == 30
    several = Settings.model_validate({"asr": [{"max_seconds": 20}, {"max_seconds": 10}]})
    assert longest_utterance(several) == 10


class Partials(ASRStream):
    """One more word after each half second, and the last one while the end is awaited."""

    def __init__(self) -> None:
        self.fed = 0
        self.closed = False

    async def feed(self, pcm: bytes) -> None:
        self.fed += len(pcm)
        self.partial = " ".join(["word"] * (self.fed // LISTEN_RATE))

    async def finish(self) -> Recognition:
        self.partial = "all words"
        await asyncio.sleep(0.15)  # longer than partial results are looked at
        return Recognition("All words.")

    async def close(self) -> None:
        self.closed = True


async def test_partial_results_are_shown_as_they_change(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Partials()
    monkeypatch.setattr(kit.asr, "open", lambda hints: stream)
    log = Log()
    await hear(recording(tmp_path / "a.wav", (1.3, True)), log)
    assert log.partials[:2] == ["word", "word word"]
    assert log.partials[-1] == "all words"
    assert len(set(log.partials)) == len(log.partials)
    assert stream.closed


async def test_silence_has_no_words(kit: Kit, tmp_path: Path) -> None:
    log = Log()
    timing = await hear(recording(tmp_path / "a.wav", (3.0, False)), log)
    assert (log.heard, timing.first) == ([], None)
    assert timing.described("first words").startswith("3.00 s of audio: loaded in ")


@pytest.mark.parametrize("part", ["vad", "asr"])
async def test_what_fails_is_told_and_closed(kit: Kit, two: Path, part: str) -> None:
    error = ProviderError(part, "it is broken")
    if part == "vad":
        kit.vad.error = error
    else:
        kit.asr.script = [error]
    with pytest.raises(ProviderError, match="it is broken"):
        await hear(two, Log())
    assert sorted(kit.closed) == ["asr", "vad"]
    assert (kit.vad.open_streams, kit.asr.open_streams) == (0, 0)


async def test_words_that_never_come(kit: Kit, two: Path) -> None:
    kit.asr.delay = 60.0
    with pytest.raises(ProviderTimeout, match=r"scripted: no words within 0\.05 s"):
        await hear(two, Log(), timeouts={"asr": 0.05})
    assert kit.asr.open_streams == 0


def test_the_room_is_quiet() -> None:
    noise = np.frombuffer(Room().silence(), "<i2").astype(float)
    level = 20 * math.log10(float(np.sqrt(np.mean(noise**2))) / 32_768)
    assert level == pytest.approx(NOISE_DB, abs=0.5)
    assert Room().silence() == Room().silence()


async def test_hints_fit_a_recogniser(kit: Kit) -> None:
    from vixio.cli.diagnostics.providers import usual_hints

    hints = usual_hints("en")
    assert isinstance(hints, SpeechHints)
    assert all(tool.alias for tool in hints.tools)
