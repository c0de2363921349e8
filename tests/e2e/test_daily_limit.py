"""The limit of turns a day on a real server: across connections, devices and a restart."""

from __future__ import annotations

from pathlib import Path

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings, zone_at
from tests.support.waiting import until
from vixio.core.messages import message
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ScriptedVAD

KITCHEN, OFFICE = "02:00:00:00:00:01", "02:00:00:00:00:02"
LIMIT = message("daily_limit", "de")


async def asked(server: RunningServer, device_id: str) -> str:
    """Type a question over a new connection; return the answer."""
    async with SimulatedDevice(server.device(device_id=device_id)) as device:
        return (await device.type_text("Wie geht es?")).text


async def test_the_limit_holds_for_a_device_whatever_it_does(tmp_path: Path) -> None:
    config = settings(
        # At noon no day begins soon: each day has its own count.
        assistant={"daily_turns": 3, "language": "de", "time_zone": zone_at(12)},
        devices={OFFICE: {"daily_turns": 0}},
        data={"folder": str(tmp_path), "database": ""},
    )
    voice = ScriptedTTS(seconds_per_char=0.01)
    agent = ScriptedAgentBackend(lambda text: ("Gut.",))

    async with serving(
        config, vad=ScriptedVAD(), asr=WaveformASR({}), agent=agent, tts=voice
    ) as server:
        assert [await asked(server, KITCHEN) for _ in range(2)] == ["Gut."] * 2
        assert [await asked(server, OFFICE) for _ in range(5)] == ["Gut."] * 5
    async with serving(
        config, vad=ScriptedVAD(), asr=WaveformASR({}), agent=agent, tts=voice
    ) as server:
        async with SimulatedDevice(server.device(device_id=KITCHEN)) as device:
            daily = server.app.host.daily_turns
            await until(lambda: daily.taken(KITCHEN) == 2, what="the count of before")
            assert (await device.type_text("Und sonst?")).text == "Gut."
            assert (await device.type_text("Und sonst?")).text == LIMIT
        assert await asked(server, KITCHEN) == LIMIT
        assert server.count("turn.over_daily_limit") == 2
        assert sum(len(each.requests) for each in agent.agents) == 8
