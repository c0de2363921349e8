"""What the tests of the bus have in common: services, and ways to call them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

import pytest

from vixio.bus import ToolBus
from vixio.bus.calls import Route
from vixio.bus.serving import Invoke, Serving, ServingLimits
from vixio.bus.wire import Request

LIMIT = 60.0
"""Seconds for one step; a busy machine is slow."""

on_servers = pytest.mark.parametrize(
    "server", ["nats", "rabbitmq", "pulsar"], indirect=True, scope="session"
)
"""For a test of what the broker in memory does not do: reach other processes, be away, die."""

where_absence_is_known = pytest.mark.parametrize(
    "server", ["memory", "nats", "rabbitmq"], indirect=True, scope="session"
)
"""For a test of what Pulsar does not tell."""

Connect = Callable[[], Awaitable[ToolBus]]

_numbers = count()


def number() -> int:
    """Return a number that no other test has."""
    return next(_numbers)


@asynccontextmanager
async def serving(
    bus: ToolBus,
    queue: str,
    invoke: Invoke,
    *,
    limits: ServingLimits | None = None,
    response_queue: str = "",
) -> AsyncIterator[Serving]:
    """Serve a queue in this context."""
    running = await bus.serve(queue, invoke, limits=limits, response_queue=response_queue)
    try:
        yield running
    finally:
        await running.stop(0)


async def ask(bus: ToolBus, queue: str, **arguments: object) -> str:
    """Call a service without a configuration."""
    return await bus.call(Route(queue), Request("alice", {}, arguments), LIMIT)


async def echo(request: Request) -> str:
    """Answer with the request."""
    return json.dumps([request.user, request.config, request.arguments], ensure_ascii=False)


class Held:
    """A service whose calls wait until the test lets them go."""

    def __init__(self) -> None:
        self.begun: list[object] = []
        self.cancelled: list[object] = []
        self.go = asyncio.Event()

    async def __call__(self, request: Request) -> str:
        """Answer a call when it may go."""
        which = request.arguments.get("number")
        self.begun.append(which)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(which)
            raise
        return f"done {which}"
