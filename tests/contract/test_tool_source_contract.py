"""Every type of tool source keeps the contract."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.support.a2a_agent import echoing_agent
from vixio.core.tools.source import ToolSource
from vixio.testing.contract import ToolSourceContract
from vixio.testing.contract.base import Creator
from vixio.tools.registry import SourceContext, resolve, types
from vixio_bench.home_assistant import HomeAssistantService

PLAIN_MCP = Path(__file__).parents[1] / "support" / "plain_mcp.py"

REST = {"name": "tide", "description": "The tide.", "url": "http://127.0.0.1:9/x"}
DOCUMENT = {
    "openapi": "3.1.0",
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {"/lamp": {"get": {"operationId": "getLamp", "summary": "Get the lamp."}}},
}
SERVICE = {"id": "joke", "request-queue": "request:tg:joke"}
OPTIONS: dict[str, dict[str, object]] = {
    "a2a": {"allow_private": True},
    "broker": {
        "url": "memory://contract",
        "services": [SERVICE],
        "tools": [{"name": "tell-joke", "description": "A joke.", "service": "joke"}],
    },
    "builtin": {},
    "media": {"stations": {"Jazz": "http://127.0.0.1:9/jazz"}},
    "local": {"modules": ["tests.contract.local_tools"]},
    "mcp": {"command": sys.executable, "args": [str(PLAIN_MCP)]},
    "knowledge": {
        "service": "ragflow",
        "base_url": "http://127.0.0.1:9",
        "api_key": "k",
        "datasets": ["a"],
    },
    "ready": {"calculator": {}, "dates": {}, "search": {"api_key": "k"}},
    "rest": {"tools": [{**REST, "allow_private": True}]},
    "openapi": {"document": "document.json", "operations": ["getLamp"], "allow_private": True},
}


HOME = "home-assistant"
"""An MCP server that gives tools of its own to the phrase book, which stay without it."""


def test_the_table_has_every_type() -> None:
    assert set(types()) == set(OPTIONS)


class TestToolSource(ToolSourceContract):
    @pytest.fixture(params=[*sorted(OPTIONS), HOME])
    def creator(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Creator[ToolSource]:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "document.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
        factory = resolve("mcp" if request.param == HOME else request.param)

        @asynccontextmanager
        async def create() -> AsyncIterator[ToolSource]:
            given = OPTIONS.get(request.param, {})
            async with AsyncExitStack() as served:
                if request.param == "a2a":
                    agent = await served.enter_async_context(echoing_agent().serving())
                    given = {**given, "url": agent.url}
                if request.param == HOME:
                    home = await served.enter_async_context(HomeAssistantService())
                    given = home.section
                options = factory.settings_model.model_validate(given)
                yield factory.create(options, SourceContext(request.param))

        return create
