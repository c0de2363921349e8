"""The benchmark's short form: a handful of held-out sentences; all of them: make bench-speech."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from vixio.language.phrasebook import PhraseBook, signatures
from vixio.testing.voices import Voices
from vixio_bench import speech
from vixio_bench.speech_corpus import CORPORA, Corpus, load_corpus
from vixio_bench.speech_report import table


@pytest.mark.parametrize(
    ("of_tuning", "of_figures", "least"),
    [("tuning", "held-out", 40), ("values-tuning", "values", 15)],
)
def test_the_sets_share_no_sentence_no_voice_and_no_speed(
    of_tuning: str, of_figures: str, least: int
) -> None:
    def sentences(said: Corpus) -> set[str]:
        known = (text for text, _ in (*said.commands, *said.final))
        return {*known, *said.free, *said.not_final}

    tuning, held_out = load_corpus(of_tuning), load_corpus(of_figures)
    assert not sentences(tuning) & sentences(held_out)
    assert not {s.voice for s in tuning.speakers} & {s.voice for s in held_out.speakers}
    assert not {s.rate for s in tuning.speakers} & {s.rate for s in held_out.speakers}
    assert len(held_out.commands) >= least
    assert len(held_out.free) >= least


@pytest.mark.parametrize("name", CORPORA)
def test_the_phrase_book_knows_each_command_and_no_other_sentence(name: str) -> None:
    said = load_corpus(name)
    phrases = PhraseBook.load("en").compile(signatures(said.tools))
    assert [text for text, meant in said.commands if not speech.does(phrases, text, meant)] == []
    assert [text for text in said.free if phrases.match(text) is not None] == []


@pytest.mark.slow
async def test_a_handful_of_held_out_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    # A woman and a man of the five, the same in each run.
    two = replace(load_corpus("held-out"), speakers=load_corpus("held-out").speakers[1:3])
    monkeypatch.setattr(speech, "load_corpus", lambda _: two)
    monkeypatch.setattr(speech, "Voices", partial(Voices, repeatable=True))
    report = await speech.bench_speech(limit=4, latency_samples=1)
    assert report.in_grammar == report.out_of_grammar == 4 * 2
    # Few sentences, so looser than the marks of the whole; a broken recogniser is far below.
    assert report.right >= 0.7 * report.in_grammar
    assert report.acted <= 0.15 * report.out_of_grammar
    assert report.finality.final == report.finality.not_final == 4 * 2
    assert report.finality.understood >= 0.6 * report.finality.final
    assert report.finality.taken <= 0.15 * report.finality.not_final
    strict, lax = report.curve[0], report.curve[-1]
    assert strict.right <= lax.right
    assert strict.acted <= lax.acted
    assert report.latency_p50 > 0  # how long is for the benchmark itself: the machine may be busy
    assert "held-out" in table(report, errors=True)
