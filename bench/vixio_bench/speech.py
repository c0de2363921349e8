"""``vixio bench speech``: how well spoken commands are understood, and everything else declined.

Sentences of a corpus are spoken by eSpeak NG in several voices, sent through noise and Opus as a
device would, recognised by the default recogniser over the tools of ``speech_corpus``, and
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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vixio.core.errors import ConfigError, ProviderError, VixioError
from vixio.core.tools.toolset import ToolSet
from vixio.language.phrasebook import CompiledPhrases, PhraseBook, signatures
from vixio.providers.asr import SpeechHints
from vixio.providers.pocketsphinx.provider import PocketSphinxASRProvider, PocketSphinxSettings
from vixio.telemetry.logging.setup import configure_logging
from vixio.testing.voices import Speaker, Voices
from vixio_bench.speech_corpus import CORPORA, Corpus, Expected, load_corpus
from vixio_bench.speech_report import (
    CURVE,
    PARALLEL,
    Outcome,
    SpeechReport,
    finality_of,
    point_at,
    table,
)

if TYPE_CHECKING:
    from vixio_bench.own_speech import OwnReport

_FRAME_SECONDS = 0.06


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence in one voice, and what ought to be done (None: nothing)."""

    text: str
    expected: Expected | None
    speaker: Speaker
    frames: list[bytes]
    final: bool = False
    """Whether it is among those that end or erase something, or sound a little like it."""


def speak(corpus: Corpus, voices: Voices, limit: int | None = None) -> list[Utterance]:
    """Say all sentences of a corpus in all its voices; ``limit``: that many, spread evenly."""
    said: list[Utterance] = []
    for speaker in corpus.speakers:
        sentences = [
            *[(text, expected, False) for text, expected in _spread(corpus.commands, limit)],
            *[(text, None, False) for text in _spread(corpus.free, limit)],
            *[(text, expected, True) for text, expected in _spread(corpus.final, limit)],
            *[(text, None, True) for text in _spread(corpus.not_final, limit)],
        ]
        for text, expected, final in sentences:
            frames = voices.say(text, speaker, seed=len(said))
            said.append(Utterance(text, expected, speaker, frames, final))
    return said


async def bench_speech(
    corpus: str = "held-out",
    *,
    rejection: float | None = None,
    limit: int | None = None,
    latency_samples: int = 40,
) -> SpeechReport:
    """Measure; about half a minute. Raises ProviderError if the recogniser cannot work."""
    said = await asyncio.to_thread(lambda: speak(load_corpus(corpus), Voices(), limit))
    options = {} if rejection is None else {"rejection": rejection}
    settings = PocketSphinxSettings.model_validate(options)
    tools = ToolSet()
    tools.replace("device", load_corpus(corpus).tools)
    hints = SpeechHints(tools.definitions(), "en")
    phrases = PhraseBook.load("en").compile(signatures(hints.tools))
    provider = PocketSphinxASRProvider(settings)
    await provider.start()
    try:
        provider.prepare(hints)
        gate = asyncio.Semaphore(PARALLEL)

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
    every = tuple(outcome for outcome, _ in fast)
    outcomes = tuple(outcome for outcome in every if not outcome.final)
    latencies = sorted(milliseconds for _, milliseconds in live) or [0.0]
    point = point_at(outcomes, settings.rejection)
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
        curve=tuple(point_at(outcomes, threshold) for threshold in CURVE),
        latency_p50=latencies[len(latencies) // 2],
        latency_p95=latencies[min(len(latencies) - 1, int(len(latencies) * 0.95))],
        decode_ratio=seconds / spoken if spoken else 0.0,
        worker_memory=memory,
        finality=finality_of([outcome for outcome in every if outcome.final]),
        outcomes=every,
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
    match = phrases.match(stream.guess)
    outcome = Outcome(
        text=utterance.text,
        voice=f"{utterance.speaker.voice} {utterance.speaker.rate}",
        in_grammar=expected is not None,
        guess=stream.guess,
        score=round(stream.score, 1),
        right=expected is not None and does(phrases, stream.guess, expected),
        accepted=bool(recognition.text),
        final=utterance.final,
        ends=match is not None and match.final,
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


def _memory_mb(pid: int) -> float:
    """Return what a process has resident, 0 where /proc is missing."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123 - /proc
            pss = next(line for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0.0
    return int(pss.split()[1]) / 1024


def _measure_set(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Measure a recogniser that is not the default; return 0, or 1 if it cannot be used."""
    from vixio.settings import load_settings
    from vixio_bench.speech_sets import SETS, VOICES, bench_set, section, set_table

    if options.set_ is not None and options.set_ not in SETS:
        parser.error(f"--set: choose one of {', '.join(SETS)}")
    voice = options.voice or "espeak"
    if voice != "espeak" and voice not in VOICES:
        parser.error(f"--voice: choose espeak or one of {', '.join(VOICES)}")
    try:
        config = None if options.config is None else load_settings(options.config)
        asr = section(options.set_, config)
        corpus = load_corpus("chinese" if options.language == "zh" else options.corpus)
        work = bench_set(asr, corpus, voice=voice, language=options.language)
        report = asyncio.run(work)
    except (ConfigError, ProviderError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.json:
        sys.stdout.write(json.dumps(asdict(report), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(set_table(report, errors=options.errors) + "\n")
    return 0


def _measure_language(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Measure what is understood here in a language; return 0, or 1 if nothing can be measured."""
    from vixio_bench.speech_language import bench_language, language_table
    from vixio_bench.speech_sets import VOICES

    voice = options.voice or ""
    if voice and voice != "espeak" and voice not in VOICES:
        parser.error(f"--voice: choose espeak or one of {', '.join(VOICES)}")
    try:
        report = asyncio.run(bench_language(options.language, voice=voice))
    except (ConfigError, ProviderError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.json:
        sys.stdout.write(json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(language_table(report, errors=options.errors) + "\n")
    return 0


def _measure_own(options: argparse.Namespace) -> int:
    """Measure what users said; return 0, or 1 if that cannot be done."""
    from vixio.cli.speech import quiet_settings
    from vixio_bench.own_speech import bench_own, own_table, read_recordings

    async def measured() -> OwnReport:
        settings = quiet_settings(options.config)
        return await bench_own(settings, await read_recordings(settings))

    try:
        report = asyncio.run(measured())
    except VixioError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.json:
        shown = asdict(report if options.errors else replace(report, words=()))
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(own_table(report, errors=options.errors) + "\n")
    return 0


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0 if the marks are met, 1 if not."""
    parser = argparse.ArgumentParser(prog="vixio bench speech", description=__doc__)
    parser.add_argument("--corpus", choices=CORPORA, default="held-out")
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
        "--voice", help="of a set or a language: espeak, joe, xiaoxiao (what is installed)"
    )
    parser.add_argument(
        "--language",
        choices=("en", "zh"),
        default="en",
        help="without a set: what the default one and all that is installed understand of it",
    )
    parser.add_argument(
        "--own",
        action="store_true",
        help="what users said to the server of --config, or of the settings that are found, where "
        "their devices keep it as sound; with --errors, the words too",
    )
    options = parser.parse_args(list(argv))
    if options.own:
        return _measure_own(options)
    configure_logging("WARNING")
    if options.set_ is not None or options.config is not None:
        return _measure_set(parser, options)
    if options.language != "en":
        return _measure_language(parser, options)
    report = asyncio.run(bench_speech(options.corpus, rejection=options.rejection))
    if options.json:
        data: dict[str, Any] = {**asdict(report), "passed": report.passed}
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(table(report, errors=options.errors) + "\n")
    return 0 if report.passed else 1
