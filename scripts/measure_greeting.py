#!/usr/bin/env python3
"""How soon a device hears the answer to its wake word: from the voice, and from kept audio.

    python scripts/measure_greeting.py [--runs 20] [--voice-ms 0 200 500]

A simulated device says wake words to a server over the loopback interface, each of them twice: the
first greeting is spoken by the voice, the second one is kept. Both kinds are measured in one run,
from the wake word to the first packet of audio, as medians, and their share is shown. A voice of
0 ms is the default one, eSpeak; the others are stand-ins that take as long as named until their
first audio, as local models and services do. In both cases the server waits for
``output.start_lead_ms``.
"""

from __future__ import annotations

import argparse
import asyncio
from statistics import median

from firmware_test_client import DeviceConfig, SimulatedDevice
from vixio.core.pacer import PacerSettings
from vixio.server import Providers, Server
from vixio.settings import Settings
from vixio.telemetry.logging.setup import configure_logging
from vixio.testing import ScriptedTTS

LEAD_MS = PacerSettings().start_lead_ms


async def greeted(config: DeviceConfig, word: str) -> float:
    """Return the milliseconds from a wake word to the first audio."""
    async with SimulatedDevice(config) as device:
        await device.disconnect()
        await device.wake(word, audio=False)
        reply = await device.wait_for_reply(timeout=60)
        said = next(
            frame
            for frame in device.frames
            if frame.direction == "out" and (frame.body or {}).get("state") == "detect"
        )
        if reply.first_audio is None:
            raise SystemExit(f"{word!r} got no audio")
        return 1000 * (reply.first_audio - said.time)


async def measure(voice_ms: int, runs: int) -> tuple[float, float]:
    """Return the medians: spoken by the voice, and kept."""
    words = {f"computer number {number}": f"Yes, number {number}." for number in range(runs)}
    settings = Settings.model_validate(
        {
            "server": {
                "host": "127.0.0.1",
                "port": 0,
                "http_port": 0,
                "limits": {"connects_per_device": 0, "connects_per_address": 0},
            },
            "memory": {"store": "none"},
            "assistant": {"wake_reply": words},
        }
    )
    voice = ScriptedTTS(delay=voice_ms / 1000, seconds_per_char=0.01) if voice_ms else None
    spoken, kept = [], []
    async with Server(settings, Providers(tts=voice)) as server:
        await server.start()
        await server.loaded()
        config = DeviceConfig(ws_url=f"ws://127.0.0.1:{server.transport.port}/xiaozhi/v1/")
        await greeted(config, "computer number 0")  # the first use of everything
        for word in [*words][1:]:
            spoken.append(await greeted(config, word))
            kept.append(await greeted(config, word))
    return median(spoken), median(kept)


async def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--voice-ms", type=int, nargs="*", default=[0, 200, 500])
    arguments = parser.parse_args()
    print(f"From the wake word to the first audio, {LEAD_MS} ms of it the start lead:\n")
    print("| voice | spoken | kept | share |")
    print("|---|---|---|---|")
    for voice_ms in arguments.voice_ms:
        spoken, kept = await measure(voice_ms, arguments.runs + 1)
        name = f"{voice_ms} ms" if voice_ms else "eSpeak"
        print(f"| {name} | {spoken:.0f} ms | {kept:.0f} ms | {kept / spoken:.2f} |", flush=True)


if __name__ == "__main__":
    configure_logging("WARNING")
    asyncio.run(main())
