"""The report of ``vixio bench speech``: rates, marks, and the table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RIGHT_AT_LEAST = 0.90
"""Of the sentences in the grammar, this share must be understood and acted on as meant."""
ACTED_AT_MOST = 0.07
"""Of the sentences outside it, at most this share may cause an action."""

FINAL_AT_LEAST = 0.75
"""Of what ends or erases something, this share must be understood."""
ENDED_AT_MOST = 0.05
"""Of what only sounds a little like it, at most this share may end or erase something."""

CURVE = (-80.0, -85.0, -90.0, -95.0, -98.0, -100.0, -102.0, -105.0, -110.0, -120.0, -150.0)
"""Rejection thresholds at which the curve is reported."""
PARALLEL = 6
"""Utterances at a time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it; ``score`` and ``guess`` whether rejected or not."""

    text: str
    voice: str
    in_grammar: bool
    guess: str
    score: float
    right: bool
    """Whether acting on ``guess`` does what was meant."""
    accepted: bool
    final: bool = False
    """As of the utterance."""
    ends: bool = False
    """Whether acting on ``guess`` ends or erases something."""


@dataclass(frozen=True, slots=True)
class Finality:
    """What ends or erases something, and what only sounds like it (``asr.caution``)."""

    final: int
    understood: int
    not_final: int
    taken: int
    """Of ``not_final``, how many ended or erased something."""

    @property
    def passed(self) -> bool:
        """Whether the marks are met, of which none is where nothing was measured."""
        return (
            self.final > 0
            and self.not_final > 0
            and self.understood >= FINAL_AT_LEAST * self.final
            and self.taken <= ENDED_AT_MOST * self.not_final
        )


@dataclass(frozen=True, slots=True)
class Point:
    """The shares at one rejection threshold."""

    rejection: float
    right: float
    wrong: float
    declined: float
    acted: float


@dataclass(frozen=True, slots=True)
class SpeechReport:
    """Everything that was measured; times in milliseconds, sizes in MB."""

    corpus: str
    rejection: float
    in_grammar: int
    out_of_grammar: int
    right: int
    wrong: int
    declined: int
    acted: int
    curve: tuple[Point, ...]
    latency_p50: float
    latency_p95: float
    decode_ratio: float
    """Seconds of wall time of the workers for each second of speech, all of them busy."""
    worker_memory: tuple[float, ...]
    finality: Finality
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether the marks are met."""
        return (
            self.in_grammar > 0
            and self.out_of_grammar > 0
            and self.right >= RIGHT_AT_LEAST * self.in_grammar
            and self.acted <= ACTED_AT_MOST * self.out_of_grammar
            and self.finality.passed
        )


def finality_of(outcomes: Sequence[Outcome]) -> Finality:
    final = [outcome for outcome in outcomes if outcome.in_grammar]
    others = [outcome for outcome in outcomes if not outcome.in_grammar]
    return Finality(
        len(final),
        sum(outcome.accepted and outcome.right for outcome in final),
        len(others),
        sum(outcome.accepted and outcome.ends for outcome in others),
    )


def point_at(outcomes: Sequence[Outcome], rejection: float) -> Point:
    inside = [outcome for outcome in outcomes if outcome.in_grammar]
    outside = [outcome for outcome in outcomes if not outcome.in_grammar]

    def taken(outcome: Outcome) -> bool:
        return bool(outcome.guess) and outcome.score >= rejection

    right = sum(taken(outcome) and outcome.right for outcome in inside)
    wrong = sum(taken(outcome) and not outcome.right for outcome in inside)
    count = max(1, len(inside))
    return Point(
        rejection,
        right=right / count,
        wrong=wrong / count,
        declined=1 - (right + wrong) / count,
        acted=sum(map(taken, outside)) / max(1, len(outside)),
    )


def _share(count: int, total: int) -> str:
    return f"{count:4d} of {total:4d}, {count / max(1, total):6.1%},"


def table(report: SpeechReport, *, errors: bool = False) -> str:
    """Return the report as text for people."""
    refused = report.out_of_grammar - report.acted
    its = report.finality
    latency = f"p50 {report.latency_p50:.0f} ms, p95 {report.latency_p95:.0f} ms"

    def cells(*counts: int | None) -> str:
        total = max(1, sum(count or 0 for count in counts))
        shown = ("" if n is None else f"{n:4d} {n / total:6.1%}" for n in counts)
        return "".join(f"    {cell:11s}" for cell in shown)

    lines = [
        f"corpus {report.corpus}, rejection threshold {report.rejection:g}",
        "",
        "                       all    right          acted wrongly  declined",
        f"in the grammar      {report.in_grammar:6d}"
        + cells(report.right, report.wrong, report.declined),
        f"outside the grammar {report.out_of_grammar:6d}" + cells(None, report.acted, refused),
        "",
        f"what ends or erases:      {_share(its.understood, its.final)} understood",
        f"what sounds a bit like it: {_share(its.taken, its.not_final)} ended or erased something",
        "",
        "threshold    right    wrong  declined   outside acted",
        *(
            f"{point.rejection:9g}  {point.right:7.1%}  {point.wrong:7.1%}  {point.declined:8.1%}"
            f"  {point.acted:14.1%}"
            for point in report.curve
        ),
        "",
        f"end of speech to result, fed live, {PARALLEL} at once: " + latency,
        f"all workers busy: {report.decode_ratio:.3f} s for a second of speech",
        "memory of each worker: " + ", ".join(f"{size:.0f} MB" for size in report.worker_memory),
    ]
    if errors:
        lines += ["", "not as meant:"]
        lines += [
            f"  {item.voice:22s} {item.text!r} -> {item.guess!r} {item.score:.0f}"
            f"{'' if item.accepted else ' declined'}"
            for item in report.outcomes
            if (item.accepted and not item.right and (item.ends or not item.final))
            or (item.in_grammar and not item.accepted)
        ]
    verdict = "met" if report.passed else "MISSED"
    lines += [
        "",
        (
            f"marks (right >= {RIGHT_AT_LEAST:.0%}, acted <= {ACTED_AT_MOST:.0%}; of what ends:"
            f" right >= {FINAL_AT_LEAST:.0%}, wrongly <= {ENDED_AT_MOST:.0%}): {verdict}"
        ),
    ]
    return "\n".join(lines)
