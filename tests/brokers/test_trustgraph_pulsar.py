"""The original: services and callers written with TrustGraph's own library, over Pulsar.

``make test-brokers`` installs that library in a directory of its own and names it in
``VIXIO_TRUSTGRAPH_PULSAR``; no code of Vixio runs in its processes.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.brokers.parts import LIMIT, ask, number
from tests.brokers.test_ends import signs
from tests.support.brokers import missing
from tests.support.servers import python
from tests.support.waiting import until
from vixio.bus import DynamicToolService, ToolBus
from vixio.bus.calls import Route
from vixio.bus.service import ServiceInstance
from vixio.bus.wire import Request
from vixio.core.errors import ToolError

PEER = str(Path(__file__).with_name("trustgraph_pulsar_peer.py"))

LIBRARY = "VIXIO_TRUSTGRAPH_PULSAR"

pytestmark = pytest.mark.parametrize("server", ["pulsar"], indirect=True)


@pytest.fixture
def topic() -> str:
    """Return the last part of a test's own queues."""
    return f"peer-{os.getpid()}-{number()}"


class Peer:
    """A process that runs TrustGraph's library."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def said(self) -> Any:  # noqa: ANN401 - JSON
        """Return the next thing that it says."""
        assert self._process.stdout is not None
        other: list[bytes] = []
        async with asyncio.timeout(LIMIT):
            while line := await self._process.stdout.readline():
                word, _, rest = line.partition(b" ")
                if word == b"peer":
                    return json.loads(rest)
                other.append(line)
        pytest.fail(f"it has ended: {b''.join(other[-20:]).decode()}")


@asynccontextmanager
async def peer(*words: str) -> AsyncIterator[Peer]:
    """Run a peer."""
    directory = os.environ.get(LIBRARY, "")
    if not (Path(directory) / "trustgraph").is_dir() or not directory:
        missing(f"{LIBRARY} names no directory with trustgraph-base")
    async with python(
        "-S",  # no packages but those of the directory
        PEER,
        *words,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": directory},
        cwd=directory,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=1 << 20,
    ) as process:
        yield Peer(process)


async def test_a_service_of_the_original_is_called(caller: ToolBus, url: str, topic: str) -> None:
    route = Route(f"request:tg:{topic}", f"response:tg:{topic}")
    await caller.listen(route.response_queue)
    async with peer("serve", url, topic) as running:
        assert await running.said() == "starts"
        request = Request("爱丽丝", {"style": "pun"}, {"topic": "cats", "n": 5})
        expected = {
            "user": "爱丽丝",
            "config": {"style": "pun"},
            "arguments": {"topic": "cats", "n": 5},
        }
        assert json.loads(await first_answer(caller, route, request)) == expected

        with pytest.raises(ToolError, match="no cheese") as caught:
            await caller.call(route, Request("", {}, {"fail": "no cheese"}), LIMIT)
        assert caught.value.type == "failed"

        heard: list[str] = []
        whole = await caller.call(route, Request("", {}, {"pieces": 20}), LIMIT, heard.append)
        assert heard == [*(f"{each} " for each in range(20)), "end"]
        assert whole == "".join(heard)


async def first_answer(caller: ToolBus, route: Route, request: Request) -> str:
    """Call until the service serves: it says so by nothing, and what comes before is lost."""
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                return await caller.call(route, request, 1.0)
            except ToolError as error:
                if error.type != "timeout":
                    raise


class Cheese(DynamicToolService):
    """The service that the original calls."""

    served: ClassVar[list[Any]] = []
    slow: ClassVar[asyncio.Event]

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - text or pieces
        """Answer with the request, fail, or answer in pieces."""
        self.served.append([user, config, arguments])
        if "fail" in arguments:
            raise ToolError("not_found", arguments["fail"])
        if "pieces" in arguments:
            return self._count(arguments["pieces"])
        if "slow" in arguments:
            await self.slow.wait()
            return "at last"
        return {"arguments": arguments}

    async def _count(self, pieces: int) -> AsyncIterator[str]:
        for each in range(pieces):
            yield f"{each} "


async def test_a_service_is_called_by_the_original(
    caller: ToolBus, service: ToolBus, url: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.bus.serving.SIGN_OF_LIFE_S", 0.1)
    Cheese.slow = asyncio.Event()
    Cheese.served.clear()
    monkeypatch.setattr(Cheese, "id", topic)
    instance = ServiceInstance(Cheese(), service, announce="")
    await instance.start()
    async with peer("call", url, topic) as running:
        assert json.loads(await running.said()) == {"arguments": {"topic": "Käse", "n": 5}}
        assert Cheese.served == [["alice", {"style": "pun"}, {"topic": "Käse", "n": 5}]]
        assert await running.said() == "error: no cheese"
        assert await running.said() == ["0 1 2 3 4 ", ["0 ", "1 ", "2 ", "3 ", "4 "]]

        # A sign of life would be the whole answer to a caller that does not know it.
        await until(lambda: len(Cheese.served) == 4, what="the slow call", seconds=LIMIT)
        other = asyncio.create_task(ask(caller, f"request:tg:{topic}", slow=True))
        await signs(caller)
        Cheese.slow.set()
        assert await running.said() == "at last"
        assert await other == "at last"
    await instance.stop(0)
