"""What a tool on a broker costs: the whole call beside the library's own request and reply.

    python scripts/bench_broker.py

``scripts/bench_tools.py`` prints it too. On a real NATS server, which it starts; the service is a
process of its own in both cases: ``vixio tool-service``, and a responder of nats-py alone. Both get
the same body and headers and answer with the same, as they were seen on the wire. The calls
alternate, one of each kind.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench_broker_service import QUEUE
from vixio.bus.queues import canonical
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import TurnTools
from vixio.core.tools.types import ToolDefinition
from vixio.tools.registry import SourceContext, resolve
from vixio_bench.nats_server import HOW_TO_GET, find_program, nats_server

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

CALLS = 2_000
MARK_MS = 1.0
"""The whole call takes at most so much longer than the library's (p50)."""

RAW = "bench.raw"
ARGUMENTS = json.dumps({"text": "It is cold and dry. " * 25, "number": 3})
START_S = 60.0

HERE = Path(__file__).resolve().parent
MAIN = "from vixio.cli.commands import main; main()"


@asynccontextmanager
async def process(*words: str) -> AsyncIterator[Process]:
    """Run Python with ``words`` until the block ends."""
    paths = os.pathsep.join((str(HERE), *filter(None, sys.path)))
    child = await asyncio.create_subprocess_exec(
        sys.executable, *words, env={**os.environ, "PYTHONPATH": paths}, stdout=PIPE, cwd=HERE
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


@asynccontextmanager
async def runtime(url: str) -> AsyncIterator[tuple[TurnTools, ToolDefinition]]:
    """Run the tool runtime with the service's tool; yields a turn and the tool."""
    factory = resolve("broker")
    service = {"id": "echo", "request-queue": QUEUE}
    arguments = [{"name": "text", "type": "string"}, {"name": "number", "type": "integer"}]
    tool = {
        "name": "echo",
        "description": "Say the same.",
        "service": "echo",
        "arguments": arguments,
    }
    settings = factory.settings_model.model_validate(
        {"url": url, "services": [service], "tools": [tool]}
    )
    host = ToolRuntime([factory.create(settings, SourceContext("broker"))])
    await host.start()
    try:
        await host.ready(START_S)
        session = host.open("02:00:00:00:00:01", "session")
        try:
            yield session.begin_turn(1, "en"), session.toolset.definitions()[0]
        finally:
            await session.close()
    finally:
        await host.close()


async def answers(turn: TurnTools, tool: ToolDefinition) -> None:
    """Wait until the service answers."""
    async with asyncio.timeout(START_S):
        while not (await turn.run(tool, ARGUMENTS)).success:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


async def seen(client: Client, call: Callable[[], Awaitable[object]]) -> tuple[Msg, Msg]:
    """Return the request and the answer of a call, as they are on the wire."""
    requests = await client.subscribe(canonical(QUEUE))
    replies = await client.subscribe("_INBOX.vixio.reply.>")
    await client.flush()
    await call()
    messages = await requests.next_msg(START_S), await replies.next_msg(START_S)
    await requests.unsubscribe()
    await replies.unsubscribe()
    await client.flush()
    return messages


async def alternately(*works: Callable[[], Awaitable[object]]) -> list[list[float]]:
    """Return the milliseconds of each work, :data:`CALLS` times in turns, sorted."""
    taken: list[list[float]] = [[] for _ in works]
    for number in range(CALLS + CALLS // 10):
        for work, its in zip(works, taken, strict=True):
            began = perf_counter()
            await work()
            if number >= CALLS // 10:  # the first ones warm up
                its.append((perf_counter() - began) * 1000)
    return [sorted(its) for its in taken]


def show(name: str, ms: Sequence[float]) -> None:
    """Print a line of the table."""
    p50, p95 = statistics.median(ms), ms[int(len(ms) * 0.95)]
    print(f"  {name:30} {p50:8.3f} {p95:8.3f}")


async def measure() -> bool:
    """Print the table; return whether the mark is met. Prints one line without a server."""
    if find_program() is None:
        print(f"tool on a broker: {HOW_TO_GET}")
        return True
    import nats

    async with nats_server() as url:
        client = await nats.connect(url)
        service = ("-c", MAIN, "tool-service", "bench_broker_service:Echo", "--url", url)
        async with process(*service, "--log-level", "WARNING"), runtime(url) as (turn, tool):

            async def whole() -> None:
                result = await turn.run(tool, ARGUMENTS)
                assert result.success, result.error  # noqa: S101 - a failure would be fast

            await answers(turn, tool)
            request, answer = await seen(client, whole)
            headers = dict(request.headers or {})
            given = (url, RAW, answer.data.decode(), json.dumps(answer.headers))
            async with process(str(HERE / "bench_broker_service.py"), *given) as responder:
                assert responder.stdout is not None  # noqa: S101 - PIPE
                await asyncio.wait_for(responder.stdout.readline(), START_S)

                async def raw() -> None:
                    await client.request(RAW, request.data, timeout=START_S, headers=headers)

                raw_ms, whole_ms = await alternately(raw, whole)
        await client.close()
    size = len(request.data), len(answer.data)
    print(f"tool on NATS, {size[0]} bytes there and {size[1]} back (ms)      p50      p95")
    show("nats-py, request and reply", raw_ms)
    show("a call through the runtime", whole_ms)
    more = statistics.median(whole_ms) - statistics.median(raw_ms)
    met = more <= MARK_MS
    print(f"  more, at most {MARK_MS:g}: {'met' if met else 'MISSED':14} {more:8.3f}")
    return met


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(measure()) else 1)
