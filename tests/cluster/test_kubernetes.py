"""The configuration of NATS and the settings of a pod in deploy/kubernetes, with real servers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.processes import Running, running
from tests.support.brokers import NatsServer, nats_program
from tests.support.kubernetes import ENVIRONMENT, FOLDER, container, from_secret, the
from tests.support.nats_nodes import only_here
from tests.support.registry_databases import new_postgres, postgres_url
from tests.support.servers import free_ports
from tests.support.waiting import until
from vixio.bus.address import parse_address
from vixio.cluster.nats.cluster import NatsCluster, Node
from vixio.core.cluster import LossReason
from vixio.web.http.routes.metrics import METRICS_PATH
from vixio.web.http.routes.ready import READY_PATH

__all__ = ["postgres_url"]

DEVICE = "02:00:00:00:00:01"
SOON = 60.0
PROBES = ("startup", "liveness", "readiness")

pytestmark = pytest.mark.timeout(300)


def page(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text of a page; 0 if there is no answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return 0, ""


class Pod(NatsServer):
    """One of the three servers, by the files of deploy/kubernetes, on ports of this machine."""

    def __init__(self, directory: Path, name: str, routes: dict[str, int], password: str) -> None:
        directory.mkdir()
        super().__init__(directory)
        self.name = name
        self.routes = routes
        self.password = password
        (self.monitor,) = free_ports(1)

    def command(self) -> tuple[list[str], dict[str, str]]:
        text = (FOLDER / "nats.conf").read_text(encoding="utf-8")
        own = {
            'pid_file: "/run/nats/nats.pid"': f'pid_file: "{self.directory}/nats.pid"',
            "http_port: 8222": f"http: 127.0.0.1:{self.monitor}",
            'store_dir: "/data"': f'store_dir: "{self.directory}/data"',
            "  port: 6222": f"  listen: 127.0.0.1:{self.routes[self.name]}",
        }
        for line, instead in own.items():
            assert text.count(line) == 1, line
            text = text.replace(line, instead)
        config = self.directory / "nats.conf"
        config.write_text(text, encoding="utf-8")
        secrets = {
            key: ENVIRONMENT.get(name, f"x-{name}")
            for name, key in from_secret(the("StatefulSet", "nats")).items()
        }
        secrets["NATS_ROUTES_PASSWORD"] = self.password
        (_, routes) = container(the("StatefulSet", "nats"))["args"]
        routes = routes.replace("$(NATS_ROUTES_PASSWORD)", self.password)
        for each, port in self.routes.items():
            routes = routes.replace(f"{each}.nats-routes:6222", f"127.0.0.1:{port}")
        words = [nats_program(), f"--config={config}", routes]
        words += ["-a", "127.0.0.1", "-p", str(self.port)]
        return words, {**os.environ, **secrets, "POD_NAME": self.name}

    def peers(self) -> set[str]:
        """Return the names of the servers that it has routes to."""
        status, text = page(self.monitor, "/routez")
        found: list[dict[str, Any]] = json.loads(text)["routes"] if status == 200 else []
        return {each.get("remote_name", "") for each in found}

    def ready(self) -> bool:
        """Whether the probes that Kubernetes asks answer 200."""
        probes = (container(the("StatefulSet", "nats"))[f"{name}Probe"] for name in PROBES)
        return all(page(self.monitor, each["httpGet"]["path"])[0] == 200 for each in probes)


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[Pod]]:
    """Run the three servers."""
    only_here()
    names = [f"nats-{number}" for number in range(the("StatefulSet", "nats")["spec"]["replicas"])]
    routes = dict(zip(names, free_ports(len(names)), strict=True))
    with ExitStack() as stack:
        made: list[Pod] = []
        for name in names:
            server = Pod(tmp_path / name, name, routes, "r-of-the-routes")
            stack.callback(server.kill)
            server.start()
            made.append(server)
        yield made


@asynccontextmanager
async def joined(name: str, servers: list[Pod]) -> AsyncIterator[NatsCluster]:
    """Have a node join with the login of the nodes."""
    urls = ",".join(f"127.0.0.1:{each.port}" for each in servers)
    address = parse_address(f"nats://{urls}", user="vixio", password=ENVIRONMENT["NATS_PASSWORD"])
    node = NatsCluster(Node(name, address, ENVIRONMENT["CLUSTER_SECRET"], replicas=3))
    await node.start()
    try:
        yield node
    finally:
        await node.close()


async def lost(reason: LossReason) -> None:
    """Nothing takes a lease here."""


async def eventually(check: Callable[[], bool]) -> None:
    """Wait until ``check``, which asks other processes, is true."""
    async with asyncio.timeout(SOON):
        while not await asyncio.to_thread(check):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.05)


async def until_one(servers: list[Pod]) -> None:
    """Wait until the servers are one, and ready."""
    names = {each.name for each in servers}
    await eventually(lambda: all(each.peers() == names - {each.name} for each in servers))
    await eventually(lambda: all(each.ready() for each in servers))


async def test_the_three_servers_are_one_and_do_without_one_of_them(three: list[Pod]) -> None:
    await until_one(three)
    async with joined("one", three) as node:
        await node.leases.acquire(DEVICE, lost)
        # As preStop does before the end.
        words = container(the("StatefulSet", "nats"))["lifecycle"]["preStop"]["exec"]["command"]
        own = [each.replace("/run/nats", str(three[0].directory)) for each in words]
        await asyncio.to_thread(subprocess.run, [nats_program(), *own[1:]], check=True, timeout=30)
        await eventually(lambda: "lame duck" in three[0].log().lower())
        three[0].kill()
        await eventually(lambda: three[0].name not in three[1].peers())
        async with joined("another", three[1:]) as other:
            await until(lambda: other.peers.nodes and node.peers.nodes, seconds=SOON)
            assert await other.presence.look_elsewhere(DEVICE)
            assert not await other.presence.look_elsewhere("02:00:00:00:00:02")


async def test_a_server_with_another_password_gets_no_route(
    three: list[Pod], tmp_path: Path
) -> None:
    await until_one(three)
    routes = {**three[0].routes, "stranger": free_ports(1)[0]}
    stranger = Pod(tmp_path / "stranger", "stranger", routes, "r-a-guess")
    try:
        stranger.start()
        await eventually(lambda: "authentication error" in three[0].log())
        # It tries again every second, and lists what it tries.
        await eventually(lambda: stranger.peers() == set())
        assert all("stranger" not in each.peers() for each in three)
    finally:
        stranger.kill()


def settings(bus: list[Pod], database: str, folder: Path) -> Path:
    """Write the settings of deploy/kubernetes with the addresses of this machine."""
    text = (FOLDER / "vixio.yaml").read_text(encoding="utf-8")
    urls = ",".join(f"127.0.0.1:{each.port}" for each in bus)
    split = urlsplit(database)
    for old, new in {
        "nats://nats\n": f"nats://{urls}\n",
        "vixio:${DB_PASSWORD}@db.example.org/vixio": f"{split.netloc}{split.path}",
        "${POD_IP}": "127.0.0.1",
    }.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def sessions(port: int) -> dict[str, float]:
    """Return the gauge by which the autoscaler goes, for each worker."""
    _, text = page(port, METRICS_PATH)
    found = re.findall(r'^vixio_sessions{worker="([^"]*)"} (\S+)$', text, re.MULTILINE)
    return {name: float(value) for name, value in found}


async def test_pods_serve_with_the_settings_and_have_their_own_metrics(
    three: list[Pod], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database = new_postgres(request.getfixturevalue("postgres_url"))
    await until_one(three)
    names = ["vixio-6d4cf56db6-x2x5z", "vixio-6d4cf56db6-a7b8c"]
    async with AsyncExitStack() as stack:
        ports: dict[str, int] = {}
        pods: list[Running] = []
        for name in names:
            folder = tmp_path / name
            folder.mkdir()
            port, ports[name] = free_ports(2)
            command = [sys.executable, "-m", "vixio", "serve", "--host", "127.0.0.1"]
            command += ["--port", str(port), "--http-port", str(ports[name])]
            command += ["--config", str(settings(three, database, folder))]
            environment = {**ENVIRONMENT, "POD_NAME": name, "HOME": str(folder)}
            pods.append(await stack.enter_async_context(running(command, folder, environment)))
        await eventually(lambda: all(page(each, READY_PATH)[0] == 200 for each in ports.values()))
        # Each has the samples of both, by the names of the pods; keepequal takes one of each.
        await eventually(lambda: all(set(sessions(each)) == set(names) for each in ports.values()))
        for pod in pods:
            await pod.stop(signal.SIGTERM)
            assert pod.process.returncode == 0
