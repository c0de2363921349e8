"""Measures FunASR with models of the published sizes and random weights: the same computation.

    PYTHONPATH=.venv/models .venv/bin/python -m tests.models.measure_funasr [--threads 2]

Prints a table for docs/providers.md: memory, time and what the event loop notices, with the model
in the provider's process and, for comparison, in a thread of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.models.funasr_support import PACKET, say
from tests.models.tiny_paraformer import make_paraformer
from tests.models.tiny_sensevoice import make_sensevoice
from vixio.providers.asr import SpeechHints
from vixio.providers.funasr.engine import Engine
from vixio.providers.funasr.provider import FunASRProvider
from vixio.providers.funasr.settings import FunASRSettings
from vixio.testing.voices import Speaker, Voices

SECONDS = 5
RUNS = 5
MODELS = ("SenseVoiceSmall", "Paraformer", "Paraformer, streaming")
TOGETHER = 8
TIMEOUT = 300.0


def show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def watched() -> Iterator[list[float]]:
    """Yield the delays of the loop's wake-ups in ms, sorted at the end."""
    late: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            late.append((time.perf_counter() - before - 0.005) * 1000)

    task = asyncio.create_task(watch())
    try:
        yield late
    finally:
        task.cancel()
        late.sort()


def lateness(late: list[float]) -> str:
    return f"{late[len(late) * 99 // 100]:.0f} / {late[-1]:.0f}"


def memory(pid: int) -> int:
    """Return the resident memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024


async def speak_live(provider: FunASRProvider, pcm: bytes) -> tuple[float, float]:
    """Feed in a device's pace.

    Returns the time of the first partial transcript, in seconds from the start, and of the final
    one, in seconds from the end.
    """
    stream = provider.open(SpeechHints())
    begun = time.perf_counter()
    first = None
    for number, start in enumerate(range(0, len(pcm), PACKET), 1):
        await stream.feed(pcm[start : start + PACKET])
        await asyncio.sleep(max(0.0, begun + number * 0.06 - time.perf_counter()))
        if first is None and stream.partial:
            first = time.perf_counter() - begun
    ended = time.perf_counter()
    await stream.finish()
    last = time.perf_counter() - ended
    await stream.close()
    return first or float("nan"), last


async def measure(name: str, folder: Path, pcm: bytes, threads: int) -> None:
    begun = time.perf_counter()
    options: dict[str, object] = {"threads": threads, "timeout": TIMEOUT, "gather_ms": 100}
    with watched() as loading:
        provider = await asyncio.wait_for(_entered(folder, options), TIMEOUT)
    loaded = time.perf_counter() - begun
    assert provider.worker is not None
    streaming = provider.worker.process.about["streaming"]
    with watched() as running:
        alone = []
        for _ in range(RUNS):
            begun = time.perf_counter()
            await say(provider, pcm)
            alone.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await asyncio.gather(*(say(provider, pcm) for _ in range(TOGETHER)))
        together = (time.perf_counter() - begun) / TOGETHER
    show(
        f"| {name} | {loaded:.1f} s | {memory(provider.worker.pid)} MB | {median(alone):.2f} s "
        f"({median(alone) / SECONDS:.2f}) | {together:.2f} s ({together / SECONDS:.2f}) "
        f"| {lateness(loading)} | {lateness(running)} |"
    )
    if streaming:
        first, last = await speak_live(provider, pcm)
        show(f"  spoken live: first words {first:.2f} s after the start, last {last:.2f} s late")
    await provider.close()


async def _entered(folder: Path, options: dict[str, object]) -> FunASRProvider:
    settings = FunASRSettings.model_validate({"model": str(folder), **options})
    provider = FunASRProvider(settings)
    await provider.start()
    return provider


async def in_a_thread(folder: Path, pcm: bytes, threads: int) -> None:
    settings = FunASRSettings(model=str(folder), threads=threads).worker()
    with watched() as loading:
        engine = await asyncio.to_thread(Engine, settings)
    with watched() as running:
        for _ in range(RUNS):
            await asyncio.to_thread(engine.recognize, [pcm], "auto", "")
    show(f"| {MODELS[0]}, in a thread | | | | | {lateness(loading)} | {lateness(running)} |")


async def main(threads: int) -> None:
    speaker = Speaker("en-us", rate=160, pitch=50)
    spoken = b"".join(Voices().say("Please turn on the lamp, and then the fan.", speaker, seed=1))
    pcm = (spoken * 4)[: SECONDS * 32_000]
    show("| model | loaded in | memory | 5 s alone | 8 at once, each | late, loading | running |")
    with tempfile.TemporaryDirectory() as directory:
        # In another process: this one must not have imported FunASR before the last row.
        making = [sys.executable, "-m", "tests.models.measure_funasr", "--make", directory]
        await asyncio.to_thread(subprocess.run, making, check=True, stdout=subprocess.DEVNULL)
        for name in MODELS:
            await measure(name, Path(directory, name), pcm, threads)
        await in_a_thread(Path(directory, MODELS[0]), pcm, threads)


def make(folder: Path) -> None:
    """Write the models to ``folder``."""
    make_sensevoice(folder / MODELS[0], {"<|zh|>你好": b""}, published_size=True)
    make_paraformer(folder / MODELS[1], published_size=True)
    make_paraformer(folder / MODELS[2], streaming=True, published_size=True)


if __name__ == "__main__":
    logging.getLogger("vixio").setLevel(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make is not None:
        make(options.make)
    else:
        asyncio.run(main(options.threads))
