"""Services in memory and a runtime over them, for the tests of the broker's tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, ClassVar

from vixio.bus import DynamicToolService, ToolError, connect
from vixio.bus.service import ServiceInstance
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools, TurnTools
from vixio.core.tools.types import ToolCallResult
from vixio.tools.broker.source import BrokerSource
from vixio.tools.registry import SourceContext, resolve

LIMIT = 30.0

ARGUMENTS = [{"name": "topic", "type": "string", "description": "About what."}]
JOKE: dict[str, Any] = {
    "id": "joke-service",
    "request-queue": "non-persistent://tg/request/joke",
    "response-queue": "non-persistent://tg/response/joke",
    "config-params": [{"name": "style", "required": False}],
}
TELL: dict[str, Any] = {
    "type": "tool-service",
    "name": "tell-joke",
    "description": "Tell a joke on a given topic",
    "service": "joke-service",
    "style": "pun",
    "arguments": ARGUMENTS,
}

_numbers = count()


class Joke(DynamicToolService):
    """The document's service. ``calls``: what it was called with."""

    id = "joke-service"
    request_queue = JOKE["request-queue"]
    response_queue = JOKE["response-queue"]
    config_params = tuple(JOKE["config-params"])

    def __init__(self) -> None:
        self.calls: list[tuple[str, object, object]] = []
        self.errors: list[ToolError] = []
        """Raised by the next calls."""

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> str:
        """Return a joke."""
        self.calls.append((user, config, arguments))
        if self.errors:
            raise self.errors.pop(0)
        return f"A {config.get('style')} about {arguments['topic']}."


class Announced(Joke):
    """The same, and it announces its tool."""

    tools: ClassVar[Sequence[dict[str, Any]]] = (
        {"name": "tell-joke", "description": "Announced.", "arguments": ARGUMENTS},
    )


class Place:
    """A broker in memory, with services and a runtime on it."""

    def __init__(self) -> None:
        self.url = f"memory://source-{next(_numbers)}"
        self.counters = Counters()

    @asynccontextmanager
    async def service(self, service: DynamicToolService) -> AsyncIterator[ServiceInstance]:
        """Run a service in this context."""
        bus = connect(self.url)
        await bus.start()
        await bus.ready()
        instance = ServiceInstance(service, bus)
        await instance.start()
        try:
            yield instance
        finally:
            await instance.stop(0)
            await bus.close()

    @asynccontextmanager
    async def runtime(self, **options: Any) -> AsyncIterator[tuple[ToolRuntime, BrokerSource]]:  # noqa: ANN401 - as in the settings
        """Run a runtime with the broker as its only source."""
        factory = resolve("broker")
        settings = factory.settings_model.model_validate({"url": self.url, **options})
        context = SourceContext("broker", counters=self.counters, place="tools.broker")
        source = factory.create(settings, context)
        assert isinstance(source, BrokerSource)
        runtime = ToolRuntime([source], counters=self.counters)
        await runtime.start()
        await runtime.ready(LIMIT)
        try:
            yield runtime, source
        finally:
            await runtime.close()


def names(session: SessionTools) -> list[str]:
    """Return what the model is offered."""
    return [tool.name for tool in session.toolset.definitions()]


async def call(
    session: SessionTools, name: str, turn: TurnTools | None = None, **arguments: object
) -> ToolCallResult:
    """Call a tool as the model does."""
    turn = turn or session.begin_turn(1, "en")
    tool = next(tool for tool in session.toolset.definitions() if tool.name == name)
    async with asyncio.timeout(LIMIT):
        return await turn.run(tool, json.dumps(arguments))
