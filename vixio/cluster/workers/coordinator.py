"""The state that all worker processes share, in the supervisor's process."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final, NamedTuple

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.lease_table import RENEW_S, Held, LeaseTable
from vixio.cluster.workers.messages import Kind, Message
from vixio.cluster.workers.router import CommandRouter
from vixio.core.cluster import HEALTH, RELEASE_S, LossReason

_log = logging.getLogger(__name__)

STATUS_S: Final = 1.0
"""A worker that does not report its status in so many seconds is left out."""

Ready = Callable[[int, dict[str, Any]], None]
"""Receives a worker's number and the fields of its ``ServerInfo`` when it accepts devices."""


class Coordinator:
    """Grants leases, adds counts up, keeps conversations for the next holder and routes requests.

    Workers have numbers from 1. ``on_ready`` is called for each that accepts devices.
    ``release_timeout``: seconds that a device's last holder has to end its session.
    """

    def __init__(
        self,
        on_ready: Ready = lambda number, about: None,
        *,
        release_timeout: float = RELEASE_S,
    ) -> None:
        self._on_ready = on_ready
        self._release_timeout = release_timeout
        self._channels: dict[int, Channel] = {}
        self._leases = LeaseTable()
        self._ending: dict[str, asyncio.Task[int]] = {}
        self._counters = SharedCounters()
        self._handovers = HandoverStore()
        self._router = CommandRouter(self._leases, self._channels, self._ending)
        self._tasks: set[asyncio.Task[None]] = set()
        self._expiring: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether no worker has anything."""
        return not (self._leases or self._counters or self._channels)

    async def attend(self, worker: int, channel: Channel) -> None:
        """Serve one worker until its end; then its leases and counts are dropped."""
        if self._expiring is None:
            self._expiring = asyncio.create_task(self._expire())
        self._channels[worker] = channel
        self._leases.renew(worker)
        try:
            for (name, key), count in list(self._counters.seen_by(worker)):
                channel.send(Kind.GAUGE, name=name, key=key, count=count)
            for device, holder in self._leases.devices().items():
                channel.send(Kind.PRESENCE, device=device, worker=holder)
            while (message := await channel.receive()) is not None:
                self._handle(worker, channel, message)
        except ValueError as error:
            _log.error(
                "malformed message from worker",
                extra={"worker": worker, "error": type(error).__name__},
            )
        finally:
            del self._channels[worker]
            for row in self._counters.rows_of(worker):
                self._count(worker, row, 0)
            for device in self._leases.drop(worker):
                self._announce(device, 0)

    async def members(self, topic: str = HEALTH) -> list[dict[str, Any]]:
        """Return the status of each worker that reports it in time."""
        answers = await asyncio.gather(
            *(
                channel.request(Kind.STATUS, STATUS_S, topic=topic)
                for channel in self._channels.values()
            )
        )
        return [answer for answer in answers if isinstance(answer, dict)]

    async def close(self) -> None:
        """End what is under way."""
        tasks: set[asyncio.Task[Any]] = {*self._tasks, *self._ending.values()}
        if self._expiring is not None:
            tasks.add(self._expiring)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _handle(self, worker: int, channel: Channel, message: Message) -> None:
        match (message.kind, message.body):
            case (Kind.GAUGE, {"name": str(name), "key": str(key), "count": int(count)}):
                self._count(worker, (name, key), count)
            case (Kind.CHARGE, {"name": str(), "key": str(), "amount": int()}):
                self._to_others(worker, Kind.CHARGE, **message.body)
            case (Kind.BROADCAST, {"topic": str(), "body": dict()}):
                self._to_others(worker, Kind.BROADCAST, may_lose=True, **message.body)
            case (Kind.RENEW, _):
                self._leases.renew(worker)
            case (Kind.RELEASE, {"device": str(device), "token": int(token)}):
                if self._leases.release(device, token):
                    self._announce(device, 0)
            case (Kind.HANDOVER, {"device": str(device), "token": int(token), "text": str(text)}):
                holder = self._leases.holder(device)
                if holder is None or holder.token <= token:
                    self._handovers.put(device, token, text)
            case (Kind.ANSWER, {"result": result}):
                channel.answered(message.number, result)
            case (Kind.READY, about):
                self._on_ready(worker, about)
            case _:
                self._spawn(self._request(worker, channel, message))

    def _request(
        self, worker: int, channel: Channel, message: Message
    ) -> Coroutine[Any, Any, None]:
        number = message.number
        match (message.kind, message.body):
            case (Kind.ACQUIRE, {"device": str(device)}):
                return self._acquire(worker, channel, number, device)
            case (
                Kind.COMMAND,
                {
                    "device": str(device),
                    "command": dict(command),
                    "timeout": int() | float() as timeout,
                },
            ):
                return self._command(channel, number, device, command, timeout)
            case (Kind.STATUS, {"topic": str(topic)}):
                return self._answer_status(channel, number, topic)
            case (Kind.PRESENCE, {"device": str(device)}):
                return self._answer_presence(channel, number, device)
        raise ValueError(f"a worker does not send this as {message.kind.name}")

    def _count(self, worker: int, row: Row, count: int) -> None:
        if not self._counters.put(worker, row, count):
            return
        name, key = row
        for other, channel in self._channels.items():
            if other != worker:
                others = self._counters.others(other, row)
                channel.send(Kind.GAUGE, name=name, key=key, count=others)

    async def _acquire(self, worker: int, channel: Channel, number: int, device: str) -> None:
        before = self._leases.holder(device)
        held = self._leases.grant(device, worker)
        self._announce(device, worker)
        if before is not None and device not in self._ending:
            # A holder that is not granted yet has no session: only the first one waits for it.
            self._ending[device] = asyncio.create_task(self._take_back(device, before))
        former = 0
        if (ending := self._ending.get(device)) is not None:
            await asyncio.wait({ending})
            former = ending.result()
            if self._ending.get(device) is ending:
                del self._ending[device]
        if not self._leases.holds(device, held.token):
            channel.send(Kind.LEASE, number, device=device, token=0, handover="")
            return
        # The process of the last session still has the conversation itself.
        handover = "" if former == worker else self._handovers.get(device)
        channel.send(Kind.LEASE, number, device=device, token=held.token, handover=handover)

    async def _take_back(self, device: str, held: Held) -> int:
        """Have the holder end its session; take over its conversation, return its worker."""
        channel = self._channels.get(held.worker)
        if channel is None:
            return held.worker
        text = await channel.request(
            Kind.LOSE,
            self._release_timeout,
            device=device,
            token=held.token,
            reason=LossReason.TAKEN,
        )
        if isinstance(text, str):
            self._handovers.put(device, held.token, text)
        return held.worker

    async def _expire(self) -> None:
        """Take their leases from workers that do not renew them."""
        while True:
            await asyncio.sleep(RENEW_S)
            for worker in self._leases.tick():
                self.expire(worker)

    def expire(self, worker: int) -> None:
        """End all leases of a worker. The message reaches it when it responds again."""
        channel = self._channels.get(worker)
        expired = self._leases.drop(worker)
        if expired:
            _log.error(
                "worker is unresponsive, leases revoked",
                extra={"worker": worker, "devices": len(expired)},
            )
        for device, token in expired.items():
            self._announce(device, 0)
            if channel is not None:
                channel.send(Kind.LOSE, device=device, token=token, reason=LossReason.EXPIRED)

    def _announce(self, device: str, holder: int) -> None:
        for worker, channel in self._channels.items():
            elsewhere = holder if holder != worker else 0
            channel.send(Kind.PRESENCE, device=device, worker=elsewhere)

    def _to_others(
        self,
        worker: int,
        kind: Kind,
        *,
        may_lose: bool = False,
        **body: Any,  # noqa: ANN401 - JSON values
    ) -> None:
        for other, channel in self._channels.items():
            if other != worker and not (may_lose and channel.busy):
                channel.send(kind, **body)

    async def _command(
        self, channel: Channel, number: int, device: str, command: dict[str, Any], timeout: float
    ) -> None:
        channel.answer(number, await self._router.route(device, command, timeout))

    async def _answer_status(self, channel: Channel, number: int, topic: str) -> None:
        channel.answer(number, await self.members(topic))

    async def _answer_presence(self, channel: Channel, number: int, device: str) -> None:
        holder = self._leases.holder(device)
        channel.answer(number, holder.worker if holder is not None else 0)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


Row = tuple[str, str]
"""A count's name and key."""


