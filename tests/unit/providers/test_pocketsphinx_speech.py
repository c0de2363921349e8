"""The benchmark's short form: a handful of held-out sentences; all of them: make bench-speech."""

from __future__ import annotations

from functools import partial

import pytest

from vixio.testing.voices import Voices
from vixio_bench import speech
from vixio_bench.speech_corpus import held_out, tuning
from vixio_bench.speech_report import table


def test_the_sets_share_no_sentence_no_voice_and_no_speed() -> None:
    def sentences(corpus: object) -> set[str]:
        known = [*corpus.IN_GRAMMAR, *corpus.FINAL]  # type: ignore[attr-defined]  # a module
        unknown = [*corpus.OUT_OF_GRAMMAR, *corpus.NOT_FINAL]  # type: ignore[attr-defined]  # the same
        return {*(text for text, _ in known), *unknown}

    assert not sentences(tuning) & sentences(held_out)
    assert not {s.voice for s in tuning.SPEAKERS} & {s.voice for s in held_out.SPEAKERS}
    assert not {s.rate for s in tuning.SPEAKERS} & {s.rate for s in held_out.SPEAKERS}
    assert len(held_out.IN_GRAMMAR) >= 40
    assert len(held_out.OUT_OF_GRAMMAR) >= 40


@pytest.mark.slow
async def test_a_handful_of_held_out_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    # A woman and a man of the five, the same in each run.
    monkeypatch.setattr(held_out, "SPEAKERS", held_out.SPEAKERS[1:3])
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
