"""A real server on real ports, with the default providers or scripted ones in their place."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from firmware_test_client import DeviceConfig
from tests.support import patient
from tests.support.waiting import until
from vixio.core.session.events import Event, TurnEnded
from vixio.core.session.session import Session
from vixio.core.tools.source import ToolSource
from vixio.core.turns.endpointing import EndpointingFactory
from vixio.core.turns.interruption import InterruptionFactory
from vixio.providers.agent import AgentBackend
from vixio.providers.asr import ASRProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.server import Providers, Server
from vixio.settings import Settings
from vixio.testing import ScriptedASR

NO_GAPS = {"jitter_ms": 5_000, "stall_ms": 60_000}
"""A device that lives in the server's process sends nothing while the machine holds up both."""

BOUND_S = 120.0
"""For the start and the end of a server, on a busy machine."""


def zone_at(hour: int) -> str:
    """Return a time zone in which it is this hour now."""
    west = (datetime.now(UTC).hour - hour + 12) % 24 - 12  # the sign of the names is that of POSIX
    return f"Etc/GMT{west:+d}"


def settings(**sections: dict[str, Any]) -> Settings:
    """Return settings for free loopback ports; ``sections`` as in a settings file.

    No limit of time decides a test that does not set it: the machine may be busy. With
    VIXIO_TEST_CARRIER=mqtt devices that ask OTA come by MQTT and UDP.
    """
    server = {"host": "127.0.0.1", "port": 0, "http_port": 0, **sections.pop("server", {})}
    memory = {"store": "none", **sections.pop("memory", {})}
    data = {"database": "none", **sections.pop("data", {})}
    listening = {**NO_GAPS, **sections.pop("listening", {})}
    limits = patient.sections(**sections.pop("timeouts", {}))
    assistant = {**limits["assistant"], **sections.pop("assistant", {})}
    if os.environ.get("VIXIO_TEST_CARRIER") == "mqtt" and server.get("workers", 1) == 1:
        sections.setdefault("mqtt", {"port": 0, "udp_port": 0})
    # The API is a fifth of a second of work in each server: its own tests turn it on.
    api = {"enabled": False, **sections.pop("api", {})}
    own = {
        "server": server,
        "memory": memory,
        "data": data,
        "listening": listening,
        "assistant": assistant,
        "api": api,
    }
    return Settings.model_validate({**limits, **own, **sections})


@dataclass
class RunningServer:
    """A started Server and its addresses."""

    app: Server
    ota_url: str
    ws_url: str
    http_url: str

    def session(self, device_id: str) -> Session | None:
        """Return the running session of a device, if there is one."""
        return self.app.host.sessions.find(device_id)

    def ended_turns(self) -> list[TurnEnded]:
        """Return a list to which every turn that ends from now on is added."""
        ended: list[TurnEnded] = []

        def note(event: Event) -> None:
            if isinstance(event, TurnEnded):
                ended.append(event)

        self.app.host.events.attach(note)
        return ended

    def count(self, name: str) -> int:
        """Return one of the server's counters."""
        return self.app.counters.get(name)

    def device(self, **options: object) -> DeviceConfig:
        """Return the configuration of a device for this server."""
        if "ws_url" not in options:
            options.setdefault("ota_url", self.ota_url)
            # Typed words and commands are no reason for the firmware to send audio.
            options.setdefault("tells_address", True)
            options.setdefault("speak_request", True)
        return DeviceConfig(**cast("dict[str, Any]", options))


@asynccontextmanager
async def serving(
    config: Settings | None = None,
    *,
    vad: VADProvider | None = None,
    asr: ASRProvider | None = None,
    agent: AgentBackend | None = None,
    tts: TTSProvider | None = None,
    vision: VisionProvider | None = None,
    tool_sources: Sequence[ToolSource] = (),
    endpointing: EndpointingFactory | None = None,
    interruption: InterruptionFactory | None = None,
    loaded: bool = True,
) -> AsyncIterator[RunningServer]:
    """Run a server until the block ends; then nothing of it may be left on the loop.

    ``loaded``: are all providers to be ready before it begins?
    """
    config = config or settings()
    if isinstance(asr, ScriptedASR):  # it has an entry for each utterance, and none for its pauses
        listening = config.listening.model_copy(update={"think_ms": 0})
        config = config.model_copy(update={"listening": listening})
    before = asyncio.all_tasks()
    made = Providers(vad=vad, asr=asr, agent=agent, tts=tts, vision=vision)
    app = Server(config, made, tool_sources, endpointing=endpointing, interruption=interruption)
    await app.start()
    assert app.http is not None
    http_url = f"http://127.0.0.1:{app.http.port}"
    try:
        if loaded:
            async with asyncio.timeout(BOUND_S):
                await app.loaded()
        yield RunningServer(
            app,
            ota_url=f"{http_url}/xiaozhi/ota/",
            ws_url=f"ws://127.0.0.1:{app.transport.port}/xiaozhi/v1/",
            http_url=http_url,
        )
    finally:
        async with asyncio.timeout(BOUND_S):
            await app.stop()
        assert not len(app.host.sessions)
        # The end of a fixture is a task of its own.
        before |= {task for task in [asyncio.current_task()] if task}
        # A stand-in for a service sees the end of its connections a bit later.
        await until(
            lambda: all(task.done() for task in asyncio.all_tasks() - before),
            what="the end of all tasks",
        )
