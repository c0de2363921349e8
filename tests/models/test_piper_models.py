"""Piper keeps the contract of voices, with its real package and voices that beep."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.models.needs import needs
from tests.models.tiny_voice import RATE, make_piper
from vixio.core.errors import ProviderUnavailable
from vixio.providers.piper.phonemes import EspeakPhonemes
from vixio.providers.piper.provider import PiperSettings, PiperTTSProvider
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract
from vixio.testing.contract.base import LIMIT, Creator
from vixio.testing.contract.tts import SENTENCE, say

pytestmark = needs("piper", "piper", "onnx")


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("voices")
    return {kind: make_piper(base / kind, kind) for kind in ("text", "espeak")}


class TestPiper(TTSContract):
    @pytest.fixture(params=["espeak", "text"])
    def creator(
        self, request: pytest.FixtureRequest, voices: dict[str, Path]
    ) -> Creator[TTSProvider]:
        @asynccontextmanager
        async def create() -> AsyncIterator[TTSProvider]:
            yield PiperTTSProvider(PiperSettings(model=voices[request.param], threads=1))

        return create


async def length(settings: PiperSettings, text: str = SENTENCE) -> int:
    tts = PiperTTSProvider(settings)
    await tts.start()
    try:
        assert tts.sample_rate == RATE
        return len(await say(tts, text))
    finally:
        await tts.close()


async def test_length_scale_is_the_voices(voices: dict[str, Path]) -> None:
    whole = await length(PiperSettings(model=voices["text"]))
    half = await length(PiperSettings(model=voices["text"], length_scale=0.5))
    assert half == pytest.approx(whole / 2, rel=0.05)


async def test_brackets_are_no_phonemes(voices: dict[str, Path]) -> None:
    plain = await length(PiperSettings(model=voices["espeak"]), "one two three")
    marked = await length(PiperSettings(model=voices["espeak"]), "one [[t]] two three")
    assert marked > plain


@pytest.mark.parametrize("language", ["ar", "ne", "gu"])
async def test_texts_that_crash_espeak_end_nothing(tmp_path: Path, language: str) -> None:
    """The eSpeak NG of piper-tts is not loaded: it would run in this process."""
    model = make_piper(tmp_path / "voice", "espeak", language)
    tts = PiperTTSProvider(PiperSettings(model=model, threads=1))
    await tts.start()
    try:
        plain = len(await say(tts, "one two three"))
        assert plain
        for symbols in ("\u28ff", "\u24dc", "\u28ff\u24dc" * 40):
            await say(tts, symbols)
            assert len(await say(tts, f"one two three {symbols}")) >= plain
    finally:
        await tts.close()
    assert "piper.espeakbridge" not in sys.modules


async def test_the_phonemes_are_those_of_pipers_own_espeak() -> None:
    # In a process of its own, which is never to be this one.
    program = """
import sys
from piper.phonemize_espeak import EspeakPhonemizer
print(*map("".join, EspeakPhonemizer().phonemize("en-us", sys.argv[1])), sep="\\n")
"""
    text = "Hello, world! It is twelve; isn't it? That is all"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, text, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), LIMIT)
    described = SimpleNamespace(espeak_voice="en-us", vowel_clusters=None)
    with closing(EspeakPhonemes("piper", described)) as phonemes:
        assert ["".join(each) for each in phonemes.of(text)] == output.decode().splitlines()


@pytest.mark.parametrize("speaker", ["", "ann", "bob", "1"])
async def test_a_speaker_has_a_name_or_a_number(voices: dict[str, Path], speaker: str) -> None:
    assert await length(PiperSettings(model=voices["text"], speaker=speaker))


async def test_an_invalid_voice_is_an_error(voices: dict[str, Path], tmp_path: Path) -> None:
    async def refused(match: str, settings: PiperSettings) -> None:
        tts = PiperTTSProvider(settings)
        with pytest.raises(ProviderUnavailable, match=match):
            await tts.start()
        await tts.close()

    model, config = voices["text"], Path(f"{voices['text']}.json")
    await refused("no speaker 'eve'", PiperSettings(model=model, speaker="eve"))
    other = tmp_path / "other.onnx"
    other.write_bytes(b"no model")
    await refused("cannot load", PiperSettings(model=other, config=config))
    other.write_text("{}", encoding="utf-8")
    await refused("does not describe a voice", PiperSettings(model=model, config=other))
