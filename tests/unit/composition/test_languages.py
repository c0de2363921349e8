"""Languages that the configuration cannot hear, speak or find words in, and what is advised."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from vixio.composition.languages import (
    gaps,
    hearing,
    known_languages,
    log_gaps,
    speaking,
    understanding,
    understood_without_models,
)
from vixio.core.extras import checkout, how_to_install
from vixio.core.language_tags import covers
from vixio.providers import registry
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.settings import Settings
from vixio.settings.provider import ASRSection, TTSSection

OPENAI = {"name": "openai", "api_key": "k"}


def of(language: str, **sections: object) -> Settings:
    return Settings.model_validate({"assistant": {"language": language}, **sections})


@pytest.mark.parametrize(
    ("section", "languages"),
    [
        ({"name": "pocketsphinx"}, {"en"}),
        ({"name": "moonshine"}, {"en"}),
        ({"name": "whisper", "language": "en-GB"}, {"en"}),
        ({"name": "whisper", "model": "somewhere"}, None),
        ({"name": "funasr-server"}, None),
        ({"name": "funasr-server", "language": "yue"}, {"yue"}),
        (OPENAI, None),
        ({**OPENAI, "language": "de"}, {"de"}),
        ({"name": "combined", "speech": {"name": "moonshine"}}, {"en"}),
        ({"name": "combined", "speech": OPENAI}, None),
        ([{"name": "moonshine"}, {"name": "whisper", "language": "zh"}], {"en", "zh"}),
        ([{"name": "moonshine"}, OPENAI], None),
        ({"name": "sherpa-onnx", "folder": "nowhere"}, None),
    ],
)
def test_what_recognisers_hear(section: object, languages: set[str] | None) -> None:
    assert known_languages(ASRSection.model_validate(section)) == languages


def test_what_voices_speak() -> None:
    def spoken(**section: object) -> set[str] | None:
        known = known_languages(TTSSection.model_validate(section))
        return None if known is None else set(known)

    assert spoken(name="piper") == {"en"}
    assert spoken(name="kokoro") == {"en", "es", "fr", "hi", "it", "pt", "zh"}
    assert spoken(name="kokoro", voice="ff_siwis", voices={}) == {"fr"}
    assert spoken(name="openai", api_key="k") is None
    espeak = spoken(name="espeak")
    assert espeak is not None
    assert espeak >= {"en", "zh", "de", "no", "yue"}
    assert "xx" not in espeak
    assert "ja" not in espeak, "of which it reads the kana only"


def test_whisper_hears_many() -> None:
    known = known_languages(ASRSection.model_validate({"name": "whisper"}))
    assert known is not None
    assert len(known) > 90
    assert all(covers(known, tag) for tag in ("zh-TW", "cmn", "en", "nb-NO", "de-AT"))


def test_the_languages_of_whisper_are_those_of_its_library() -> None:
    tokenizer = pytest.importorskip("faster_whisper.tokenizer", reason="of the extra whisper")
    known = known_languages(ASRSection.model_validate({"name": "whisper"}))
    assert known is not None
    assert covers(known, "yue") is False, "of large-v3 alone"
    assert all(covers(known, tag) for tag in set(tokenizer._LANGUAGE_CODES) - {"yue"})


def test_the_default_hears_english_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(gaps(Settings())) == []
    root = checkout()
    assert root is not None
    monkeypatch.chdir(root)
    (gap,) = gaps(of("zh-CN"))
    assert gap.fact == "pocketsphinx hears en, not zh-CN"
    assert gap.advice == (
        f"`{how_to_install('whisper', 'kokoro')}` and "
        "`vixio serve --config config/natural-zh.yaml`, or `vixio models get sense-voice`, or "
        "`vixio setup --language zh` (docs/speech.md#ears-and-voices)"
    )


def test_a_recogniser_set_to_another_language() -> None:
    gap = hearing(of("zh-CN", asr={"name": "whisper", "language": "en"}))
    assert gap is not None
    assert gap.advice.startswith("remove asr.language or set assistant.language alike, or `")
    assert hearing(of("zh-CN", asr={"name": "whisper"})) is None


def test_a_language_that_nothing_known_speaks() -> None:
    gap = speaking(of("tlh", tts={"name": "piper"}))
    assert gap is not None
    assert str(gap) == (
        "piper speaks en, not tlh: set `tts` to a voice that knows tlh "
        "(docs/speech.md#ears-and-voices)"
    )


def test_a_language_without_a_phrase_book() -> None:
    gap = understanding(of("ko"))
    assert gap is not None
    assert str(gap) == (
        "phrasebook understands de, en, es, fr, ja, zh, not ko, so it can only apologise: "
        "set `agent` to a language model (`vixio setup`)"
    )
    assert understanding(of("de-AT")) is None
    assert understanding(of("ko", agent=OPENAI)) is None
    fixed = understanding(of("de", agent={"name": "phrasebook", "language": "en"}))
    assert fixed is not None
    assert fixed.advice.startswith("remove agent.language or set assistant.language alike, or ")


def test_behind_a_model_the_phrase_book_is_no_gap_at_start() -> None:
    models = [OPENAI, {"name": "phrasebook"}]
    settings = of("ko", asr=OPENAI, agent={"name": "fallback", "models": models})
    assert list(gaps(settings)) == []
    gap = understood_without_models(settings)
    assert gap is not None
    assert gap.fact == (
        "phrasebook understands de, en, es, fr, ja, zh, not ko, so it cannot stand in"
    )
    assert understood_without_models(of("fr", agent=settings.agent.given())) is None


def test_devices_have_languages_too() -> None:
    devices: dict[str, Any] = {"02:*": {"language": "fr"}, "04:*": {"language": "fr"}, "06:*": {}}
    found = [gap.fact for gap in gaps(of("en", devices=devices))]
    assert found == ["pocketsphinx hears en, not fr"], "once"
    devices = {"02:*": {"language": "fr", "asr": OPENAI}}
    assert list(gaps(of("en", devices=devices))) == []


def test_messages_of_a_folder(tmp_path: Path) -> None:
    (gap,) = gaps(of("nl", asr=OPENAI, agent=OPENAI))
    assert gap.fact == "there is no catalogue of messages in nl, English ones are used"
    (tmp_path / "nl.po").write_text('msgid "done"\nmsgstr "Klaar."\n', encoding="utf-8")
    own = {"language": "nl", "messages": str(tmp_path)}
    assert list(gaps(of("nl", assistant=own, asr=OPENAI, agent=OPENAI))) == []


def test_a_provider_of_others_that_fails_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    class Options(BaseModel):
        pass

    def fails(_: Options) -> Any:  # noqa: ANN401 - never returns
        raise RuntimeError("no such file")

    factory = ProviderFactory(Options, lambda _: None, languages=fails)
    monkeypatch.setattr(registry, "resolve", lambda kind, name: factory)
    section = ASRSection(name="theirs", options=Options())
    assert section.kind is ProviderKind.ASR
    assert known_languages(section) is None


def test_each_gap_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        log_gaps(of("nl"))
    fields = [record.__dict__ for record in caplog.records]
    assert [each["language"] for each in fields] == ["nl", "nl", "nl"]
    assert fields[0]["reason"] == "pocketsphinx hears en, not nl"
    assert fields[1]["reason"].startswith("phrasebook understands de, en, es, fr, ja, zh, not nl")
    assert fields[2]["advice"].startswith("add nl.po to a folder")
    assert {record.getMessage() for record in caplog.records} == {
        "the configuration does not fit the language"
    }
