from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import soxr
from pydantic import ValidationError

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderUnavailable
from vixio.core.framing import Frame, Unpacker, pack
from vixio.providers.asr import SpeechHints
from vixio.providers.pocketsphinx.lexicon import Lexicon, to_arpabet
from vixio.providers.pocketsphinx.messages import MAX_PAYLOAD, Kind
from vixio.providers.pocketsphinx.provider import (
    FACTORY,
    PocketSphinxASRProvider,
    PocketSphinxSettings,
)
from vixio.testing.voices import Speaker, Voices

DICTIONARY = Path(str(resources.files("pocketsphinx"))) / "model" / "en-us" / "cmudict-en-us.dict"


def test_frames_survive_any_cut() -> None:
    sent = [
        Frame(Kind.OPEN, 7, b'{"a": 1}'),
        Frame(Kind.AUDIO, 7, bytes(range(256))),
        Frame(Kind.FINISH, 4_000_000_000, b""),
    ]
    data = b"".join(pack(*frame) for frame in sent)
    for size in (1, 3, 9, len(data)):
        unpacker = Unpacker(Kind, MAX_PAYLOAD)
        got = [
            frame
            for start in range(0, len(data), size)
            for frame in unpacker.feed(data[start : start + size])
        ]
        assert got == sent
    assert sent[0].json() == {"a": 1}


def test_malformed_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="frame"):
        list(Unpacker(Kind, MAX_PAYLOAD).feed(b"\3" + b"\0" * 4 + b"\xff\xff\xff\x7f"))


def test_words_come_from_the_dictionary_with_all_their_ways() -> None:
    lexicon = Lexicon(DICTIONARY, guess=False)
    lexicon.load(["the", "lamp"])
    assert lexicon.pronunciations("lamp") == ("L AE M P",)
    assert len(lexicon.pronunciations("the")) > 1
    assert lexicon.pronunciations("loudness") == ()


@pytest.mark.slow
def test_unknown_words_are_pronounced_by_espeak_in_the_models_phones() -> None:
    with DICTIONARY.open(encoding="utf-8") as file:
        known = {phone for line in file for phone in line.split()[1:]}
    unknown = ("vixio", "zigbee", "aquabot", "dehumidify")
    with closing(Lexicon(DICTIONARY, guess=True)) as lexicon:
        lexicon.load([*unknown, "loudness", "灯"])
        for word in unknown:
            (guessed,) = lexicon.pronunciations(word)
            assert set(guessed.split()) <= known
        assert lexicon.pronunciations("loudness") == ("L AW D N AH S",)
        assert lexicon.pronunciations("灯") == ()
    assert to_arpabet("ʘ") == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (PocketSphinxSettings(language="zh"), "no model for 'zh'"),
        (PocketSphinxSettings(model=Path("some/model")), "belong together"),
        (
            PocketSphinxSettings(model=Path("no/such"), dictionary=Path("no/such.dict")),
            "there is no no/such",
        ),
    ],
)
def test_what_cannot_work_says_so_before_it_starts(
    settings: PocketSphinxSettings, message: str
) -> None:
    with pytest.raises(ProviderUnavailable, match=message):
        FACTORY.create(settings)


@pytest.mark.parametrize("option", [{"rejection": 5}, {"workers": 0}, {"speed": 1}])
def test_wrong_options_are_refused(option: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FACTORY.settings_model.model_validate(option)


@pytest.mark.slow
async def test_a_broken_model_is_one_clear_error(tmp_path: Path) -> None:
    dictionary = tmp_path / "words.dict"
    dictionary.write_text("hello HH AH L OW\n")
    model = tmp_path / "model"
    model.mkdir()
    provider = PocketSphinxASRProvider(
        PocketSphinxSettings(model=model, dictionary=dictionary, workers=1)
    )
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.start()
    assert "\n" not in str(caught.value)
    await provider.close()


@pytest.mark.slow
async def test_a_command_with_other_speech_behind_it_is_none() -> None:
    said = {
        "good evening": "good evening",
        "good evening, please tell me something about the moon": "",
        "good morning, how far is it to the sun": "",
    }
    provider = PocketSphinxASRProvider(PocketSphinxSettings(workers=1))
    await provider.start()
    try:
        for text, heard in said.items():
            stream = provider.open(SpeechHints(language="en"))
            for frame in Voices(repeatable=True).say(
                text, Speaker("en-us", rate=160, pitch=50), seed=1
            ):
                await stream.feed(frame)
            assert (await stream.finish()).text == heard, text
            await stream.close()
    finally:
        await provider.close()


@pytest.mark.slow
async def test_silence_that_no_room_has_hides_no_word() -> None:
    """Noise suppression and DTX leave digital silence, of any length, before a word."""
    voices = Voices(repeatable=True)
    spoken = voices.speak("hello", Speaker("en-us", rate=150, pitch=50), seed=1)
    samples = np.frombuffer(spoken, "<i2").astype(np.float32) / 3
    word = soxr.resample(samples, voices.sample_rate, LISTEN_RATE).astype("<i2").tobytes()
    provider = PocketSphinxASRProvider(PocketSphinxSettings(workers=1))
    await provider.start()
    try:
        for silence_ms in (0, 40, 120, 200, 280, 360, 480, 560):
            stream = provider.open(SpeechHints((), "en"))
            silence = bytes(pcm_bytes(silence_ms / 1000, LISTEN_RATE))
            await stream.feed(silence + word + bytes(pcm_bytes(0.5, LISTEN_RATE)))
            assert (await stream.finish()).text == "hello", silence_ms
            await stream.close()
    finally:
        await provider.close()


@pytest.mark.slow
def test_the_server_does_not_load_the_library() -> None:
    code = (
        "import sys; from vixio.providers.pocketsphinx.provider import FACTORY;"
        "FACTORY.create(FACTORY.settings_model()); print('pocketsphinx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_a_worker_ends_with_its_input() -> None:
    import json
    from dataclasses import asdict

    from vixio.providers.pocketsphinx.provider import _worker_settings

    settings = json.dumps(asdict(_worker_settings(PocketSphinxSettings())))
    done = subprocess.run(
        [sys.executable, "-m", "vixio.providers.pocketsphinx.worker", settings],
        input=b"",
        capture_output=True,
        timeout=30,
        check=True,
    )
    (ready,) = Unpacker(Kind, MAX_PAYLOAD).feed(done.stdout)
    assert ready.kind is Kind.READY
