"""Three nodes behind haproxy with NATS and PostgreSQL: real processes, to be killed and stopped."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cluster import node
from tests.cluster.gate import Gate, gate
from tests.e2e.processes import Running, running
from tests.support import patient
from tests.support.nats_nodes import SECRET, JetStreamServer
from tests.support.nats_servers import NatsServers
from tests.support.servers import free_ports

PROXY_CONFIG = Path("deploy/haproxy.cfg")
LONG = 90.0


class Node:
    """One node: its ports, and its process while it runs."""

    def __init__(self, number: int, folder: Path) -> None:
        self.number = number
        self.folder = folder
        self.port, self.http_port = free_ports(2)
        self.running: Running | None = None
        self.bus: Gate | None = None
        """Its way to the bus."""

    @property
    def settings(self) -> Path:
        """Its settings; beside them is the socket for commands."""
        return self.folder / f"node{self.number}.yaml"

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self.running is not None
        self.running.process.send_signal(number)

    async def page(self, path: str) -> tuple[int, Any]:
        """Return the status and the JSON of a page; 0 if there is no answer."""

        def fetch() -> tuple[int, Any]:
            url = f"http://127.0.0.1:{self.http_port}{path}"
            try:
                with urllib.request.urlopen(url, timeout=10) as page:
                    return page.status, json.load(page)
            except urllib.error.HTTPError as error:
                return error.code, None
            except OSError:
                return 0, None

        return await asyncio.to_thread(fetch)


class Proxy:
    """haproxy with the configuration that we give out, on this machine's ports."""

    def __init__(self, folder: Path, nodes: list[Node]) -> None:
        program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            pytest.fail("haproxy is not installed")
        self._program = program
        (self.port,) = free_ports(1)
        text = PROXY_CONFIG.read_text(encoding="utf-8")
        text = text.replace("bind :8000", f"bind 127.0.0.1:{self.port}")
        text = text.replace(" check port 8003", " check")
        for each in nodes:
            text = text.replace(
                f"node{each.number}:8000", f"127.0.0.1:{each.port} port {each.http_port}"
            )
            text = text.replace(f"node{each.number}:8003", f"127.0.0.1:{each.http_port}")
        self._socket = folder / "haproxy.sock"
        text += f"\nglobal\n  stats socket {self._socket}\n"
        self._config = folder / "haproxy.cfg"
        self._config.write_text(text, encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [self._program, "-db", "-f", str(self._config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    async def ready(self) -> set[str]:
        """Return the names of the nodes that haproxy takes for ready."""
        reader, writer = await asyncio.open_unix_connection(self._socket)
        writer.write(b"show stat\n")
        rows = [line.split(",") for line in (await reader.read()).decode().splitlines()]
        writer.close()
        status = rows[0].index("status")
        return {
            row[1] for row in rows[1:] if len(row) > status and row[status].startswith("UP")
        } & {"node1", "node2", "node3"}

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


Environment = Callable[[Node], Mapping[str, str]]


class Fleet:
    """The whole. ``environment``: that of a node's process, beside the usual one.

    ``sections``: of the settings, beside the usual ones.
    """

    def __init__(
        self,
        folder: Path,
        bus: JetStreamServer | NatsServers,
        database: str,
        environment: Environment = lambda node: {},
        sections: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.folder = folder
        self._more = sections or {}
        self._bus = bus
        self._environment = environment
        self.url = database
        """Of the database, past the way of the nodes."""
        self.database: Gate | None = None
        """The way of all nodes to the database."""
        self.nodes = [Node(number, folder) for number in (1, 2, 3)]
        self.proxy = Proxy(folder, self.nodes)
        self._stack = AsyncExitStack()
        self.logs: list[Running] = []

    @property
    def ota_url(self) -> str:
        """The OTA address that devices have."""
        return f"http://127.0.0.1:{self.proxy.port}/xiaozhi/ota/"

    async def __aenter__(self) -> Fleet:
        try:
            if isinstance(self._bus, JetStreamServer):
                for each in self.nodes:
                    each.bus = await self._stack.enter_async_context(gate(self._bus.port))
            port = urlsplit(self.url).port
            assert port is not None
            self.database = await self._stack.enter_async_context(gate(port))
            await asyncio.gather(*(self.start(each) for each in self.nodes))
            await self.until_known(3)
            self.proxy.start()
            await self.until_served()
        except BaseException as error:
            error.add_note("the nodes said:\n" + self.said()[-8_000:])
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.proxy.kill()
        await self._stack.aclose()

    async def start(self, each: Node) -> None:
        """Start a node, and wait until it is ready."""
        command = (sys.executable, "-m", node.__name__, self._settings(each))
        each.running = await self._stack.enter_async_context(
            running(command, Path.cwd(), {"HOME": str(self.folder), **self._environment(each)})
        )
        self.logs.append(each.running)
        await each.running.line("listening")
        async with asyncio.timeout(LONG):
            while (await each.page("/readyz"))[0] != 200:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)

    async def end(self, each: Node, number: signal.Signals) -> None:
        """Send a signal that ends a node, and wait for its end."""
        assert each.running is not None
        each.signal(number)
        async with asyncio.timeout(LONG):
            await each.running.process.wait()

    async def until_known(self, count: int, *nodes: Node) -> None:
        """Wait until nodes, all of them by default, know of so many with themselves."""
        status, page = 0, None
        for each in nodes or self.nodes:
            try:
                async with asyncio.timeout(LONG):
                    while True:
                        status, page = await each.page("/healthz")
                        if status == 200 and page.get("nodes") == count:
                            break
                        await asyncio.sleep(0.05)
            except TimeoutError as error:
                error.add_note(
                    f"node {each.number} says {status}, {page}; all said:\n{self.said()[-8_000:]}"
                )
                raise

    async def until_served(self) -> None:
        """Wait until haproxy passes requests on."""

        def answers() -> bool:
            url = f"http://127.0.0.1:{self.proxy.port}/none"
            try:
                urllib.request.urlopen(url, timeout=10).close()
            except urllib.error.HTTPError as error:
                return error.code == 404
            except OSError:
                return False
            return True

        async with asyncio.timeout(LONG):
            while not await asyncio.to_thread(answers):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)

    def said(self) -> str:
        """Return what all processes logged."""
        return "".join(line for run in self.logs for line in run.err)

    def check_logs(self) -> None:
        """Check that nothing failed that should not."""
        _, traceback, rest = self.said().partition("Traceback")
        assert not traceback, traceback + rest[:5_000]

    def _settings(self, each: Node) -> Path:
        assert self.database is not None
        split = urlsplit(self.url)
        login, _, _ = split.netloc.rpartition("@")
        place = f"{login}@127.0.0.1:{self.database.port}"
        database = split._replace(netloc=place).geturl()
        sections: dict[str, dict[str, Any]] = {
            "server": {"host": "127.0.0.1", "port": each.port, "http_port": each.http_port},
            "data": {"folder": str(self.folder / "data"), "database": database},
            "memory": {
                "summary": False,
            },
            "assistant": {"history_turns": 500, "history_tokens": 100_000, "filler_after": 0},
            "cluster": {
                **({"url": each.bus.url} if each.bus else self._bus.section),
                "secret": SECRET,
                "node": f"node-{each.number}",
            },
            "timeouts": {**patient.sections(drain=30)["timeouts"]},
            "api": {"enabled": False},
        }
        sections["server"]["limits"] = {
            "connections_per_address": 0,
            "connects_per_address": 0,
            "connects_per_device": 0,
            "ota_per_address": 0,
            "loop_lag_ms": 0,  # the machine may be busy
            "conversing": 0,
        }
        for name, more in self._more.items():
            sections.setdefault(name, {}).update(more)
        each.settings.write_text(json.dumps(sections), encoding="utf-8")
        return each.settings


@asynccontextmanager
async def fleet(
    folder: Path,
    bus: JetStreamServer | NatsServers,
    database: str,
    environment: Environment = lambda node: {},
    sections: Mapping[str, Mapping[str, Any]] | None = None,
) -> AsyncIterator[Fleet]:
    """Run three nodes; all is gone at the end."""
    async with Fleet(folder, bus, database, environment, sections) as made:
        try:
            yield made
        except BaseException as error:
            error.add_note("the nodes said:\n" + made.said()[-8_000:])
            raise
        made.check_logs()
