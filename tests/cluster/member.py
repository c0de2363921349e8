"""A process that is a node and nothing else: ``member.py URL NAME``.

Reads words from standard input, a command a line, and writes what happens to standard output:
``acquire`` → ``begun``, then ``granted TOKEN`` or ``refused``; ``lost`` when the lease is. While it
holds a valid lease it "speaks": it notes the time every millisecond, as a session sends audio, and
writes the times with ``spoke``, in several lines, when it is asked for them, and then ``spoken``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator

from tests.support.nats_nodes import SECRET
from vixio.bus.address import parse_address
from vixio.cluster.nats.cluster import NatsCluster, Node
from vixio.core.cluster import ClusterUnavailable, Lease, LeaseLost, LossReason

DEVICE = "02:00:00:00:00:01"
OF_A_LINE = 1_000


def say(*words: object) -> None:
    """Write a line."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Member:
    """One node with at most one session."""

    def __init__(self, cluster: NatsCluster) -> None:
        self.cluster = cluster
        self.spoken: list[float] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def acquire(self) -> None:
        """Connect the device here."""
        speaking: asyncio.Task[None] | None = None

        async def on_lost(reason: LossReason) -> None:
            say("lost", reason.value)
            if speaking is not None:
                speaking.cancel()

        # Said once the connection has an age, and the first message is about to be sent.
        asyncio.get_running_loop().call_soon(say, "begun")
        try:
            lease = await self.cluster.leases.acquire(DEVICE, on_lost)
        except (LeaseLost, ClusterUnavailable) as error:
            say("refused", error)
            return
        speaking = asyncio.create_task(self._speak(lease))
        self._tasks.add(speaking)
        say("granted", lease.token)

    async def _speak(self, lease: Lease) -> None:
        while True:
            at = time.monotonic()  # the test may stop the process between this look and the note
            if lease.valid:
                self.spoken.append(at)
                await asyncio.sleep(0.001)
            elif not await lease.confirmed():
                return

    async def run(self) -> None:
        """Obey until standard input ends."""
        await self.cluster.start()
        say("ready", self.cluster.node)
        async for line in _lines():
            match line.strip():
                case "acquire":
                    task = asyncio.create_task(self.acquire())
                    self._tasks.add(task)
                case "spoke":
                    for begin in range(0, len(self.spoken), OF_A_LINE):
                        say("spoke", json.dumps(self.spoken[begin : begin + OF_A_LINE]))
                    say("spoken")
        await self.cluster.close()


async def _lines() -> AsyncIterator[str]:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        yield line.decode()


if __name__ == "__main__":
    _, url, name = sys.argv
    asyncio.run(Member(NatsCluster(Node(name, parse_address(url), SECRET))).run())