class SharedCounters:
    """Counts by row and worker. A row without any count is not kept."""

    def __init__(self) -> None:
        self._rows: dict[Row, dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, worker: int, row: Row, count: int) -> bool:
        """Set how many of a row a worker has; return whether that changed anything."""
        counts = self._rows.setdefault(row, {})
        changed = counts.get(worker, 0) != count
        if count:
            counts[worker] = count
        else:
            counts.pop(worker, None)
        if not counts:
            del self._rows[row]
        return changed

    def others(self, worker: int, row: Row) -> int:
        """Return how many all workers but this one have."""
        counts = self._rows.get(row, {})
        return sum(counts.values()) - counts.get(worker, 0)

    def rows_of(self, worker: int) -> list[Row]:
        """Return the rows of which a worker has any."""
        return [row for row, counts in self._rows.items() if worker in counts]

    def seen_by(self, worker: int) -> Iterator[tuple[Row, int]]:
        """Yield every row of which the others have any, with how many."""
        for row in self._rows:
            if count := self.others(worker, row):
                yield row, count


MAX_DEVICES: Final = 10_000
MAX_CHARACTERS: Final = 64 * 1024 * 1024


class _Entry(NamedTuple):
    token: int
    text: str


class HandoverStore:
    """The latest conversation of each device, kept for its next holder.

    Texts by device, with the token of the lease under which each was written.

    Over a bound, the devices that were used least recently are dropped.
    """

    def __init__(
        self, max_devices: int = MAX_DEVICES, max_characters: int = MAX_CHARACTERS
    ) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._characters = 0
        self._max_devices = max_devices
        self._max_characters = max_characters

    @property
    def characters(self) -> int:
        """How many are kept in all."""
        return self._characters

    def put(self, device_id: str, token: int, text: str) -> bool:
        """Replace a device's text; False: an older holder wrote it too late."""
        before = self._entries.get(device_id)
        if before is not None and token < before.token:
            return False
        self._characters += len(text) - (len(before.text) if before else 0)
        self._entries[device_id] = _Entry(token, text)
        self._entries.move_to_end(device_id)
        while len(self._entries) > self._max_devices or self._characters > self._max_characters:
            _, dropped = self._entries.popitem(last=False)
            self._characters -= len(dropped.text)
        return True

    def get(self, device_id: str) -> str:
        """Return a device's text; empty if there is none."""
        if device_id not in self._entries:
            return ""
        self._entries.move_to_end(device_id)
        return self._entries[device_id].text
