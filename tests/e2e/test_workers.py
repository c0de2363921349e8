"""``vixio serve --workers 2``: two processes that are one server to devices."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.errors import Disconnected
from tests.e2e.processes import (
    LIGHT,
    LIGHT_YAML,
    STOP_TIMEOUT,
    Running,
    light_environment,
    running,
)
from tests.support import patient
from tests.support.joined import cluster_yaml
from tests.support.llm_server import LLMServer, text
from tests.support.servers import free_ports

VIXIO = Path(sys.executable).with_name("vixio")
BOUND = 30.0
MANY = 60
"""Connections: enough that both of two processes get some."""


@dataclass
class Served:
    """A running server of two processes."""

    server: Running
    ota: str
    http_port: int

    async def health(self) -> dict[str, Any]:
        """Return the health page; whichever process answers."""
        return await asyncio.to_thread(self._get)

    def _get(self) -> dict[str, Any]:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.http_port}/healthz", timeout=60
        ) as page:
            body = json.load(page)
        assert isinstance(body, dict)
        return body

    async def until(self, true: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        """Wait until the health page shows something."""
        found: dict[str, Any] = {}
        try:
            async with asyncio.timeout(BOUND):
                while not true(found := await self.health()):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{what} never came: {found}") from None
        return found

    async def place(self) -> str:
        """Return which worker has the only device."""
        health = await self.until(lambda found: found["connected"] == 1, "one device")
        (number,) = (each["worker"] for each in health["workers"] if each["connected"])
        return str(number)


@asynccontextmanager
async def two_processes(directory: Path, config: str = "") -> AsyncIterator[Served]:
    """Run a server that hears nothing and speaks silence. Its first processes are forked.

    A process that replaces one of them is started as usual.
    """
    port, http_port = free_ports(2)
    path = directory / "vixio.yaml"
    path.write_text(
        f"server: {{workers: 2}}\nmemory: {{store: none}}\napi: {{enabled: false}}\n"
        f"timeouts: {json.dumps(patient.sections()['timeouts'])}\n"
        f"{LIGHT_YAML}{config}{cluster_yaml()}"
    )
    command = (*LIGHT, "serve", "--config", path, "--host", "127.0.0.1", "--port", str(port))
    where = ("--http-port", str(http_port))
    async with running((*command, *where), directory, light_environment()) as server:
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        assert ota in await server.line("OTA URL")
        assert "2 processes" in await server.line("silero")
        served = Served(server, ota, http_port)
        await served.until(lambda found: len(found["workers"]) == 2, "two workers")
        yield served
        await server.stop(signal.SIGTERM)
        assert server.process.returncode == 0
    everything = "".join(server.out + server.err)
    assert "Traceback" not in everything


async def other_place(served: Served, config: DeviceConfig, not_at: str) -> SimulatedDevice:
    """Connect again and again until the kernel gives the connection to another process."""
    for _ in range(MANY):
        device = SimulatedDevice(config)
        await device.start()
        if await served.place() != not_at:
            return device
        await device.close()
        await served.until(lambda found: found["connected"] == 0, "no device")
    raise AssertionError("all connections went to one process")


@pytest.mark.slow
async def test_two_processes_are_one_server(tmp_path: Path) -> None:
    async with LLMServer() as llm:
        agent = f"agent: {{name: openai, base_url: '{llm.base_url}', api_key: test, model: m}}\n"
        async with two_processes(tmp_path, agent) as served:
            await is_known_in_another_process(served, llm)
            await is_connected_once(served)
            await talks_at_the_http_port(served, llm)
            pids = await survives_a_killed_process(served, llm)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]  # noqa: ASYNC240 - no disk
    assert any("worker ended, restarting" in line for line in served.server.err)


@pytest.mark.slow
async def test_two_processes_serve_devices_over_mqtt(tmp_path: Path) -> None:
    """Each has a UDP port of its own, and both share that of MQTT."""
    (port,) = free_ports(1)
    async with LLMServer() as llm:
        agent = f"agent: {{name: openai, base_url: '{llm.base_url}', api_key: test, model: m}}\n"
        mqtt = f"mqtt: {{port: {port}, udp_port: 0}}\n"
        async with two_processes(tmp_path, agent + mqtt) as served:
            await is_known_in_another_process(served, llm)


async def is_known_in_another_process(served: Served, llm: LLMServer) -> None:
    """A device that comes to the other process finds its conversation there."""
    llm.script(text("Nice to meet you."), text("You are Ann."))
    config = DeviceConfig(ota_url=served.ota, mode="manual", tells_address=True)
    async with SimulatedDevice(config) as device:
        assert (await device.type_text("I am Ann")).text == "Nice to meet you."
        first = await served.place()
    await served.until(lambda found: found["connected"] == 0, "the end of the first")
    again = await other_place(served, config, first)
    try:
        assert (await again.type_text("Who am I")).text == "You are Ann."
    finally:
        await again.close()
    said = json.dumps(llm.requests[-1]["messages"])
    assert "I am Ann" in said
    assert "Nice to meet you." in said
    await served.until(lambda found: found["connected"] == 0, "no device")


async def talks_at_the_http_port(served: Served, llm: LLMServer) -> None:
    """Any process takes it there too, and takes it over from another one."""
    llm.script(text("Hello."), text("Still here."))
    url = f"ws://127.0.0.1:{served.http_port}/xiaozhi/v1/"
    config = DeviceConfig(ws_url=url, mode="manual", codec="pcm")
    async with SimulatedDevice(config) as device:
        assert (await device.type_text("Hello")).text == "Hello."
        first = await served.place()
    await served.until(lambda found: found["connected"] == 0, "the end of the first")
    again = await other_place(served, config, first)
    try:
        assert (await again.type_text("And now")).text == "Still here."
    finally:
        await again.close()
    await served.until(lambda found: found["connected"] == 0, "the end of the second")


async def is_connected_once(served: Served) -> None:
    """Wherever a device's newer connection goes, its older one is closed."""
    config = DeviceConfig(ota_url=served.ota, mode="manual")
    devices = [SimulatedDevice(config)]
    try:
        await devices[0].start()
        places = {await served.place()}
        while len(places) < 2:
            assert len(devices) < MANY, "all connections went to one process"
            devices.append(SimulatedDevice(config))
            await devices[-1].start()
            assert (await devices[-2].wait_for_close()).code == 4001
            places.add(await served.place())
    finally:
        for device in devices:
            await device.close()
    await served.until(lambda found: found["connected"] == 0, "no device")


