"""``vixio bench speech``: how well spoken commands are understood, and everything else declined.

Sentences of a corpus are spoken by eSpeak NG in several voices, sent through noise and Opus as a
device would, recognised by the default recogniser over the tools of ``speech_corpus.device``, and
read by the phrase book. Counted is what would be done: an accepted sentence outside the grammar is
an action, whatever it is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from vixio.bench.speech_audio import Voices
from vixio.bench.speech_corpus import held_out, tuning
from vixio.bench.speech_corpus.device import TOOLS, Expected, Speaker
from vixio.core.errors import ConfigError, ProviderError
from vixio.core.tools.toolset import ToolSet
from vixio.logging.setup import configure_logging
from vixio.phrasebook import CompiledPhrases, PhraseBook, signatures
from vixio.providers.asr import SpeechHints
from vixio.providers.pocketsphinx.provider import PocketSphinxASRProvider, PocketSphinxSettings

RIGHT_AT_LEAST = 0.90
"""Of the sentences in the grammar, this share must be understood and acted on as meant."""
ACTED_AT_MOST = 0.07
"""Of the sentences outside it, at most this share may cause an action."""

CORPORA = {"held-out": held_out, "tuning": tuning}
CURVE = (-80.0, -85.0, -90.0, -95.0, -98.0, -100.0, -102.0, -105.0, -110.0, -120.0, -150.0)
"""Rejection thresholds at which the curve is reported."""
_PARALLEL = 6
_FRAME_SECONDS = 0.06


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence in one voice, and what ought to be done (None: nothing)."""

    text: str
    expected: Expected | None
    speaker: Speaker
    frames: list[bytes]


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
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether the marks are met."""
        return (
            self.right >= RIGHT_AT_LEAST * self.in_grammar
            and self.acted <= ACTED_AT_MOST * self.out_of_grammar
        )


def speak(corpus: ModuleType, voices: Voices, limit: int | None = None) -> list[Utterance]:
    """Say all sentences of a corpus in all its voices; ``limit``: that many, spread evenly."""
    said: list[Utterance] = []
    for speaker in corpus.SPEAKERS:
        sentences = [
            *[(text, expected) for text, expected in _spread(corpus.IN_GRAMMAR, limit)],
            *[(text, None) for text in _spread(corpus.OUT_OF_GRAMMAR, limit)],
        ]
        for text, expected in sentences:
            frames = voices.say(text, speaker, seed=len(said))
            said.append(Utterance(text, expected, speaker, frames))
    return said


async def bench_speech(
    corpus: str = "held-out",
    *,
    rejection: float | None = None,
    limit: int | None = None,
    latency_samples: int = 40,
) -> SpeechReport:
    """Measure; about half a minute. Raises ProviderError if the recogniser cannot work."""
    said = await asyncio.to_thread(lambda: speak(CORPORA[corpus], Voices(), limit))
    options = {} if rejection is None else {"rejection": rejection}
    settings = PocketSphinxSettings.model_validate(options)
    tools = ToolSet()
    tools.replace("device", TOOLS)
    hints = SpeechHints(tools.definitions(), "en")
    phrases = PhraseBook.load("en").compile(signatures(hints.tools))
    provider = PocketSphinxASRProvider(settings)
    await provider.start()
    try:
        provider.prepare(hints)
        gate = asyncio.Semaphore(_PARALLEL)

        async def one(utterance: Utterance, *, live: bool) -> tuple[Outcome, float]:
            async with gate:
                return await _recognise(provider, hints, phrases, utterance, live=live)

        started = time.perf_counter()
        fast = await asyncio.gather(*(one(item, live=False) for item in said))
        seconds = time.perf_counter() - started
        step = max(1, len(said) // max(1, latency_samples))
        live = await asyncio.gather(
            *(one(item, live=True) for item in said[::step][:latency_samples])
        )
        memory = tuple(_memory_mb(worker.pid) for worker in provider.workers)
    finally:
        await provider.close()
    outcomes = tuple(outcome for outcome, _ in fast)
    latencies = sorted(milliseconds for _, milliseconds in live) or [0.0]
    point = _point(outcomes, settings.rejection)
    inside = sum(outcome.in_grammar for outcome in outcomes)
    outside = len(outcomes) - inside
    accepted = [outcome for outcome in outcomes if outcome.accepted]
    right = sum(outcome.in_grammar and outcome.right for outcome in accepted)
    wrong = sum(outcome.in_grammar and not outcome.right for outcome in accepted)
    acted = sum(not outcome.in_grammar for outcome in accepted)
    spoken = sum(len(item.frames) for item in said) * _FRAME_SECONDS
    return SpeechReport(
        corpus=corpus,
        rejection=point.rejection,
        in_grammar=inside,
        out_of_grammar=outside,
        right=right,
        wrong=wrong,
        declined=inside - right - wrong,
        acted=acted,
        curve=tuple(_point(outcomes, threshold) for threshold in CURVE),
        latency_p50=latencies[len(latencies) // 2],
        latency_p95=latencies[min(len(latencies) - 1, int(len(latencies) * 0.95))],
        decode_ratio=seconds / spoken if spoken else 0.0,
        worker_memory=memory,
        outcomes=outcomes,
    )


async def _recognise(
    provider: PocketSphinxASRProvider,
    hints: SpeechHints,
    phrases: CompiledPhrases,
    utterance: Utterance,
    *,
    live: bool,
) -> tuple[Outcome, float]:
    """Recognise one utterance; ``live``: fed as it is spoken. Returns its latency in ms, too."""
    stream = provider.open(hints)
    try:
        for frame in utterance.frames:
            if live:
                await asyncio.sleep(_FRAME_SECONDS)
            await stream.feed(frame)
        ended = time.perf_counter()
        recognition = await stream.finish()
        milliseconds = (time.perf_counter() - ended) * 1000
    finally:
        await stream.close()
    expected = utterance.expected
    outcome = Outcome(
        text=utterance.text,
        voice=f"{utterance.speaker.voice} {utterance.speaker.rate}",
        in_grammar=expected is not None,
        guess=stream.guess,
        score=round(stream.score, 1),
        right=expected is not None and does(phrases, stream.guess, expected),
        accepted=bool(recognition.text),
    )
    return outcome, milliseconds


def does(phrases: CompiledPhrases, text: str, expected: Expected) -> bool:
    """Tell whether acting on ``text`` does what was meant."""
    match = phrases.match(text)
    intent, tool, arguments = expected
    return (
        match is not None
        and match.intent.split(":")[0] == intent
        and (match.tool or "").endswith(tool or "")
        and (match.tool is None) == (tool is None)
        and match.arguments == arguments
    )


def _spread(items: Sequence[Any], limit: int | None) -> Sequence[Any]:
    return items if limit is None else items[:: max(1, len(items) // limit)][:limit]


def _point(outcomes: Sequence[Outcome], rejection: float) -> Point:
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


def _memory_mb(pid: int) -> float:
    """Return what a process has resident, 0 where /proc is missing."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123 - /proc
            pss = next(line for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0.0
    return int(pss.split()[1]) / 1024


def table(report: SpeechReport, *, errors: bool = False) -> str:
    """Return the report as text for people."""
    refused = report.out_of_grammar - report.acted
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
        "threshold    right    wrong  declined   outside acted",
        *(
            f"{point.rejection:9g}  {point.right:7.1%}  {point.wrong:7.1%}  {point.declined:8.1%}"
            f"  {point.acted:14.1%}"
            for point in report.curve
        ),
        "",
        f"end of speech to result, fed live, {_PARALLEL} at once: " + latency,
        f"all workers busy: {report.decode_ratio:.3f} s for a second of speech",
        "memory of each worker: " + ", ".join(f"{size:.0f} MB" for size in report.worker_memory),
    ]
    if errors:
        lines += ["", "not as meant:"]
        lines += [
            f"  {item.voice:22s} {item.text!r} -> {item.guess!r} {item.score:.0f}"
            f"{'' if item.accepted else ' declined'}"
            for item in report.outcomes
            if (item.accepted and not item.right) or (item.in_grammar and not item.accepted)
        ]
    verdict = "met" if report.passed else "MISSED"
    lines += [
        "",
        f"marks (right >= {RIGHT_AT_LEAST:.0%}, acted <= {ACTED_AT_MOST:.0%}): {verdict}",
    ]
    return "\n".join(lines)


