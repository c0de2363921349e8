"""The cluster as a worker process sees it: everything goes through the coordinator."""

from __future__ import annotations

import asyncio

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.commands import WorkerCommands
from vixio.cluster.workers.leases import WorkerLeases
from vixio.cluster.workers.messages import Kind, Message
from vixio.cluster.workers.presence import WorkerPresence
from vixio.core.cluster import (
    Broadcast,
    Charged,
    Cluster,
    LossReason,
    OnBroadcast,
    SharedLimits,
    Status,
)
from vixio.core.tools.types import JsonObject


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


class WorkerBroadcast(Broadcast):
    """What this process tells all others; the coordinator passes it on.

    Messages that find the channel full are dropped: what cannot wait goes by it, too.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._listeners: dict[str, OnBroadcast] = {}

    def send(self, topic: str, body: JsonObject) -> None:
        """Send to all other processes."""
        if not self._channel.busy:
            self._channel.send(Kind.BROADCAST, topic=topic, body=body)

    def on_message(self, topic: str, receive: OnBroadcast) -> None:
        """Have ``receive`` called with what other processes send."""
        self._listeners[topic] = receive

    # ── the channel's side ───────────────────────────────────────────────────────────────────

    def received(self, topic: str, body: JsonObject) -> None:
        """Pass on what another process has sent."""
        if listener := self._listeners.get(topic):
            listener(body)


class WorkerLimits(SharedLimits):
    """What this process counts, published where it changes, and what the others do together."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._own: dict[tuple[str, str], int] = {}
        self._others: dict[tuple[str, str], int] = {}
        self._listeners: dict[str, Charged] = {}

    def set(self, name: str, key: str, count: int) -> None:
        """Publish how many of ``key`` this process has."""
        if self._own.get((name, key), 0) == count:
            return
        if count:
            self._own[name, key] = count
        else:
            del self._own[name, key]
        self._channel.send(Kind.GAUGE, name=name, key=key, count=count)

    def others(self, name: str, key: str = "") -> int:
        """Return how many of ``key`` the other processes have together."""
        return self._others.get((name, key), 0)

    def charge(self, name: str, key: str, amount: int = 1) -> None:
        """Publish what a rate limit of all processes counts."""
        self._channel.send(Kind.CHARGE, name=name, key=key, amount=amount)

    def on_charge(self, name: str, charged: Charged) -> None:
        """Have ``charged`` called with what other processes charge."""
        self._listeners[name] = charged

    # ── the channel's side ───────────────────────────────────────────────────────────────────

    def counted(self, name: str, key: str, count: int) -> None:
        """Note how many the others have."""
        if count:
            self._others[name, key] = count
        else:
            self._others.pop((name, key), None)

    def charged(self, name: str, key: str, amount: int) -> None:
        """Pass on what another process has charged."""
        if listener := self._listeners.get(name):
            listener(key, amount)
