"""One host, two ports: limits, conversations and the replacement of a connection are shared."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.errors import DeviceError
from tests.e2e.harness import settings
from tests.support.waiting import until
from vixio.core.errors import ConfigError
from vixio.core.history import UserMessage
from vixio.core.host import SessionHost
from vixio.core.pipeline import Pipeline
from vixio.core.transport import TransportBase
from vixio.server import Providers, Server
from vixio.stations.agent import AgentStation
from vixio.stations.asr import ASRStation
from vixio.stations.sentence_aggregator import SentenceAggregatorStation
from vixio.stations.text_aggregator import TextAggregatorStation
from vixio.stations.tts import TTSStation
from vixio.stations.turn_detector import TurnDetectorStation
from vixio.stations.vad import VADStation
from vixio.testing import (
    ScriptedAgent,
    ScriptedAgentBackend,
    ScriptedASR,
    ScriptedTTS,
    ScriptedVAD,
)
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.transport import XiaozhiTransport

DEVICE = "aa:bb:cc:dd:ee:01"
OTHER = "aa:bb:cc:dd:ee:02"


async def create_pipeline(transport: TransportBase, session_id: str) -> Pipeline:
    return Pipeline(
        stations=[
            VADStation(ScriptedVAD()),
            TurnDetectorStation(),
            ASRStation(ScriptedASR()),
            TextAggregatorStation(),
            AgentStation(ScriptedAgent()),
            SentenceAggregatorStation(),
            TTSStation(ScriptedTTS(seconds_per_char=0.01)),
        ]
    )


@asynccontextmanager
async def hosting(**limits: int) -> AsyncIterator[SessionHost]:
    """Run a host of two ports with one admission, with these settings."""
    admission = Admission(AdmissionSettings(**limits))  # type: ignore[arg-type]
    local = XiaozhiSettings(host="127.0.0.1", port=0)
    transports = [XiaozhiTransport(local, admission) for _ in range(2)]
    host = SessionHost(transports, create_pipeline, counters=admission.counters)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


def device(host: SessionHost, port: int, device_id: str = DEVICE) -> SimulatedDevice:
    """Return a device that connects to one of the two ports."""
    transport = host.transports[port]
    assert isinstance(transport, XiaozhiTransport)
    url = f"ws://127.0.0.1:{transport.port}/xiaozhi/v1/"
    return SimulatedDevice(DeviceConfig(ws_url=url, device_id=device_id))


async def test_a_device_that_comes_to_the_other_port_replaces_itself() -> None:
    async with hosting() as host, device(host, 0) as older:
        assert (await older.type_text("one")).text == "You said one."
        async with device(host, 1) as newer, device(host, 1, OTHER) as other:
            assert (await older.wait_for_close()).code == 4001
            assert (await newer.type_text("two")).text == "You said two."
            assert (await other.type_text("three")).text == "You said three."
            turns = host.histories.get(DEVICE).turns
            said = [
                item.text for turn in turns for item in turn.items if isinstance(item, UserMessage)
            ]
            assert said == ["one", "two"], "the conversation goes on"
            assert len(host.sessions) == 2
            stats = host.stats()
            assert stats["connected"] == 2
            assert [each["connected"] for each in stats["transports"]] == [0, 2]


async def test_limits_hold_for_both_ports_together() -> None:
    async with hosting(max_connections=1) as host, device(host, 0):
        with pytest.raises(DeviceError):
            await device(host, 1, OTHER).start()
        assert host.counters.get("admission.refused.full") == 1
        async with device(host, 1):  # the same device takes its own place
            await until(lambda: host.stats()["connected"] == 1, what="the older one's end")


async def test_a_server_starts_transports_beside_its_own() -> None:
    """Its health page counts their devices, and a camera of theirs would find its session."""
    made: list[XiaozhiTransport] = []

    def second(admission: Admission) -> XiaozhiTransport:
        made.append(XiaozhiTransport(XiaozhiSettings(host="127.0.0.1", port=0), admission))
        return made[-1]

    providers = Providers(
        vad=ScriptedVAD(), asr=ScriptedASR(), agent=ScriptedAgentBackend(), tts=ScriptedTTS()
    )
    async with Server(settings(), providers, transports=[second]) as server:
        await server.start()
        (transport,) = made
        url = f"ws://127.0.0.1:{transport.port}/xiaozhi/v1/"
        async with SimulatedDevice(DeviceConfig(ws_url=url, device_id=DEVICE)) as device:
            assert (await device.type_text("one")).text == "You said one."
            assert server.health()["connected"] == 1
            assert server.sessions.find(DEVICE) is not None
    assert transport.stats()["connected"] == 0


async def test_a_host_whose_second_port_is_taken_leaves_the_first() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        admission = Admission()
        ports = [0, taken.getsockname()[1]]
        transports = [
            XiaozhiTransport(XiaozhiSettings(host="127.0.0.1", port=port), admission)
            for port in ports
        ]
        host = SessionHost(transports, create_pipeline)
        began = asyncio.all_tasks()
        with pytest.raises(ConfigError, match="is in use"):
            await host.start()
        assert transports[0]._carrier._server is None  # type: ignore[attr-defined]
        assert asyncio.all_tasks() <= began
