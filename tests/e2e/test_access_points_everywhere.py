"""A tool server is connected to one process; the devices of its profile are served by another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.access import BOUND_S, HALL, KITCHEN
from tests.e2e.test_workers import other_place, two_processes
from tests.support.access_server import said, server_at, tool
from tests.support.clusters import machine
from tests.support.waiting import until
from vixio.core.cluster import Cluster
from vixio.core.device import DeviceProfile
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.types import ToolCallResult
from vixio.data.database.create import FILE_NAME
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.devices.access_points import digest
from vixio.data.devices.registry_cache import RegistrySnapshot
from vixio.data.devices.repository import DeviceRepository
from vixio.transports.admission.admission import Admission
from vixio.web.access import remote
from vixio.web.access import server as access_server
from vixio.web.access.points import AccessPoints
from vixio.web.http.server import HttpServer
from vixio.web.http.upgrade import Upgrades

TOKEN = "token"
DEVICE = "02:00:00:00:00:01"


@dataclass
class Process:
    """What a process has of access points."""

    points: AccessPoints
    runtime: ToolRuntime
    known: RegistrySnapshot
    http: HttpServer
    reads: list[str]

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.http.port}/mcp/?token={TOKEN}"

    def session(self, profile: str) -> SessionTools:
        return self.runtime.open(profile, f"{id(self)}-{profile}", DeviceProfile(assigned=profile))


@asynccontextmanager
async def process(cluster: Cluster) -> AsyncIterator[Process]:
    await cluster.start()
    counters, known, reads = Counters(), RegistrySnapshot(last=1), []
    known.access[digest(TOKEN)] = KITCHEN

    async def catch_up() -> None:
        reads.append("read")

    runtime = ToolRuntime(counters=counters)
    admission = Admission(counters=counters, cluster=cluster)
    points = AccessPoints(runtime, known, catch_up, admission)
    cluster.commands.serve(points.answer)
    await runtime.start()
    http = HttpServer(
        Starlette(), "127.0.0.1", 0, admission=admission, upgrades=Upgrades(points.paths)
    )
    await http.start()
    points.begin()
    try:
        yield Process(points, runtime, known, http, reads)
    finally:
        await points.close()
        await http.stop()
        await runtime.close()


@asynccontextmanager
async def two() -> AsyncIterator[tuple[Process, Process]]:
    async with machine() as joined:
        one, other = await joined.join(), await joined.join()
        async with process(one.cluster) as first, process(other.cluster) as second:
            yield first, second


def names(session: SessionTools) -> list[str]:
    return [each.alias for each in session.toolset.definitions()]


async def call(session: SessionTools, alias: str, arguments: str = "{}") -> ToolCallResult:
    found = session.toolset.find(alias)
    assert found is not None
    async with asyncio.timeout(BOUND_S):
        return await session.begin_turn(1, "en").run(found, arguments)


async def test_tools_of_a_server_elsewhere_come_are_called_change_and_go() -> None:
    async with two() as (here, there):
        mine, near, other = there.session("kitchen"), here.session("kitchen"), there.session("hall")
        async with server_at(here.url, "lamps", tool("on", where="string")) as lamps:
            await until(lambda: names(mine) == ["on"], what="the tool elsewhere", seconds=BOUND_S)
            assert names(near) == ["on"], "one of each server, in each process"
            result = await call(mine, "on", '{"where": "hall"}')
            assert json.loads(result.result or "") == {"where": "hall"}
            assert [each.name for each in there.points.servers(KITCHEN)] == ["profile/lamps"]
            assert there.points.servers(HALL) == []
            assert names(other) == []

            async def picture(params: dict[str, Any]) -> dict[str, Any]:
                part = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
                return {"content": [part], "isError": False}

            lamps.answer = picture
            assert (await call(mine, "on")).images[0].mime_type == "image/png"
            await lamps.change(tool("off"))
            await until(lambda: names(mine) == ["off"], what="the change", seconds=BOUND_S)
            async with server_at(there.url, "lamps", tool("dim")):
                await until(lambda: sorted(names(mine)) == ["dim", "off"], seconds=BOUND_S)
                await until(lambda: sorted(names(near)) == ["dim", "off"], seconds=BOUND_S)
        await until(lambda: names(mine) == [], what="the end of the tools", seconds=BOUND_S)


async def test_what_goes_wrong_elsewhere_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "CALL_S", 0.3)
    monkeypatch.setattr(access_server, "CALL_S", 0.3)
    async with two() as (here, there):
        mine = there.session("kitchen")
        async with server_at(here.url, "lamps", tool("on")) as lamps:
            await until(lambda: names(mine) == ["on"], seconds=BOUND_S)
            on = mine.toolset.find("on")
            assert on is not None

            async def long(params: dict[str, Any]) -> dict[str, Any]:
                return said("x" * 300_000)

            lamps.answer = long
            result = await call(mine, "on")
            assert (result.error_type, "bytes" in (result.error or "")) == ("failed", True)

            async def hang(params: dict[str, Any]) -> None:
                return None

            lamps.answer = hang
            assert (await call(mine, "on")).error_type == "timeout"
        assert on.caller is not None
        gone = await on.caller.call_tool("on", {})
        assert gone.error_type in ("disconnected", "timeout")


async def test_other_processes_read_a_change_at_once() -> None:
    async with two() as (here, there):
        here.points.changed()
        await until(lambda: there.reads, what="the reading", seconds=BOUND_S)
        assert not here.reads


@pytest.mark.slow
async def test_two_processes_of_a_server(tmp_path: Path) -> None:
    """A device that comes to each of them; the address is made by another process still."""
    config = f"data: {{folder: {tmp_path / 'data'}, database: ''}}\n"
    async with two_processes(tmp_path, config) as served:
        database = SQLiteDatabase(tmp_path / "data" / FILE_NAME)
        await database.open()
        repository = DeviceRepository(database)
        await repository.profiles.put("kitchen", {}, "me")
        await repository.add(DEVICE, "me")
        await repository.assign(DEVICE, "kitchen", "me")
        _, token = await repository.access_points.create(KITCHEN, "me")
        await database.close()
        url = f"ws://127.0.0.1:{served.http_port}/mcp/?token={token}"
        await known_everywhere(url)
        device_of = DeviceConfig(ota_url=served.ota, device_id=DEVICE, mode="manual")
        async with server_at(url, "Home", tool("lamp.turn_on", "Turn on the lamp")) as home:

            async def calls(device: SimulatedDevice) -> None:
                before = len(home.calls)
                async with asyncio.timeout(BOUND_S):
                    while len(home.calls) == before:  # the tools may be on their way
                        await device.type_text("turn on the lamp")

            async with SimulatedDevice(device_of) as device:
                place = await served.place()
                await calls(device)
            await served.until(lambda found: found["connected"] == 0, "its end")
            again = await other_place(served, device_of, place)
            try:
                await calls(again)
            finally:
                await again.close()
            assert {each["name"] for each in home.calls} == {"lamp.turn_on"}


async def known_everywhere(url: str) -> None:
    """Wait until both processes take an address, which they know of within a second."""
    taken = 0
    async with asyncio.timeout(BOUND_S):
        while taken < 12:  # in a row: not all to one of two processes by chance
            try:
                async with connect(url):
                    taken += 1
            except InvalidStatus:
                taken = 0
