"""Many moves and many racing claims of one device: it has one session, and nothing is lost."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.clusters import BOUND
from tests.support.nats_nodes import JetStreamServer, nodes
from tests.support.waiting import until
from vixio.cluster import sharing_lease
from vixio.cluster.nats.cluster import NatsCluster
from vixio.core.cluster import Lease, LeaseLost, LossReason
from vixio.core.commands import Command, CommandResult, CommandStatus, Say

DEVICE = "02:00:00:00:00:01"
MOVES = 100
RACES = 1_000


class Session:
    """One session: has the conversation, may add a turn, and hands it over at its end.

    ``memory``: the conversation as each node has it.
    """

    def __init__(self, running: set[Session], memory: dict[NatsCluster, list[str]]) -> None:
        self._running = running
        self._memory = memory
        self.lease: Lease | None = None
        self.turns: list[str] = []

    async def begin(self, node: NatsCluster, *turn: str) -> None:
        lease = self.lease = await node.leases.acquire(DEVICE, self._lost)
        assert not self._running, "two sessions at once"
        self._running.add(self)
        known = lease.handover.split() or self._memory.get(node, [])
        self.turns = self._memory[node] = [*known, *turn]
        if turn:
            lease.share_handover(lambda: " ".join(self.turns))

    async def end(self) -> None:
        self._running.discard(self)
        assert self.lease is not None
        await self.lease.release()

    async def _lost(self, reason: LossReason) -> None:
        await asyncio.sleep(random.random() / 100)
        self._running.discard(self)


async def test_a_hundred_moves_carry_the_conversation_along(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each before the last turns are sent, while they are on their way, or after that."""
    order = random.Random(14)
    running: set[Session] = set()
    memory: dict[NatsCluster, list[str]] = {}
    said: list[str] = []
    carried_out: list[str] = []

    # Without a bound: a node that the machine holds up is waited for, and hands over in the end.
    async with nodes(bus.url, 3, release_timeout=BOUND) as members:
        for node in members:

            async def take(device_id: str, command: Command) -> CommandResult:
                assert isinstance(command, Say)
                carried_out.append(command.text)
                return CommandResult(CommandStatus.DONE)

            node.commands.serve(take)
        at = members[0]
        session = Session(running, memory)
        await session.begin(at)
        for number in range(1, MOVES + 1):
            monkeypatch.setattr(sharing_lease, "SHARE_S", order.choice([0, 0.001, 0.05]))
            if released := order.random() < 0.2:
                await session.end()
            at = order.choice([node for node in members if node is not at])
            turn = [f"t{number}"] if order.random() < 0.7 else []
            said += turn
            session = Session(running, memory)
            beginning = asyncio.create_task(session.begin(at, *turn))
            if released:
                await beginning
            result = await order.choice(members).commands.send(DEVICE, Say(f"c{number}"))
            await beginning
            assert result.ok, result
            assert session.turns == said
        await until(lambda: {node.presence.where(DEVICE) for node in members} == {at.node})
    assert carried_out == [f"c{number}" for number in range(1, MOVES + 1)]


async def test_of_a_thousand_racing_claims_one_session_is_left(bus: JetStreamServer) -> None:
    order = random.Random(15)
    valid: list[Lease] = []

    async def race(node: NatsCluster) -> None:
        await asyncio.sleep(order.random() / 2)

        async def lost(reason: LossReason) -> None:
            await asyncio.sleep(0)

        try:
            lease = await node.leases.acquire(DEVICE, lost)
        except LeaseLost:
            return
        assert sum(each.valid for each in valid) == 0, "two sessions at once"
        valid.append(lease)

    async with nodes(bus.url, 3) as members:
        async with asyncio.timeout(BOUND):
            await asyncio.gather(*(race(order.choice(members)) for _ in range(RACES)))
        (left,) = (lease for lease in valid if lease.valid)
        assert left.token == max(lease.token for lease in valid)
        tokens = [lease.token for lease in valid]
        assert tokens == sorted(tokens)
        place = {node.presence.where(DEVICE) for node in members}
        await until(lambda: len({node.presence.where(DEVICE) for node in members}) == 1)
        assert place
