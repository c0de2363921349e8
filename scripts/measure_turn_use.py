#!/usr/bin/env python3
"""What a turn uses of models: tokens read and written, seconds of speech heard and spoken.

    python scripts/measure_turn_use.py

A simulated device holds the English conversation of `make demo-natural` with a server over the
loopback interface: with its real tools, instructions, memory and history, the real requests over
HTTP to a stand-in for the model, the real detector of speech, and eSpeak as the voice. What is
understood comes from the script. Tokens are counted as the server counts its history: four
characters of ASCII are one. Services count by their own rules, and `vixio_model_input_tokens_total`
has what they counted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from examples.demos.natural_model import StandInModel, serving
from examples.demos.natural_script import ENGLISH, LAMP, Exchange
from firmware_test_client import DeviceConfig, SimulatedDevice, Tool
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.core.history import UserMessage, approximate_tokens
from vixio.server import Providers, Server
from vixio.settings import Settings
from vixio.telemetry.logging.setup import configure_logging
from vixio.testing import ScriptedASR

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Use:
    """What one turn used. ``rounds``: requests to the model; seconds of speech."""

    rounds: int
    fixed: int
    """Tokens of instructions and tools, in all rounds: services charge less for what they know."""
    conversation: int
    """Tokens of the history and of what was said."""
    written: int
    heard: float
    spoken: float
    characters: int


def tokens(value: object) -> int:
    """Return about how many tokens a value of a request is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return approximate_tokens([UserMessage(text)])


def read(requests: Sequence[Json]) -> tuple[int, int]:
    """Return the tokens that a model reads in ``requests``: those that are fixed, and the rest."""
    fixed = conversation = 0
    for request in requests:
        fixed += tokens(request.get("tools", []))
        for message in request["messages"]:
            if message["role"] == "system":
                fixed += tokens(message["content"])
            else:
                conversation += tokens(message.get("content") or "")
                conversation += sum(tokens(each) for each in message.get("tool_calls") or ())
    return fixed, conversation


def settings(url: str, folder: Path) -> Settings:
    """Return the settings of the server: the model at ``url``, all else by default."""
    return Settings.model_validate(
        {
            "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
            "agent": {"name": "openai", "base_url": url, "api_key": "none", "model": "bench"},
            "data": {"folder": str(folder)},
        }
    )


async def turn(
    device: SimulatedDevice, exchange: Exchange, model: StandInModel, ears: ScriptedASR
) -> Use:
    """Hold one turn."""
    asked, uttered = len(model.asked), len(ears.utterances)
    reply = await device.ask(exchange.say, timeout=120)
    requests = model.asked[asked:]
    fixed, conversation = read(requests)
    answer = " ".join(each.text for each in reply.sentences)
    written = tokens(answer) + (tokens(exchange.arguments) if exchange.tool else 0)
    heard = sum(len(each) for each in ears.utterances[uttered:])
    return Use(
        rounds=len(requests),
        fixed=fixed,
        conversation=conversation,
        written=written,
        heard=heard / BYTES_PER_SAMPLE / LISTEN_RATE,
        spoken=reply.audio_ms / 1000,
        characters=len(answer),
    )


async def converse(folder: Path) -> list[Use]:
    """Hold the conversation; return what each turn used."""
    model = StandInModel(ENGLISH)
    ears = ScriptedASR([each.say for each in ENGLISH.exchanges])
    async with serving(model) as url, Server(settings(url, folder), Providers(asr=ears)) as server:
        await server.start()
        await server.loaded()
        config = DeviceConfig(ws_url=f"ws://127.0.0.1:{server.transport.port}/xiaozhi/v1/")
        async with SimulatedDevice(config) as device:
            device.add_tool(Tool(LAMP, "Turn on the lamp", (), lambda: True))
            return [await turn(device, each, model, ears) for each in ENGLISH.exchanges]


async def main() -> None:
    """Measure, and print a Markdown table."""
    with TemporaryDirectory() as folder:
        used = await converse(Path(folder))
    print("| turn | rounds | tokens read: fixed | conversation | written | heard, s | spoken, s |")
    print("|---|---|---|---|---|---|---|")
    rows = [(str(number), each) for number, each in enumerate(used, 1)]
    for name, each in rows:
        print(
            f"| {name} | {each.rounds} | {each.fixed} | {each.conversation} | {each.written} "
            f"| {each.heard:.1f} | {each.spoken:.1f} |"
        )
    print(
        f"| mean | {mean(each.rounds for each in used):.1f} "
        f"| {mean(each.fixed for each in used):.0f} "
        f"| {mean(each.conversation for each in used):.0f} "
        f"| {mean(each.written for each in used):.0f} | {mean(each.heard for each in used):.1f} "
        f"| {mean(each.spoken for each in used):.1f} |"
    )
    print(f"\nCharacters spoken a turn: {mean(each.characters for each in used):.0f}")


if __name__ == "__main__":
    configure_logging("WARNING")
    asyncio.run(main())
