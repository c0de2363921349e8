"""``vixio bench sets``: what a whole set is like to talk to, and what it takes.

For each set, ``vixio serve`` runs as a process of its own with the ready settings, a device says
commands and everyday sentences in a natural voice, and a stand-in answers at once in the place of
the language model. Counted are the commands that were understood as they are meant and the words of
the everyday sentences; measured are the time from the last word to the first sound at the device
and the memory of the server with all of its processes. The parts must be installed; a set whose
parts are not is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from firmware_test_client import DeviceConfig, Pcm, SimulatedDevice
from vixio.composition.core_speed import core_speed
from vixio.core.errors import ConfigError, ProviderError
from vixio.core.extras import checkout
from vixio.core.tools.toolset import ToolSet
from vixio.language.phrasebook import PhraseBook, signatures
from vixio.providers.tts import TTSProvider
from vixio.settings.provider import TTSSection
from vixio_bench.load.services.http import HttpService, Response
from vixio_bench.load.services.openai import MODEL, completion, json_response
from vixio_bench.speech import does
from vixio_bench.speech_corpus import Expected, load_corpus
from vixio_bench.speech_sets import VOICES, distance, processes_mb, units

READY_S: Final = 120.0
PORTS: Final = range(20_000, 32_000)
TURN_S: Final = 120.0
"""Bounds for a slow machine; what is measured does not depend on them."""

TOOLS: Final = frozenset(
    {None, "get_time", "get_date", "set_volume", "get_device_status", "set_brightness", "set_theme"}
)
"""Of the commands that are said: those that any device has, and that end nothing."""


@dataclass(frozen=True, slots=True)
class Set:
    """``config``: a file of the folder ``config``; empty: the built-in default. ``user``: the voice
    that speaks to it. ``free``: whether it hears everyday sentences."""

    config: str
    language: str
    user: str
    free: bool
    answer: str


SETS: Final[dict[str, Set]] = {
    "offline": Set("", "en", "joe", free=False, answer=""),
    "natural": Set(
        "natural.yaml", "en", "joe", free=True, answer="That is a good question, and I like it."
    ),
    "natural-zh": Set(
        "natural-zh.yaml", "zh", "xiaoxiao", free=True, answer="这个问题很好，我很喜欢。"
    ),
}


@dataclass(slots=True)
class Figures:
    """``waits_ms``: from the last word to the first sound, of each turn that was answered as it has
    to be; ``otherwise``: the others. ``memory_mb``: the proportional set size of the server and its
    children, behind the last turn."""

    name: str
    commands: int = 0
    right: int = 0
    words: int = 0
    wrong_words: int = 0
    otherwise: int = 0
    memory_mb: float = 0.0
    waits_ms: tuple[float, ...] = ()


async def measure(name: str, sentences: int) -> Figures:
    """Measure a set with this many sentences of each kind.

    Raises ConfigError, ProviderError where a part is not installed.
    """
    its, figures = SETS[name], Figures(name)
    voice = TTSSection.model_validate(VOICES[its.user]).create()
    await voice.start()
    try:
        async with _model(its.answer) as model_url, _server(its, model_url) as (pid, ota):
            config = DeviceConfig(ota_url=ota)
            async with SimulatedDevice(config) as device:
                for text, expected in _said(its, sentences):
                    await _turn(device, voice, text, expected, its, figures)
            figures.memory_mb = await asyncio.to_thread(processes_mb, pid)
    finally:
        await voice.close()
    return figures


def _said(its: Set, sentences: int) -> Sequence[tuple[str, Expected | None]]:
    if its.language == "zh":
        return [(text, None) for text in load_corpus("chinese").free[:sentences]]
    corpus = load_corpus("held-out")
    commands = [each for each in corpus.commands if each[1][1] in TOOLS]
    step = max(1, len(commands) // sentences)
    free = corpus.free[:sentences] if its.free else ()
    return [*commands[::step][:sentences], *((text, None) for text in free)]


async def _turn(
    device: SimulatedDevice,
    voice: TTSProvider,
    text: str,
    expected: Expected | None,
    its: Set,
    figures: Figures,
) -> None:
    said = [chunk async for chunk in voice.synthesize(text, language=its.language)]
    reply = await device.ask(Pcm(b"".join(said), voice.sample_rate), timeout=TURN_S)
    heard = reply.stt or ""
    if expected is None:
        meant = units(text)
        figures.words += len(meant)
        figures.wrong_words += distance(meant, units(heard))
    else:
        figures.commands += 1
        figures.right += _is_meant(heard, expected)
    # Subtitles come in pieces, between which Chinese has no spaces.
    shown, wanted = ("".join(text.split()) for text in (reply.text, its.answer))
    answered = wanted in shown if wanted else bool(shown)
    if reply.first_played is None or reply.speech_end is None or not answered:
        figures.otherwise += 1  # an apology, which comes sooner or later than an answer
    else:
        figures.waits_ms += ((reply.first_played - reply.speech_end) * 1000,)


def _is_meant(heard: str, expected: Expected) -> bool:
    tools = ToolSet()
    tools.replace("device", load_corpus("held-out").tools)
    return does(PhraseBook.load("en").compile(signatures(tools.definitions())), heard, expected)


@asynccontextmanager
async def _model(answer: str) -> AsyncIterator[str]:
    """Provide the address of a model that answers everything with the same words, at once."""

    def respond(path: str, _: bytes) -> Response:
        if path.endswith("/models"):
            return json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        return completion(list(answer))

    service = HttpService(respond)
    port = await service.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        service.stop()


@asynccontextmanager
async def _server(its: Set, model_url: str) -> AsyncIterator[tuple[int, str]]:
    """Run ``vixio serve``, and provide its process and its OTA URL when all parts are ready."""
    root = checkout()
    if root is None:
        raise ConfigError("the ready settings stand in a checkout of Vixio")
    port, http_port = _free_ports(2)
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("VIXIO_")},
            "XDG_STATE_HOME": folder,
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": MODEL,
        }
        command = [sys.executable, "-m", "vixio", "serve", "--host", "127.0.0.1"]
        command += ["--port", str(port), "--http-port", str(http_port)]
        if its.config:
            command += ["--config", str(root / "config" / its.config)]
        log = Path(folder, "log").open("wb")  # noqa: SIM115, ASYNC230 - until the process has ended
        process = await asyncio.create_subprocess_exec(
            *command, env=env, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            await _ready(process, f"http://127.0.0.1:{http_port}/readyz", Path(folder, "log"))
            yield process.pid, f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
            log.close()


async def _ready(process: asyncio.subprocess.Process, url: str, log: Path) -> None:
    async with httpx2.AsyncClient() as client:
        for _ in range(int(READY_S / 0.25)):
            if process.returncode is not None:
                break
            await asyncio.sleep(0.25)
            try:
                if (await client.get(url)).status_code == httpx2.codes.OK:
                    return
            except httpx2.HTTPError:
                continue
    lines = (await asyncio.to_thread(log.read_text, "utf-8", "replace")).splitlines()
    raise ConfigError("the server is not ready: " + (lines[-1] if lines else "it says nothing"))


def _free_ports(count: int) -> list[int]:
    """Return ports of no range from which systems take those of connections: they stay free."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            break
    return found


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def row(figures: Figures) -> str:
    """Return the figures as a row of the table."""
    waits = sorted(figures.waits_ms)
    half, most = (waits[len(waits) // 2], waits[int(len(waits) * 0.95)]) if waits else (0.0, 0.0)
    commands = f"{figures.right} of {figures.commands}" if figures.commands else "–"
    words = f"{1 - figures.wrong_words / figures.words:.0%}" if figures.words else "–"
    told = f"   {figures.otherwise} not answered" if figures.otherwise else ""
    return (
        f"{figures.name:<12}{commands:>10}{words:>8}{half / 1000:>9.2f} s"
        f"{most / 1000:>8.2f} s{figures.memory_mb:>9.0f} MB{told}"
    )


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0, or 1 if nothing could be measured."""
    parser = argparse.ArgumentParser(prog="vixio bench sets", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"default: {', '.join(SETS)}")
    parser.add_argument("--sentences", type=int, default=20, help="of each kind (default: 20)")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    options = parser.parse_args(list(argv))
    if unknown := [each for each in options.sets if each not in SETS]:
        parser.error(f"no set is called {unknown[0]!r}; there are {', '.join(SETS)}")
    if options.sentences < 1:
        parser.error("--sentences: at least 1")
    speed = core_speed()
    found: list[Figures] = []
    if not options.json:
        _say(f"{'':<12}{'commands':>10}{'words':>8}{'half':>11}{'95 %':>10}{'memory':>12}")
    for name in options.sets or SETS:
        try:
            found.append(asyncio.run(measure(name, options.sentences)))
        except (ConfigError, ProviderError) as error:
            sys.stderr.write(f"{name}: {' '.join(str(error).split())}\n")
            continue
        if not options.json:
            _say(row(found[-1]))
    if options.json:
        figures = [
            {field: getattr(each, field) for field in Figures.__dataclass_fields__}
            for each in found
        ]
        _say(json.dumps({"slowness": round(speed.slowness, 2), "sets": figures}, indent=1))
    elif found:
        _say(f"from the last word to the first sound; a core of x{speed.slowness:.2f}")
    return 0 if found else 1
