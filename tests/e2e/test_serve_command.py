"""``vixio serve`` as a user starts it: the real command, the built-in defaults, given ports."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.processes import STOP_TIMEOUT, free_ports, running

_log = logging.getLogger(__name__)

VIXIO = Path(sys.executable).with_name("vixio")

ACCEPTED_WITHIN = 10.0
"""Seconds from the start of the process to the first device's hello, on a busy machine; the
benchmark holds the real figure."""


async def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(serve_until(signal.SIGTERM, tmp_path))
        group.create_task(serve_until(signal.SIGINT, tmp_path))


async def serve_until(number: signal.Signals, tmp_path: Path) -> None:
    """One server: a typed turn, then the signal."""
    port, http_port = free_ports(2)
    command = (VIXIO, "serve", "--host", "127.0.0.1", "--port", str(port))
    async with running((*command, "--http-port", str(http_port)), tmp_path) as server:
        ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
        assert ota in await server.line("OTA URL")
        assert f"ws://127.0.0.1:{port}/xiaozhi/v1/" in await server.line("WebSocket")
        using = await server.line("silero")
        for name in ("pocketsphinx", "phrasebook", "espeak"):
            assert name in using
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            accepted = asyncio.get_running_loop().time() - server.started_at
            _log.info("start to first device accepted: %.2f s", accepted)
            assert accepted <= ACCEPTED_WITHIN
            reply = await device.type_text("hello")
            assert reply.text
            assert reply.heard.rms > 500
            assert reply.overflows == reply.underruns == 0
            assert device.violations == []

            seconds = await server.stop(number)
            assert seconds <= STOP_TIMEOUT
            assert server.process.returncode == 0
            close = await device.wait_for_close()
            assert close.code == 1001
    everything = "".join(server.out + server.err)
    assert "Traceback" not in everything
    assert "ERROR" not in everything


async def test_a_port_that_is_taken_is_one_line_and_status_2(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    try:
        port = taken.sockets[0].getsockname()[1]
        command = (VIXIO, "serve", "--host", "127.0.0.1", "--http-port", "0", "--port", str(port))
        async with running(command, tmp_path) as server, asyncio.timeout(30):
            assert await server.process.wait() == 2
        told = [line for line in server.err if line.startswith("vixio:")]
        assert len(told) == 1
        assert str(port) in told[0]
        assert "Traceback" not in "".join(server.out + server.err)
    finally:
        taken.close()
        await taken.wait_closed()
