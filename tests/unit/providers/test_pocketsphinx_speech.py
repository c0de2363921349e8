"""The benchmark's short form: a handful of held-out sentences; all of them: make bench-speech."""

from __future__ import annotations

import pytest

from vixio.bench.speech import bench_speech, table
from vixio.bench.speech_corpus import held_out, tuning


def test_the_sets_share_no_sentence_no_voice_and_no_speed() -> None:
    def sentences(corpus: object) -> set[str]:
        inside = [text for text, _ in corpus.IN_GRAMMAR]  # type: ignore[attr-defined]  # a module
        return {*inside, *corpus.OUT_OF_GRAMMAR}  # type: ignore[attr-defined]  # a module

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
    strict, lax = report.curve[0], report.curve[-1]
    assert strict.right <= lax.right
    assert strict.acted <= lax.acted
    assert report.latency_p50 > 0  # how long is for the benchmark itself: the machine may be busy
    assert "held-out" in table(report, errors=True)
