"""The event stream of one process: it sees the events of all, while anybody watches.

Without a watcher anywhere, an event costs a look-up. With one, each process sends its events to all
others, so that every process can serve a stream, and go on with one that another process began.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from vixio.core.cluster import Cluster
from vixio.core.session.events import Event
from vixio.core.tools.types import JsonObject
from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import Change
from vixio.web.feed.changes import Past
from vixio.web.feed.content import CHANGES, Content, change_entry, content
from vixio.web.feed.entry import Entry
from vixio.web.feed.log import EventLog
from vixio.web.feed.position import Position
from vixio.web.feed.watch import Watch

TOPIC: Final = "events"
"""Of the broadcast, and of the count of processes that want it."""

LINGER_S: Final = 120.0
"""So long after the last watcher has gone, events are kept for its return."""

HEARD_S: Final = 0.1
"""After which other processes know that their events are wanted: see :mod:`vixio.core.cluster`."""

MAX_WATCHES: Final = 32
"""At a time, in this process."""


ReadChanges = Callable[[int | None], Awaitable[Past]]
"""Reads the audit trail after an entry; None: only how long it is. Raises RegistryUnavailable."""


class TooManyWatches(Exception):
    """There are as many watchers as there may be."""


class EventFeed:
    """For the event bus, which it follows, and for those that watch it."""

    def __init__(self, cluster: Cluster, read_changes: ReadChanges) -> None:
        self.log = EventLog()
        self._read_changes = read_changes
        self._limits = cluster.limits
        self._shared = cluster.shared
        self._broadcast = cluster.broadcast
        self._broadcast.on_message(TOPIC, self._received)
        self._source = secrets.token_hex(4)
        self._number = 0
        self._lapsed = False
        """Whether there were events that nobody wanted, after the last entry."""
        self.watches = 0
        """How many there are."""
        self._lingering: asyncio.TimerHandle | None = None
        self.log.skip(self._source, 0)

    def __call__(self, event: Event) -> None:
        """Follow an event of a session."""
        if not self._wanted():
            self._lapsed = True
        elif (found := content(event)) is not None:
            session = {"session_id": event.session_id} if event.session_id else {}
            self._add(event.device_id, found, session)

    def tell(self, device_id: str, found: Content) -> None:
        """Add what happened to a device outside its sessions."""
        if self._wanted():
            self._add(device_id, found)
        else:
            self._lapsed = True

    def _add(self, device_id: str, found: Content, session: Mapping[str, str] = {}) -> None:
        self._note_lapse()
        self._number += 1
        entry = Entry(
            self._source,
            self._number,
            now_ms(),
            found.type,
            found.about,
            device_id,
            {**session, **found.fields},
            found.words,
        )
        self.log.append(entry)
        self._broadcast.send(TOPIC, entry.to_json())

    def changed(self, changes: Sequence[Change]) -> None:
        """Follow the audit trail, which every process reads by itself."""
        if self._wanted():
            for change in changes:
                self.log.append(change_entry(change))

    async def watch(self, position: Position | None = None) -> Watch:
        """Begin to watch, after ``position`` or now.

        Raises TooManyWatches, RegistryUnavailable.
        """
        if self.watches >= MAX_WATCHES:
            raise TooManyWatches
        first = not self.watches and self._lingering is None
        self.watches += 1
        self._linger(False)
        self._limits.set(TOPIC, "", 1)
        try:
            if first and self._shared:
                await asyncio.sleep(HEARD_S)
            self._note_lapse()
            # In the ids of this watch, and so for other processes to know: nothing is lost to them.
            self._broadcast.send(TOPIC, {"source": self._source, "head": self._number})
            place = self.log.end if position is None else self.log.start
            known, whole = self._known(position)
            past = await self._read_changes(position.get(CHANGES) if position else None)
        except BaseException:
            self._left()
            raise
        changes = [change_entry(change) for change in past.changes]
        known[CHANGES] = changes[0].number - 1 if changes else past.last
        missed = not (whole and past.complete)
        return Watch(self.log, place, known, changes, self._left, missed=missed)

    def close(self) -> None:
        """End all watches, and forget what happened. Idempotent."""
        self._linger(False)
        self.log.close()

    def _known(self, position: Position | None) -> tuple[Position, bool]:
        """Return what a watcher that was given ``position`` knows of each process.

        And whether all that came after it is still here.
        """
        log = self.log
        heads = {source: head for source, head in log.heads.items() if source != CHANGES}
        if position is None:
            return heads, True
        known = {}
        for source, head in heads.items():
            before, had = log.before(source), position.get(source)
            known[source] = had if had is not None and before <= had <= head else before
        asked = {source: had for source, had in position.items() if source != CHANGES}
        return known, asked.items() <= known.items()

    def _left(self) -> None:
        self.watches -= 1
        if not self.watches and not self.log.closed:
            self._linger(True)

    def _linger(self, begin: bool) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        if begin:
            self._lingering = asyncio.get_running_loop().call_later(LINGER_S, self._lapse)

    def _lapse(self) -> None:
        self._lingering = None
        self._limits.set(TOPIC, "", 0)

    def _wanted(self) -> bool:
        own = self.watches > 0 or self._lingering is not None
        return not self.log.closed and (own or self._limits.others(TOPIC) > 0)

    def _note_lapse(self) -> None:
        """Skip a sequence number, so that a client that resumes detects the gap."""
        if self._lapsed:
            self._lapsed = False
            self._number += 1
            self.log.skip(self._source, self._number)

    def _received(self, body: JsonObject) -> None:
        if self.log.closed:
            return
        if (entry := Entry.from_json(body)) is not None:
            self.log.append(entry)
            return
        match body:
            case {"source": str(source), "head": int(head)}:
                if head > self.log.heads.get(source, -1):
                    self.log.skip(source, head)
