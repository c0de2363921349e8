"""The benchmark's short form: a handful of held-out sentences; all of them: make bench-speech."""

from __future__ import annotations

import pytest

from vixio.bench.speech import bench_speech
from vixio.bench.speech_corpus import held_out, tuning
from vixio.bench.speech_report import table


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
async def test_a_handful_of_held_out_sentences() -> None:
    report = await bench_speech(limit=5, latency_samples=2)
    assert report.in_grammar == report.out_of_grammar == 5 * len(held_out.SPEAKERS)
    # Few sentences, so looser than the marks of the whole; a broken recogniser is far below.
    assert report.right >= 0.7 * report.in_grammar
    assert report.acted <= 0.15 * report.out_of_grammar
    assert report.finality.final == report.finality.not_final == 5 * len(held_out.SPEAKERS)
    assert report.finality.understood >= 0.6 * report.finality.final
    assert report.finality.taken <= 0.15 * report.finality.not_final
    strict, lax = report.curve[0], report.curve[-1]
    assert strict.right <= lax.right
    assert strict.acted <= lax.acted
    assert report.latency_p50 > 0  # how long is for the benchmark itself: the machine may be busy
    assert "held-out" in table(report, errors=True)
