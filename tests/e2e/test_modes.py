"""A spoken turn in every listening mode, binary version and frame duration, in both directions."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import MeteredTTS, WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.testing import ScriptedAgentBackend

PHRASES = ("good morning", "close the window", "what is the time", "how are you", "tell me more")
"""One for each device of a server: eSpeak does not always give a text the same length."""

UPLINK_RATES = {20: 16_000, 40: 24_000, 60: 16_000}
OTHER_UPLINK_RATES = {20: 8_000, 40: 12_000, 60: 48_000}

WAYS = tuple(product(("auto", "manual", "realtime"), (1, 2, 3), (20, 40, 60)))
"""Mode × version × uplink frame duration: 27, dealt out to the downlink formats."""

DOWNLINK = ((24_000, 60), (16_000, 20), (48_000, 40), (8_000, 60), (12_000, 20), (24_000, 40))


def configs(server: RunningServer, number: int) -> list[DeviceConfig]:
    """Return the devices of downlink format ``number``: each way comes up exactly once."""
    made: list[DeviceConfig] = []
    for index in range(number, len(WAYS), len(DOWNLINK)):
        mode, version, frame_ms = WAYS[index]
        rates = UPLINK_RATES if index % 2 else OTHER_UPLINK_RATES
        made.append(
            server.device(
                mode=mode, version=version, uplink_frame_ms=frame_ms, uplink_rate=rates[frame_ms]
            )
        )
    return made


async def converse(
    server: RunningServer, config: DeviceConfig, phrase: str, tts: MeteredTTS
) -> None:
    """One spoken turn, from the OTA request to the device's listening again."""
    async with SimulatedDevice(config) as device:
        if config.mode == "manual":
            reply = await device.press_to_talk(phrase)
        else:
            reply = await device.ask(phrase)
        assert reply.stt == phrase
        assert reply.text == f"You said {phrase}."
        assert_played_well(reply)
        made = 1000 * tts.seconds[reply.text]
        packet = server.app.settings.output.frame_ms
        # The resampler and the last packet may add, nothing may be missing. Packets that reach a
        # device before it speaks were sent all the same: see tests/e2e/checks.py.
        assert made - 1 <= reply.audio_ms + reply.too_early_ms <= made + 2 * packet
        assert abs(1000 * reply.heard.duration - reply.audio_ms) < 1
        assert reply.heard.rms > 500, "about -36 dBFS: speech, not comfort noise"
        after = {"auto": "listening", "manual": "idle", "realtime": "listening"}
        assert device.state == after[config.mode]
        assert_nothing_wrong(device)


@pytest.mark.parametrize("number", range(len(DOWNLINK)), ids=lambda number: str(DOWNLINK[number]))
async def test_a_spoken_turn(number: int) -> None:
    rate, frame_ms = DOWNLINK[number]
    recogniser = WaveformASR(await recordings(PHRASES))
    tts = MeteredTTS(EspeakTTSProvider())
    config = settings(output={"sample_rate": rate, "frame_ms": frame_ms})
    async with serving(config, asr=recogniser, agent=ScriptedAgentBackend(), tts=tts) as server:
        devices = configs(server, number)
        assert len(devices) >= 4
        async with asyncio.TaskGroup() as group:
            for index, device in enumerate(devices):
                group.create_task(converse(server, device, PHRASES[index], tts))
        assert server.count("turn.outcome.answered") == len(devices)
