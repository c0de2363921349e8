"""A command given in one process reaches a device that is connected to another one."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.processes import (
    LIGHT_YAML,
    START_TIMEOUT,
    STOP_TIMEOUT,
    light_environment,
)
from tests.support import patient, warm
from tests.support.clusters import machine
from tests.support.servers import free_ports
from tests.support.waiting import until
from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.coordinator import Coordinator
from vixio.cluster.workers.lease_table import LEASE_S
from vixio.core.children import command as python
from vixio.core.cluster import Presence
from vixio.core.commands import (
    Ask,
    Close,
    Command,
    CommandResult,
    CommandStatus,
    Custom,
    Interrupt,
    Reconfigure,
    Say,
    encode,
)
from vixio.core.session.speech import Priority

ROOT = Path(__file__).resolve().parents[2]
NEWS = "The washing machine is done."
LONG = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen. " * 10
BOUND = 90.0
MANY = 60
"""Connections of which all to one of two processes do not happen by chance."""


class Worker:
    """A process that embeds the server, and what is asked of it."""

    def __init__(self, number: int, process: asyncio.subprocess.Process) -> None:
        self.number = number
        self.process = process

    async def line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(START_TIMEOUT):
            return (await self.process.stdout.readline()).decode().strip()

    async def give(self, device: str, command: Command, timeout: float = BOUND) -> CommandResult:
        """Have this process give a command."""
        assert self.process.stdin is not None
        asked = {"device": device, "command": encode(command), "timeout": timeout}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        return CommandResult.from_json(json.loads(await self.line()))


class Machine:
    """Two workers on the same ports. ``presence``: as a third process sees them."""

    def __init__(self, presence: Presence, workers: list[Worker], ota: str) -> None:
        self.presence = presence
        self.workers = workers
        self.ota = ota

    async def place(self, device_id: str) -> tuple[Worker, Worker]:
        """Return the worker that serves a device, and the other one."""
        await until(lambda: self.presence.where(device_id))
        first, second = self.workers
        serves_first = self.presence.where(device_id) == str(first.number)
        return (first, second) if serves_first else (second, first)


@asynccontextmanager
async def worker(
    coordinator: Coordinator, number: int, ports: list[int], config: Path
) -> AsyncIterator[Worker]:
    listening = socket.socket(socket.AF_UNIX)
    listening.setblocking(False)
    # The name of such a socket is a short one, and that of a test's folder may not be.
    with listening, TemporaryDirectory() as folder:
        path = Path(folder, "coordinator")
        listening.bind(str(path))
        listening.listen()
        process = await warm.create_subprocess_exec(
            *python(
                "tests.e2e.embedding_worker",
                *(str(each) for each in (path, number, *ports, config)),
            ),
            cwd=ROOT,
            env={**warm.kept(), **light_environment()},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(START_TIMEOUT):
                ours, _ = await asyncio.get_running_loop().sock_accept(listening)
        except BaseException:
            process.kill()
            await process.wait()
            raise
    channel = await Channel.open(ours)
    attended = asyncio.create_task(coordinator.attend(number, channel))
    try:
        made = Worker(number, process)
        assert await made.line() == "ready"
        yield made
        await channel.close()  # it ends with its coordinator
        async with asyncio.timeout(STOP_TIMEOUT):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        await attended
        await channel.close()


@asynccontextmanager
async def two_workers(directory: Path) -> AsyncIterator[Machine]:
    config = directory / "vixio.yaml"
    config.write_text(
        "memory: {store: none}\napi: {enabled: false}\nlogging: {level: WARNING}\n"
        f"{LIGHT_YAML}timeouts: {json.dumps(patient.sections()['timeouts'])}\n"
    )
    ports = free_ports(2)
    async with machine() as made, AsyncExitStack() as stack:
        observer = await made.join()
        workers = [
            await stack.enter_async_context(worker(made.coordinator, number, ports, config))
            for number in (2, 3)
        ]
        ota = f"http://127.0.0.1:{ports[1]}/xiaozhi/ota/"
        yield Machine(observer.cluster.presence, workers, ota)


@pytest.mark.slow
async def test_commands_from_the_other_process(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as made:
        config = DeviceConfig(ota_url=made.ota, mode="auto")
        device_id = config.device_id
        for each in made.workers:
            result = await each.give(device_id, Say(NEWS))
            assert result.status is CommandStatus.NOT_CONNECTED
        async with SimulatedDevice(config) as device:
            here, elsewhere = await made.place(device_id)
            await is_said(device, here, "This came from its own process.")
            await is_said(device, elsewhere, NEWS)
            await is_asked(device, elsewhere)
            asked = Custom("which process", {"asked": [1, "two"]})
            answer = {"asked": [1, "two"], "process": here.number, "device": device_id}
            assert (await elsewhere.give(device_id, asked)).value == answer
            await is_interrupted(device, elsewhere)
            assert (await elsewhere.give(device_id, Reconfigure({"user": "Ann"}))).ok
            await follows_its_device(made, device, config)
        await until(lambda: not made.presence.where(device_id))
        result = await elsewhere.give(device_id, Interrupt())
        assert result.status is CommandStatus.NOT_CONNECTED


@pytest.mark.slow
async def test_an_unresponsive_process_loses_its_devices(tmp_path: Path) -> None:
    """Commands to it time out, then its device counts as not connected; awake, it gives it up."""
    async with two_workers(tmp_path) as made:
        config = DeviceConfig(ota_url=made.ota, mode="manual")
        device_id = config.device_id
        async with SimulatedDevice(config) as device:
            here, elsewhere = await made.place(device_id)
            assert (await elsewhere.give(device_id, Say("Hello.", wait=True))).ok
            here.process.send_signal(signal.SIGSTOP)
            try:
                result = await elsewhere.give(device_id, Interrupt(), timeout=0.5)
                assert result.status is CommandStatus.TIMED_OUT
                async with asyncio.timeout(BOUND + LEASE_S):
                    while made.presence.where(device_id):  # noqa: ASYNC110 - another process
                        await asyncio.sleep(0.1)
                result = await elsewhere.give(device_id, Interrupt())
                assert result.status is CommandStatus.NOT_CONNECTED
                assert device.connected
            finally:
                here.process.send_signal(signal.SIGCONT)
            close = await device.wait_for_close()
            assert (close.code, close.reason) == (1001, "the server was unresponsive")
            await device.connect()
            await made.place(device_id)
            assert (await elsewhere.give(device_id, Say("Hello.", wait=True))).ok


async def is_said(device: SimulatedDevice, giver: Worker, text: str) -> None:
    """What one process says is played by the device, which is connected to another."""
    device_id = device.config.device_id.upper()  # in whichever spelling
    before = len(device.replies)
    result = await giver.give(device_id, Say(text, wait=True))
    assert result.value == {"status": "played", "heard": text}, result
    reply = await device.wait_for_reply(after=before)
    assert reply.text == text
    assert not reply.cut
    assert reply.played == reply.frames > 0
    assert not reply.overflows
    assert not reply.decode_errors


async def is_asked(device: SimulatedDevice, giver: Worker) -> None:
    before = len(device.replies)
    result = await giver.give(device.config.device_id, Ask("what can you do", wait=True))
    assert result.ok, result
    assert result.value["status"] == "played"
    assert result.value["heard"]
    assert (await device.wait_for_reply(after=before)).text == result.value["heard"]


async def is_interrupted(device: SimulatedDevice, giver: Worker) -> None:
    device_id = device.config.device_id
    replies = len(device.replies)
    assert (await giver.give(device_id, Say(LONG, Priority.HIGH))).ok
    await device.wait_for(
        lambda: len(device.replies) > replies and device.replies[-1].heard.samples.size,
        what="speech",
    )
    assert (await giver.give(device_id, Interrupt("test"))).ok
    await device.wait_for_reply(after=replies)


async def follows_its_device(made: Machine, device: SimulatedDevice, config: DeviceConfig) -> None:
    """Commands go to the newer connection of a device, wherever that is."""
    here, elsewhere = await made.place(config.device_id)
    places = {here.number}
    for _ in range(MANY):
        newer = SimulatedDevice(config)
        await newer.start()
        try:
            assert (await device.wait_for_close()).code == 4001
            here, elsewhere = await made.place(config.device_id)
            places.add(here.number)
            await is_said(newer, elsewhere, NEWS)
        except BaseException:
            await newer.close()
            raise
        await device.close()
        device = newer
        if len(places) == 2:
            break
    assert len(places) == 2, "all connections went to one process"
    assert (await elsewhere.give(config.device_id, Close("enough"))).ok
    assert (await device.wait_for_close()).reason == "enough"
    await device.close()
