"""Services and callers of TrustGraph's base library on RabbitMQ, with ours on the other side."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.parts import LIMIT, Connect, number
from tests.support.brokers import BrokerServer, missing
from tests.support.servers import python
from vixio.bus import DynamicToolService, ToolBus
from vixio.bus.calls import Route
from vixio.bus.service import ServiceInstance
from vixio.bus.wire import Request
from vixio.core.errors import ToolError

pytestmark = pytest.mark.parametrize("server", ["rabbitmq"], indirect=True, scope="session")

PEER = str(Path(__file__).with_name("trustgraph_peer.py"))

LIBRARY = "VIXIO_TRUSTGRAPH"
"""Environment variable: the folder that trustgraph-base is installed in."""


@pytest.fixture
def name() -> str:
    """Return the name of a service of the test's own."""
    return f"joke-{os.getpid()}-{number()}"


@asynccontextmanager
async def peer(server: BrokerServer, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the other side in a process of its own, which knows nothing of Vixio."""
    folder = os.environ.get(LIBRARY)
    if not folder:
        missing("trustgraph-base is not installed")
    command, *rest = arguments
    async with python(
        *(PEER, command, str(server.port), *rest),
        env={**os.environ, "PYTHONPATH": folder},
        stdout=asyncio.subprocess.PIPE,
    ) as process:
        yield process


async def line(process: asyncio.subprocess.Process) -> Any:  # noqa: ANN401 - JSON
    """Return the next value that the process prints."""
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT):
        return json.loads(await process.stdout.readline())


async def lines(process: asyncio.subprocess.Process) -> list[Any]:
    """Return all values that the process prints until it ends."""
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT):
        printed = await process.stdout.read()
    return [json.loads(each) for each in printed.splitlines()]


async def test_their_service_is_called(server: BrokerServer, caller: ToolBus, name: str) -> None:
    route = Route(f"request:tg:{name}", f"response:tg:{name}")
    await caller.listen(route.response_queue)
    async with peer(server, "serve", name) as process:
        assert await line(process) == "serving"
        request = Request("爱丽丝", {"style": "pun"}, {"topic": "猫", "n": 2**60})
        answer = await caller.call(route, request, LIMIT)
        assert json.loads(answer) == [{"style": "pun"}, {"topic": "猫", "n": 2**60}]
        heard: list[str] = []
        pieces = [f"{number} " for number in range(50)]
        whole = await caller.call(route, Request("", {}, {"pieces": pieces}), LIMIT, heard.append)
        assert heard == pieces
        assert whole == "".join(pieces)
        with pytest.raises(ToolError, match="no such joke") as caught:
            await caller.call(route, Request("", {}, {"fail": "no such joke"}), LIMIT)
        assert caught.value.type == "failed"


async def test_calls_to_their_service_are_matched(
    server: BrokerServer, caller: ToolBus, name: str
) -> None:
    route = Route(f"non-persistent://tg/request/{name}", f"response:tg:{name}")
    await caller.listen(route.response_queue)
    async with peer(server, "serve", name) as process:
        assert await line(process) == "serving"
        requests = [Request("", {}, {"number": n}) for n in range(30)]
        answers = await asyncio.gather(*(caller.call(route, each, LIMIT) for each in requests))
        assert [json.loads(each)[1]["number"] for each in answers] == list(range(30))


class EchoService(DynamicToolService):
    """Answers with what it was asked, with an error, or in pieces."""

    def __init__(self, name: str) -> None:
        self.request_queue = f"request:tg:{name}"  # type: ignore[misc]
        self.response_queue = f"response:tg:{name}"  # type: ignore[misc]

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> object:
        if "fail" in arguments:
            raise ToolError("not_found", arguments["fail"])
        if "pieces" in arguments:
            return pieces_of(arguments["pieces"])
        return [user, config, arguments]


async def pieces_of(pieces: list[str]) -> AsyncIterator[str]:
    """Say a text piece by piece."""
    for piece in pieces:
        yield piece


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("call", {"topic": "猫"}, [{"response": '["",{"style":"pun"},{"topic":"猫"}]'}]),
        ("call", {"fail": "no such joke"}, [{"error": "no such joke"}]),
        ("stream", {"pieces": ["a", "b"]}, [["a", False], ["b", False], ["", True]]),
    ],
    ids=["answer", "error", "stream"],
)
async def test_our_service_is_called_by_their_client(
    server: BrokerServer,
    connected: Connect,
    name: str,
    command: str,
    arguments: dict[str, Any],
    expected: list[Any],
) -> None:
    instance = ServiceInstance(EchoService(name), await connected(), announce="")
    await instance.start()
    try:
        async with peer(server, command, name, json.dumps(arguments)) as process:
            assert await lines(process) == expected
    finally:
        await instance.stop(0)


async def test_their_queue_keeps_no_request_beyond_its_deadline(
    server: BrokerServer, caller: ToolBus, name: str
) -> None:
    """Their queue outlives their service, which would execute what it finds there."""
    route = Route(f"request:tg:{name}", f"response:tg:{name}")
    await caller.listen(route.response_queue)
    async with peer(server, "serve", name) as process:
        assert await line(process) == "serving"
    with pytest.raises(ToolError) as caught:
        await caller.call(route, Request("", {}, {"topic": "late"}), 0.2)
    assert caught.value.type == "timeout"
    async with peer(server, "serve", name) as process:
        assert await line(process) == "serving"
        answer = await caller.call(route, Request("", {}, {"topic": "now"}), LIMIT)
        assert json.loads(answer)[1] == {"topic": "now"}
    assert "bus.answers.late" not in caller.counters.snapshot()
