"""A tool source that fails in any way costs its own tools; the server serves without it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.harness import serving
from vixio.core.timeouts import Timeouts
from vixio.core.tools.source import FixedSource, ToolSource
from vixio.core.tools.types import ToolDefinition
from vixio.settings import Settings
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

LIMIT = 50.0


class Unlisted(ToolSource):
    def tools(self) -> Sequence[ToolDefinition]:
        raise RuntimeError("not connected")


class Hanging(FixedSource):
    async def start(self) -> None:
        await asyncio.Event().wait()


class Unclosed(FixedSource):
    async def close(self) -> None:
        raise OSError("broker gone")


class Backend(ScriptedAgentBackend):
    closed = False

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        (Unlisted("bad"), "list_failed"),
        (Hanging("bad", ()), "start_late"),
        (Unclosed("bad", ()), "close_failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ToolSource) else None,
)
async def test_the_server_serves_and_stops_without_it(
    monkeypatch: pytest.MonkeyPatch, source: ToolSource, counted: str
) -> None:
    limits = Settings.time_limits

    def short(settings: Settings) -> Timeouts:
        return replace(limits(settings), tool_start=0.2)

    monkeypatch.setattr(Settings, "time_limits", short)
    agent = Backend(lambda words: [f"{words}!"])
    async with (
        asyncio.timeout(LIMIT),
        serving(agent=agent, tts=ScriptedTTS(), tool_sources=[source]) as running,
    ):
        assert running.app.health()["status"] == "ok"
        assert not running.app.admission.loading
        async with SimulatedDevice(running.device()) as device:
            assert (await device.type_text("hello")).text == "hello!"
        async with await running.app.conversation("kitchen-test") as conversation:
            assert (await conversation.ask("hello")).text == "hello!"
    assert running.count(f"tool.bad.{counted}")
    assert agent.closed
