"""Says what is due to the devices of this process: one timer for all of them.

The times are those of the wall clock. It is looked at every :data:`LONGEST_S` at least, so a clock
that is set is followed. Changes of other processes come as :meth:`Deliverer.wake`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from vixio.core.log_fields import shared_context
from vixio.core.metrics import Counters
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.events import (
    ConversationOpened,
    Event,
    SessionClosed,
    SessionOpened,
    TurnStarted,
)
from vixio.core.session.session import Session
from vixio.core.session.speech import Priority
from vixio.core.tasks import cancel_and_wait
from vixio.core.wall_clock import now_ms
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.reminders.ledger import Ended, look
from vixio.data.reminders.script import DeliveryScript
from vixio.data.reminders.tables import Due
from vixio.data.reminders.words import LATE_MS

LONGEST_S: Final = 30.0
"""Of a sleep."""

CONTACT_S: Final = 5.0
"""A device that connects has a user who wants to say something: first they may, for so long."""

STOP_S: Final = 3.0
"""How long the end of the server waits for the record of what was heard."""


class Deliverer:
    """``zone``: IANA name for times of day; empty: that of the machine. ``clock``: milliseconds
    since 1970."""

    def __init__(
        self,
        link: Link[Database],
        sessions: SessionDirectory,
        counters: Counters,
        zone: str = "",
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._link = link
        self._sessions = sessions
        self._counters = counters
        self._zone = zone
        self._clock = clock
        self.on_ended: Callable[[Ended], None] = lambda _ended: None
        """Called with what is delivered, or never will be, or was only shown."""
        self._process = secrets.token_hex(6)
        self._due: Mapping[str, Sequence[Due]] = {}
        self._next_at: int | None = None
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._fresh: dict[str, asyncio.TimerHandle] = {}
        """By session id: those that have just begun, and when they need not be waited for."""
        self._held: set[str] = set()
        """Devices for which something waits until their quiet hours are over."""
        self._under_way: dict[tuple[str, Priority], asyncio.Task[None]] = {}

    def start(self) -> None:
        """Begin to deliver."""
        self._loop = asyncio.create_task(self._run(), context=shared_context())

    async def stop(self) -> None:
        """Note what was heard, for a bounded time; the sessions are over. Idempotent."""
        loop, self._loop = self._loop, None
        await cancel_and_wait(loop)
        for timer in self._fresh.values():
            timer.cancel()
        self._fresh.clear()
        tasks = set(self._under_way.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_S)
            await cancel_and_wait(*late)

    def wake(self) -> None:
        """Look again: something has changed. Returns at once."""
        self._wake.set()

    def __call__(self, event: Event) -> None:
        """Follow sessions: what has waited for a device is said soon after it has connected."""
        match event:
            case SessionOpened() | ConversationOpened():
                if event.session_id in self._fresh:
                    self._fresh.pop(event.session_id).cancel()
                timer = asyncio.get_running_loop().call_later(
                    CONTACT_S, self._settled, event.device_id, event.session_id
                )
                self._fresh[event.session_id] = timer
            case TurnStarted(text=text) if text and event.session_id in self._fresh:
                self._settled(event.device_id, event.session_id)  # it waits for the reply
            case TurnStarted() if event.device_id in self._held:
                self._offer(event.device_id)  # somebody is up
            case SessionClosed():
                if event.session_id in self._fresh:
                    self._fresh.pop(event.session_id).cancel()
            case _:
                pass

    def _settled(self, device_id: str, session_id: str) -> None:
        self._fresh.pop(session_id).cancel()
        self._offer(device_id)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                at = self._clock()
                found = await self._link.call(Operation(partial(look, now=at)))
            except Unavailable:
                await self._link.usable()
                continue
            except Rejected:  # what cannot be read is there at the next look too
                self._counters.add("reminders.unreadable")
                await asyncio.sleep(LONGEST_S)
                continue
            self._due, self._next_at = found.due, found.next_at
            for ended in found.ended:
                self.on_ended(ended)
            self._held.clear()
            for device_id in found.due:
                self._offer(device_id)
            await self._sleep()

    async def _sleep(self) -> None:
        """Sleep until something is due, or has changed."""
        while not self._wake.is_set():
            left = LONGEST_S
            if self._next_at is not None:
                left = (self._next_at - self._clock()) / 1000
            for session in filter(None, map(self._sessions.find, self._held)):
                until = session.quiet_until
                left = min(left, until.timestamp() - self._clock() / 1000 if until else 0.0)
            if left <= 0:
                return
            try:
                async with asyncio.timeout(min(left, LONGEST_S)):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _offer(self, device_id: str) -> None:
        """Have the session of a device say what is due, in its turn."""
        session = self._sessions.find(device_id)
        if session is None or self._loop is None:
            return
        again, quiet = session.connection.awake, session.quiet_until is not None
        fresh = [each for each in self._due.get(device_id, ()) if again or not each.shown]
        due = [each for each in fresh if each.asked or not quiet]
        if due != fresh:
            self._held.add(device_id)
        if not due:
            return
        priority = max(each.priority for each in due)
        newest = max(each.newest for each in due)
        if priority is not Priority.HIGH:
            if session.session_id in self._fresh:
                return
            if self._clock() - newest >= LATE_MS:
                priority = Priority.LOW  # it has waited, so it waits for a pause too
        if any(known >= priority for device, known in self._under_way if device == device_id):
            return
        key = (device_id, priority)
        task = asyncio.create_task(self._deliver(session, priority), context=shared_context())
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._over(key))

    def _over(self, key: tuple[str, Priority]) -> None:
        del self._under_way[key]
        self._wake.set()

    async def _deliver(self, session: Session, priority: Priority) -> None:
        owner = f"{self._process}-{secrets.token_hex(6)}"
        script = DeliveryScript(self._link, session, owner, self._zone, self._clock)
        outcome = await session.perform(script, priority=priority).played()
        self._counters.add(f"reminders.{outcome.status.value}", len(script.deliveries))
        for ended in await script.settle(outcome):
            self.on_ended(ended)