def _measure_set(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Measure a recogniser that is not the default; return 0, or 1 if it cannot be used."""
    from vixio.bench.speech_sets import SETS, VOICES, bench_set, section, set_table
    from vixio.settings import load_settings

    if options.set_ is not None and options.set_ not in SETS:
        parser.error(f"--set: choose one of {', '.join(SETS)}")
    if options.voice != "espeak" and options.voice not in VOICES:
        parser.error(f"--voice: choose espeak or one of {', '.join(VOICES)}")
    try:
        config = None if options.config is None else load_settings(options.config)
        asr = section(options.set_, config)
        work = bench_set(
            asr, CORPORA[options.corpus], voice=options.voice, language=options.language
        )
        report = asyncio.run(work)
    except (ConfigError, ProviderError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.json:
        sys.stdout.write(json.dumps(asdict(report), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(set_table(report, errors=options.errors) + "\n")
    return 0


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0 if the marks are met, 1 if not."""
    parser = argparse.ArgumentParser(prog="vixio bench speech", description=__doc__)
    parser.add_argument("--corpus", choices=sorted(CORPORA), default="held-out")
    parser.add_argument("--rejection", type=float, help="another threshold than the default")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--errors", action="store_true", help="list what went wrong")
    parser.add_argument(
        "--set",
        dest="set_",
        metavar="NAME",
        help="measure another recogniser: offline, moonshine, natural or whisper",
    )
    parser.add_argument("--config", type=Path, help="measure the recogniser of a settings file")
    parser.add_argument(
        "--voice", default="espeak", help="of a set: espeak, joe, xiaoxiao (what is installed)"
    )
    parser.add_argument("--language", choices=("en", "zh"), default="en", help="of a set")
    options = parser.parse_args(list(argv))
    configure_logging("WARNING")
    if options.set_ is not None or options.config is not None:
        return _measure_set(parser, options)
    report = asyncio.run(bench_speech(options.corpus, rejection=options.rejection))
    if options.json:
        data: dict[str, Any] = {**asdict(report), "passed": report.passed}
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(table(report, errors=options.errors) + "\n")
    return 0 if report.passed else 1