async def survives_a_killed_process(served: Served, llm: LLMServer) -> list[int]:
    """A killed process costs its own devices a connection; return the pids of those that serve."""
    llm.script(text("Still here."), text("Here again."))
    devices: list[SimulatedDevice] = []
    try:
        while True:  # one device at least in each
            assert len(devices) < MANY, "all connections went to one process"
            devices.append(SimulatedDevice(DeviceConfig(ota_url=served.ota, mode="manual")))
            await devices[-1].start()
            health = await served.until(
                lambda found: found["connected"] == len(devices), "all devices"
            )
            if all(each["connected"] for each in health["workers"]):
                break
        killed = health["workers"][0]
        os.kill(killed["pid"], signal.SIGKILL)
        lost = [device for device in devices if await _ends(device)]
        assert len(lost) == killed["connected"]
        kept = [device for device in devices if device not in lost]
        assert (await kept[0].type_text("hello")).text == "Still here."
        health = await served.until(
            lambda found: len(found["workers"]) == 2 and found["status"] == "ok", "another process"
        )
        assert killed["pid"] not in {each["pid"] for each in health["workers"]}
        await lost[0].connect()
        assert (await lost[0].type_text("hello")).text == "Here again."
        return [each["pid"] for each in (await served.health())["workers"]]
    finally:
        for device in devices:
            await device.close()


async def _ends(device: SimulatedDevice) -> bool:
    """Whether the connection is over, by a ping."""
    try:
        await device.ping(timeout=BOUND)
    except Disconnected:
        return True
    return False


@pytest.mark.parametrize("one_core", [True, False])
async def test_the_number_of_processes_may_be_chosen(tmp_path: Path, one_core: bool) -> None:
    """On one core it is the plain server, without other processes."""
    port, http_port = free_ports(2)
    path = tmp_path / "vixio.yaml"
    path.write_text(f"{LIGHT_YAML}api: {{enabled: false}}\n")
    confined = (
        "import light_vixio, os\n"
        "cores = sorted(os.sched_getaffinity(0))\n"
        f"os.sched_setaffinity(0, cores[:1] if {one_core} else cores)\n"
        "light_vixio.main()"
    )
    command = (sys.executable, "-c", confined, "serve", "--workers", "auto", "--config", path)
    where = ("--host", "127.0.0.1", "--port", str(port), "--http-port", str(http_port))
    async with running((*command, *where), tmp_path, light_environment()) as server:
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        assert ota in await server.line("OTA URL")
        using = await server.line("silero")
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            assert (await device.type_text("hello")).text
        page = await Served(server, ota, http_port).health()
        await server.stop(signal.SIGTERM)
        assert server.process.returncode == 0
    (line,) = (line for line in server.err if "number of processes chosen" in line)
    found = re.search(r"processes=(\d+)", line)
    assert found is not None, line
    if one_core:
        assert "1 core" in line
        assert found[1] == "1"
    assert len(page.get("workers", [page])) == int(found[1])
    assert (f"{found[1]} processes" in using) == (found[1] != "1")
    assert "Traceback" not in "".join(server.out + server.err)


async def test_a_port_that_is_taken_is_one_line_and_status_2(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    try:
        port = taken.sockets[0].getsockname()[1]
        command = (*LIGHT, "serve", "--workers", "2", "--host", "127.0.0.1", "--http-port", "0")
        where = ("--port", str(port))
        async with running((*command, *where), tmp_path, light_environment()) as server:
            async with asyncio.timeout(BOUND):
                assert await server.process.wait() == 2
        told = [line for line in server.err if line.startswith("vixio:")]
        assert len(told) == 1
        assert str(port) in told[0]
        assert "Traceback" not in "".join(server.out + server.err)
    finally:
        taken.close()
        await taken.wait_closed()


async def test_workers_that_cannot_start_end_the_server(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text("asr: {name: pocketsphinx, model: /nowhere, dictionary: /nowhere/words}\n")
    command = (*LIGHT, "serve", "--workers", "2", "--config", path, "--host", "127.0.0.1")
    where = ("--port", "0", "--http-port", "0")
    async with running((*command, *where), tmp_path, light_environment()) as server:
        async with asyncio.timeout(BOUND + STOP_TIMEOUT):
            assert await server.process.wait() == 2
    everything = "".join(server.out + server.err)
    reasons = [line for line in everything.splitlines() if line.startswith("vixio: ")]
    assert "vixio: pocketsphinx: there is no /nowhere" in reasons
    assert "could not start" in reasons[-1]
    assert "Traceback" not in everything
