"""The front of the cells in docs/operations.md: haproxy, whose map has each device's cell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.nats_nodes import only_here
from tests.support.servers import free_ports
from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings
from vixio.web.http.server import HttpServer

PAGE = Path("docs/operations.md")
MOVED, NEW = "02:00:00:00:00:AB", "02:00:00:00:00:01"
CELLS = ("cell-1.example.org", "cell-2.example.org")


def configuration(folder: Path, port: int, cells: dict[str, int]) -> Path:
    """Write the configuration of the page with the ports of this machine."""
    (text,) = re.findall(r"^```\n(frontend .*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    frontend, _, backend = text.partition("\nbackend ")
    table = folder / "cells.map"
    table.write_text(f"{MOVED.lower()} {CELLS[1]}\n", encoding="utf-8")
    for old, new in {
        "bind :8000": f"bind 127.0.0.1:{port}",
        "/etc/haproxy/cells.map": str(table),
    }.items():
        assert old in frontend
        frontend = frontend.replace(old, new)
    assert backend.startswith(f"{CELLS[0]}\n")
    times = "".join(f"  timeout {each} 10s\n" for each in ("connect", "client", "server"))
    backends = [f"backend {name}\n  server balancer 127.0.0.1:{at}\n" for name, at in cells.items()]
    path = folder / "front.cfg"
    path.write_text("\n".join(["defaults\n  mode http", times, frontend, *backends]), "utf-8")
    return path


@asynccontextmanager
async def front(folder: Path, cells: dict[str, int]) -> AsyncIterator[int]:
    """Run haproxy with that; yields its port."""
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "haproxy is not installed"
    (port,) = free_ports(1)
    path = configuration(folder, port, cells)
    process = await asyncio.create_subprocess_exec(program, "-db", "-f", str(path))
    try:
        yield port
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def host_of(port: int, device_id: str) -> str:
    """Return the host of the WebSocket that OTA names for a device; empty: no answer yet."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/xiaozhi/ota/",
        data=json.dumps({"application": {"version": "2.0.0"}}).encode(),
        headers={"Device-Id": device_id, "Client-Id": "a-client", "Host": "ota.example.org"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback
            url = json.load(answer)["websocket"]["url"]
    except OSError:
        return ""
    return urlsplit(url).hostname or ""


async def test_a_device_gets_the_address_of_its_cell(tmp_path: Path) -> None:
    only_here()
    async with AsyncExitStack() as stack:
        cells: dict[str, int] = {}
        for name in CELLS:
            server = HttpServer(create_http_app(OtaSettings(websocket_port=8000)), "127.0.0.1", 0)
            await server.start()
            stack.push_async_callback(server.stop)
            cells[name] = server.port
        port = await stack.enter_async_context(front(tmp_path, cells))
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(host_of, port, NEW):  # noqa: ASYNC110 - haproxy starts
                await asyncio.sleep(0.05)
        assert await asyncio.to_thread(host_of, port, MOVED) == CELLS[1]
        assert await asyncio.to_thread(host_of, port, MOVED.lower()) == CELLS[1]
        assert await asyncio.to_thread(host_of, port, NEW) == CELLS[0]
