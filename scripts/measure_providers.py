#!/usr/bin/env python3
"""How fast the voices and recognisers of a configuration are, and what memory they take.

    python scripts/measure_providers.py [--config FILE] [--runs 5]

Each is loaded in a process of its own and used several times; of the times the median is shown,
after a first use that does not count. Memory is what the process and its workers hold at the end,
less what it held before the provider was made. The table is Markdown; docs/providers.md has one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from vixio.cli.diagnostics.providers import started, usual_hints
from vixio.cli.diagnostics.spoken import as_heard, spoken
from vixio.cli.diagnostics.transcribe import CHUNK_MS, Hearing
from vixio.core.audio import LISTEN_RATE, pcm_bytes, pcm_seconds
from vixio.core.streams import closing
from vixio.providers.asr import ASRProvider
from vixio.settings import Settings, load_settings
from vixio.settings.provider import ASRSection, TTSSection
from vixio.telemetry.logging.setup import configure_logging

SENTENCES = {
    "en": "Please set the volume to thirty percent.",
    "zh": "请把音量调到百分之三十。",
}
HEAD = """\
| provider | loaded | first audio; words after the speech | a second of audio takes | memory |
|---|---|---|---|---|"""
MEGABYTE = 1024 * 1024


def resident() -> int:
    """Return the bytes that this process and its descendants hold (Linux)."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text(encoding="utf-8").splitlines()
        except OSError:
            continue  # it has ended
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        pid = int(status.parent.name)
        parents[pid] = int(fields["PPid"])
        sizes[pid] = int(fields.get("VmRSS", "0 kB").split()[0]) * 1024
    own = int(Path("/proc/self").readlink().name)
    return sum(size for pid, size in sizes.items() if _descends(pid, own, parents))


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid not in (ancestor, 0):
        pid = parents.get(pid, 0)
    return pid == ancestor


async def speak(section: TTSSection, text: str, language: str, runs: int) -> dict[str, float]:
    """Return the voice's figures."""
    began, before = perf_counter(), resident()
    tts = section.create()
    async with started(tts):
        ready = perf_counter() - began
        firsts: list[float] = []
        factors: list[float] = []
        for _ in range(runs + 1):
            start, first, size = perf_counter(), 0.0, 0
            async with closing(tts.synthesize(text, language=language)) as pieces:
                async for pcm in pieces:
                    first = first or perf_counter() - start
                    size += len(pcm)
            firsts.append(first)
            seconds = pcm_seconds(bytes(size), tts.sample_rate)
            factors.append((perf_counter() - start) / seconds)
        return _figures(ready, firsts, factors, resident() - before)


async def hear(section: ASRSection, text: str, language: str, runs: int) -> dict[str, float]:
    """Return the recogniser's figures; ``first``: its words after the end of speech."""
    pcm = as_heard(await spoken(text, language=language))
    began, before = perf_counter(), resident()
    asr = section.create()
    async with started(asr):
        ready = perf_counter() - began
        firsts: list[float] = []
        factors: list[float] = []
        limits = Settings().time_limits()
        for _ in range(runs + 1):
            start = perf_counter()
            await Hearing(asr, usual_hints(language), limits).hear(pcm)
            factors.append((perf_counter() - start) / pcm_seconds(pcm, LISTEN_RATE))
            firsts.append(await _as_it_is_spoken(asr, pcm, language))
        return _figures(ready, firsts, factors, resident() - before)


async def _as_it_is_spoken(asr: ASRProvider, pcm: bytes, language: str) -> float:
    """Feed ``pcm`` in real time; return the seconds from its end to the words."""
    stream = asr.open(usual_hints(language))
    try:
        began, chunk = perf_counter(), pcm_bytes(CHUNK_MS / 1000, LISTEN_RATE)
        for start in range(0, len(pcm), chunk):
            spoken_by = began + pcm_seconds(pcm[: start + chunk], LISTEN_RATE)
            await asyncio.sleep(max(0.0, spoken_by - perf_counter()))
            await stream.feed(pcm[start : start + chunk])
        ended = perf_counter()
        await stream.finish()
        return perf_counter() - ended
    finally:
        await stream.close()


def _figures(
    ready: float, firsts: list[float], factors: list[float], grown: int
) -> dict[str, float]:
    return {
        "ready": ready,
        "first": median(firsts[1:]),
        "factor": median(factors[1:]),
        "memory": grown / MEGABYTE,
    }


async def one(settings: Settings, kind: str, index: int, runs: int) -> dict[str, float]:
    """Measure one provider, in this process."""
    language = settings.assistant.language
    text = SENTENCES.get(language.partition("-")[0].lower(), SENTENCES["en"])
    if kind == "tts":
        return await speak(settings.tts.each()[index], text, language, runs)
    return await hear(settings.asr.each()[index], text, language, runs)


def main() -> int:
    """Measure all, each in a process of its own; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "INDEX"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    configure_logging("ERROR")
    settings = load_settings(chosen.config)
    if chosen.one:
        kind, index = chosen.one
        print(json.dumps(asyncio.run(one(settings, kind, int(index), chosen.runs))))
        return 0
    print(HEAD, flush=True)
    status = 0
    for kind, sections in (("tts", settings.tts.each()), ("asr", settings.asr.each())):
        for index, section in enumerate(sections):
            command = [sys.executable, __file__, *sys.argv[1:], "--one", kind, str(index)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            status = status or done.returncode
            if done.returncode == 0:
                print(_row(f"{kind} `{section.name}`", json.loads(done.stdout)), flush=True)
    return status


def _row(name: str, figures: dict[str, float]) -> str:
    return (
        f"| {name} | {figures['ready']:.2f} s | {figures['first'] * 1000:.1f} ms "
        f"| {figures['factor']:.3f} s | {figures['memory']:.0f} MB |"
    )


if __name__ == "__main__":
    sys.exit(main())
