"""Server processes that are killed, of a server of several: ``vixio serve --workers``."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.errors import ConnectError, DeviceError
from tests.chaos.outcome import Outcome
from tests.chaos.patience import admitted
from tests.e2e.processes import running
from tests.support.servers import free_ports

DEVICES = 8
PROCESSES = 2

BACK_S = 60.0
"""Seconds in which a killed process has to be replaced."""

TURN_S = 20.0

Health = dict[str, Any]


async def server_processes(port: int, *, kills: int) -> Outcome:
    """Kill one process during turns; the other's devices must not be affected.

    The server is one of its own; the one at ``port`` is left alone.
    """
    outcome = Outcome()
    own_port, http_port = free_ports(2)
    command: list[str | Path] = [
        Path(sys.executable).with_name("vixio"),
        "serve",
        "--workers",
        str(PROCESSES),
    ]
    command += ["--host", "127.0.0.1", "--port", str(own_port), "--http-port", str(http_port)]
    with tempfile.TemporaryDirectory() as place:
        async with running(command, Path(place), {"XDG_STATE_HOME": place}) as server:
            await server.line("OTA URL")
            devices = [
                SimulatedDevice(
                    DeviceConfig(
                        ws_url=f"ws://127.0.0.1:{own_port}/xiaozhi/v1/",
                        device_id=f"worked-{number}",
                        mode="manual",
                    )
                )
                for number in range(DEVICES)
            ]
            try:
                for device in devices:
                    await device.boot()
                    await admitted(device.connect)
                for _ in range(kills):
                    await _kill_one(outcome, devices, http_port)
            finally:
                for device in devices:
                    await device.close()
            await server.stop(signal.SIGTERM)
            outcome.expect(server.process.returncode == 0, "the server did not end well")
        outcome.expect("Traceback" not in "".join(server.out + server.err), "a traceback")
    return outcome


async def _kill_one(outcome: Outcome, devices: list[SimulatedDevice], http_port: int) -> None:
    health = await until_health(
        http_port,
        lambda now: now["connected"] == DEVICES and len(now["workers"]) == PROCESSES,
        "all processes and devices",
    )
    victim = max(health["workers"], key=lambda each: int(each["connected"]))
    turns = asyncio.gather(*(_turn(device) for device in devices))
    await asyncio.sleep(0.5)
    os.kill(victim["pid"], signal.SIGKILL)
    outcome.done += 1
    lost = [device for device, whole in zip(devices, await turns, strict=True) if not whole]
    outcome.saw("turns lost with their process", len(lost))
    outcome.saw("turns beside it", DEVICES - len(lost))
    outcome.expect(
        len(lost) == victim["connected"],
        f"{len(lost)} turns were lost, the process had {victim['connected']} devices",
    )
    for device in lost:
        await device.disconnect()
        await _connect_again(outcome, device)
    again = await asyncio.gather(*(_turn(device) for device in lost))
    outcome.expect(all(again), "a turn after the process was replaced")


async def _connect_again(outcome: Outcome, device: SimulatedDevice) -> None:
    """Connect as the firmware does, which tries again.

    The kernel closes a killed process's connections before its port, and resets what has come to
    the port in between.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + BACK_S
    while True:
        try:
            return await admitted(device.connect)
        except ConnectError:
            if loop.time() > end:
                raise
            outcome.saw("connections reset")


async def _turn(device: SimulatedDevice) -> bool:
    try:
        return bool((await device.type_text("hello", timeout=TURN_S)).text)
    except (DeviceError, TimeoutError):
        return False


async def until_health(http_port: int, true: Callable[[Health], bool], what: str) -> Health:
    """Return the health page as soon as ``true`` of it; raises TimeoutError."""
    found: Health = {}
    loop = asyncio.get_running_loop()
    end = loop.time() + BACK_S
    while loop.time() < end:
        found = await asyncio.to_thread(_health, http_port)
        if true(found):
            return found
        await asyncio.sleep(0.05)
    raise TimeoutError(f"{what} never came: {found}"[:300])


def _health(http_port: int) -> Health:
    with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/healthz", timeout=60) as page:
        body: Health = json.load(page)
    return body
