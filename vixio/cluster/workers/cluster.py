"""The cluster as a worker process sees it: everything goes through the coordinator."""

from __future__ import annotations

import asyncio

from vixio.cluster.workers.broadcast import WorkerBroadcast
from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.commands import WorkerCommands
from vixio.cluster.workers.leases import WorkerLeases
from vixio.cluster.workers.limits import WorkerLimits
from vixio.cluster.workers.messages import Kind, Message
from vixio.cluster.workers.presence import WorkerPresence
from vixio.core.cluster import Cluster, LossReason, Status


class WorkerCluster(Cluster):
    """The parts over one channel. :meth:`run` reads it. ``worker``: the number of this process."""

    leases: WorkerLeases
    presence: WorkerPresence
    limits: WorkerLimits
    commands: WorkerCommands
    broadcast: WorkerBroadcast

    def __init__(self, worker: int, channel: Channel) -> None:
        leases = WorkerLeases(channel)
        presence = WorkerPresence(worker, channel, leases)
        commands = WorkerCommands(channel, leases)
        super().__init__(
            leases,
            presence,
            WorkerLimits(channel),
            commands,
            WorkerBroadcast(channel),
            shared=True,
        )
        self._channel = channel

    async def run(self) -> None:
        """Take the coordinator's messages until it is gone."""
        renewing = asyncio.create_task(self.leases.renew())
        try:
            while (message := await self._channel.receive()) is not None:
                self._handle(message)
        finally:
            renewing.cancel()
            self.leases.close()
            self.commands.close()
            await asyncio.wait({renewing})

    def ready(self, about: Status) -> None:
        """Report that devices are accepted."""
        self._channel.send(Kind.READY, **about)

    def _handle(self, message: Message) -> None:
        number = message.number
        match (message.kind, message.body):
            case (Kind.GAUGE, {"name": str(name), "key": str(key), "count": int(count)}):
                self.limits.counted(name, key, count)
            case (Kind.CHARGE, {"name": str(name), "key": str(key), "amount": int(amount)}):
                self.limits.charged(name, key, amount)
            case (Kind.BROADCAST, {"topic": str(topic), "body": dict(body)}):
                self.broadcast.received(topic, body)
            case (Kind.PRESENCE, {"device": str(device), "worker": int(worker)}):
                self.presence.connected(device, worker)
            case (
                Kind.LEASE,
                {"device": str(device), "token": int(token), "handover": str(handover)},
            ):
                self.leases.granted(number, device, token, handover)
            case (Kind.LOSE, {"device": str(device), "token": int(token), "reason": str(reason)}):
                self.leases.lose(number, device, token, LossReason(reason))
            case (
                Kind.COMMAND,
                {
                    "device": str(device),
                    "token": int(token),
                    "command": dict(command),
                    "timeout": int() | float() as timeout,
                },
            ):
                self.commands.received(number, device, token, command, timeout)
            case (Kind.STATUS, {"topic": str(topic)}):
                self._channel.answer(number, self.presence.status(topic))
            case (Kind.ANSWER, {"result": result}):
                self._channel.answered(number, result)
            case _:
                raise ValueError(f"the coordinator does not send {message.kind.name}")
