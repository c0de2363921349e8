"""What is understood in Chinese: by the default set, and by what is installed; what is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from vixio.core.tools.toolset import ToolSet
from vixio.language.phrasebook import PhraseBook, signatures
from vixio_bench import speech_language
from vixio_bench.speech import does, main
from vixio_bench.speech_corpus import load_corpus
from vixio_bench.speech_language import LanguageReport, bench_language, language_table


def test_every_command_is_one_of_the_phrase_book_and_no_free_sentence_is() -> None:
    corpus, tools = load_corpus("chinese"), ToolSet()
    tools.replace("device", corpus.tools)
    phrases = PhraseBook.load("zh").compile(signatures(tools.definitions()))
    assert len(corpus.commands) >= 20
    assert [text for text, meant in corpus.commands if not does(phrases, text, meant)] == []
    assert [text for text in corpus.free if phrases.match(text)] == []


@pytest.mark.slow
async def test_the_default_install_says_that_it_hears_none_and_what_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(speech_language, "_is_here", lambda _: False)
    report = await bench_language("zh", limit=1, latency_samples=1)
    assert [each.asr for each in report.asr] == ["pocketsphinx"]
    assert report.asr[0].right == 0
    assert report.asr[0].commands == report.asr[0].free == 2  # in two voices
    told = language_table(report)
    assert "spoken by eSpeak NG, a robot" in told
    assert "pocketsphinx, of the default set, hears en, not zh" in told
    for line in ("sense-voice (230 MB)", "vixio models get sense-voice", "whisper (450 MB)"):
        assert line in told
    assert "NAME=kokoro" in told


@pytest.mark.slow
async def test_what_is_installed_is_measured_in_the_natural_voice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured: list[tuple[str, str]] = []

    async def noted(section: Any, _: object, *, voice: str, **options: object) -> Any:  # noqa: ANN401 - a report
        measured.append((section.name, voice))
        return one

    one = replace((await bench_language("zh", limit=1, latency_samples=1)).asr[0], outcomes=())
    monkeypatch.setattr(speech_language, "_is_here", lambda each: each.name != "sense-voice")
    monkeypatch.setattr(speech_language, "bench_set", noted)
    report = await bench_language("zh")
    assert measured == [("pocketsphinx", "xiaoxiao"), ("whisper", "xiaoxiao")]
    assert [line.partition(" ")[0] for line in report.missing] == ["sense-voice"]
    assert "a natural voice (kokoro)" in language_table(report)


def test_the_command_prints_text_or_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str]] = []

    async def measured(language: str, *, voice: str) -> LanguageReport:
        asked.append((language, voice))
        return LanguageReport(language, voice or "espeak", (), "", ("whisper: make",))

    monkeypatch.setattr(speech_language, "bench_language", measured)
    assert main(["--language", "zh"]) == 0
    assert "not installed:\n  whisper: make" in capsys.readouterr().out
    assert main(["--language", "zh", "--voice", "xiaoxiao", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == ["whisper: make"]
    assert asked == [("zh", ""), ("zh", "xiaoxiao")]
