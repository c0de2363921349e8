"""Three NATS servers that are one cluster, with the configuration that we give out."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nats
import nats.errors

from tests.support.brokers import START_S, NatsServer
from tests.support.nats_nodes import only_here
from tests.support.servers import free_port
from vixio.cluster.nats.names import DEVICES

CONFIG = Path("deploy/nats.cluster.conf")
PASSWORDS = {
    "NATS_PASSWORD": "of-the-nodes",
    "NATS_TOOLS_PASSWORD": "of-the-services",
    "NATS_ROUTES_PASSWORD": "of-the-servers",
}
LOGIN = {"user": "vixio", "password": PASSWORDS["NATS_PASSWORD"]}


class ClusteredServer(NatsServer):
    """One of them. ``routes``: the ports at which they find each other."""

    def __init__(self, number: int, directory: Path, own: int, routes: list[int]) -> None:
        super().__init__(directory)
        self.name = f"nats-{number}"
        self._monitor = free_port()
        self._routes = routes
        text = CONFIG.read_text(encoding="utf-8")
        text = text.replace("/var/lib/nats", str(directory / "jetstream"))
        text = text.replace("0.0.0.0:6222", f"127.0.0.1:{own}")
        self._config = directory / "nats.cluster.conf"
        self._config.write_text(text, encoding="utf-8")
        shutil.copy(CONFIG.with_name("nats.conf"), directory)

    def command(self) -> tuple[list[str], dict[str, str]]:
        words, _ = super().command()
        words += ["-c", str(self._config), "-n", self.name, "-m", str(self._monitor)]
        routes = ", ".join(
            f"nats://routes:{PASSWORDS['NATS_ROUTES_PASSWORD']}@127.0.0.1:{port}"
            for port in self._routes
        )
        return words, {**os.environ, **PASSWORDS, "NATS_ROUTES": f"[{routes}]"}

    def stream(self, name: str) -> dict[str, Any]:
        """Return what the server knows of a stream: its leader and who follows it."""
        url = f"http://127.0.0.1:{self._monitor}/jsz?streams=true"
        with urllib.request.urlopen(url, timeout=10) as page:
            found = json.load(page)
        for account in found.get("account_details", ()):
            for each in account.get("stream_detail", ()):
                if each["name"] == name:
                    return dict(each["cluster"])
        return {}


class NatsServers:
    """The three."""

    def __init__(self, directory: Path) -> None:
        ports = [free_port() for _ in range(3)]
        self.members = [
            ClusteredServer(number, _folder(directory, number), port, ports)
            for number, port in enumerate(ports, 1)
        ]

    @property
    def url(self) -> str:
        """The URL of all of them, as the settings have it."""
        return "nats://" + ",".join(f"127.0.0.1:{each.port}" for each in self.members)

    @property
    def own_url(self) -> str:
        """Return the same with the login of the nodes in it."""
        return self.url.replace("//", f"//{LOGIN['user']}:{LOGIN['password']}@")

    @property
    def section(self) -> dict[str, Any]:
        """What the section ``cluster`` of the settings has of them."""
        return {"url": self.url, "replicas": 3, **LOGIN}

    def leader(self, bucket: str = DEVICES) -> ClusteredServer:
        """Return the server that leads a bucket, which all are to know."""
        names = {each.stream(f"KV_{bucket}").get("leader") for each in self.members}
        (name,) = names
        return next(each for each in self.members if each.name == name)

    async def until_current(self) -> None:
        """Wait until each server has all that is in the buckets: the next one may be killed."""

        def current() -> bool:
            try:
                leader = self.leader()
                followers = leader.stream(f"KV_{DEVICES}")["replicas"]
            except (OSError, KeyError, ValueError, StopIteration):
                return False
            return len(followers) == 2 and all(each["current"] for each in followers)

        await self.until_ready()
        async with asyncio.timeout(START_S):
            while not await asyncio.to_thread(current):  # noqa: ASYNC110 - other processes
                await asyncio.sleep(0.05)

    async def until_ready(self) -> None:
        """Wait until the servers have a leader that takes requests to JetStream."""
        async with asyncio.timeout(START_S):
            for each in self.members:
                while True:
                    try:
                        client = await nats.connect(
                            each.url, allow_reconnect=False, connect_timeout=2, **LOGIN
                        )
                        try:
                            await client.jetstream(timeout=2).account_info()
                        finally:
                            await client.close()
                    except (TimeoutError, nats.errors.Error, OSError):
                        await asyncio.sleep(0.05)
                    else:
                        break


def _folder(directory: Path, number: int) -> Path:
    made = directory / f"nats-{number}"
    made.mkdir()
    return made


@contextmanager
def nats_servers() -> Iterator[NatsServers]:
    """Run three servers of one's own; they may not know each other yet."""
    only_here()
    with TemporaryDirectory(prefix="vixio-nats-") as directory:
        made = NatsServers(Path(directory))
        try:
            for each in made.members:
                each.start()
            yield made
        finally:
            for each in made.members:
                each.kill()
