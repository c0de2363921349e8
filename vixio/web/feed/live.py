"""What each connected device does at this moment, for a page that was just opened.

Each process keeps it of its own devices and publishes it as a topic of presence, so it is gathered
when it is asked for and costs nothing meanwhile. The event stream tells what changes afterwards.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from vixio.core.cluster import Cluster
from vixio.core.commands import CommandStatus, Custom
from vixio.core.session.events import (
    ConversationEnded,
    ConversationOpened,
    Event,
    FinalTranscript,
    SessionClosed,
    SessionOpened,
    SpeechInterrupted,
    SpeechPlayed,
    SpeechSentence,
    StateChanged,
    TurnStarted,
)
from vixio.core.session.session import Session
from vixio.core.tools.types import JsonObject
from vixio.core.turns.floor import State
from vixio.core.wall_clock import now_ms

TOPIC: Final = "live"
"""Of presence."""

COMMAND: Final = "feed.live"
"""Asks the process of one device."""

ONE_S: Final = 1.0
"""Longest wait for the process of one device."""

MAX_CHARS: Final = 200
"""Of the last words of either side."""

MAX_REPORTED: Final = 3_000
"""Devices in the report of a process, those of the latest events; with their words at most 1 MB,
which is the limit of a message on NATS."""

MAX_WORDS_BYTES: Final = 300_000
"""Of all words in a report; further devices are in it without theirs."""


@dataclass(frozen=True, slots=True)
class Live:
    """``state``: a value of :class:`~vixio.core.turns.floor.State`; ``since``: when it began, in
    milliseconds since 1970. ``transport``: how the audio comes, ``websocket`` or ``udp``. ``heard``
    and ``said``: the last words of the user and of the assistant, private; empty where there were
    none. ``awake``: whether a conversation is open."""

    state: str
    since: int
    session_id: str
    transport: str = ""
    heard: str = ""
    said: str = ""
    awake: bool = True

    @classmethod
    def from_json(cls, data: object) -> Live | None:
        """Read a row of a report; None for anything else."""
        match data:
            case [str(state), int(since), str(id), str(by), str(heard), str(said), bool(awake)]:
                return cls(state, since, id, by, heard, said, awake)
        return None


class LiveBoard:
    """The connected devices of this process: a sink of the event bus."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, list[Any]] = OrderedDict()
        """As :meth:`Live.from_json` reads them; the device of the latest event last."""

    def __call__(self, event: Event) -> None:
        """Follow an event."""
        match event:
            case SessionOpened(device_id=device_id, session_id=session_id, device=device):
                transport = device.transport if device is not None else ""
                fresh = [str(State.IDLE), now_ms(), session_id, transport, "", "", event.awake]
                self._rows[device_id] = fresh
                self._rows.move_to_end(device_id)
            case SessionClosed(device_id=device_id):
                if self._row(event) is not None:
                    del self._rows[device_id]
            case StateChanged(after=after):
                if (row := self._row(event)) is not None:
                    row[:2] = after, now_ms()
            case ConversationOpened() | ConversationEnded():
                if (row := self._row(event)) is not None:
                    row[1], row[6] = now_ms(), isinstance(event, ConversationOpened)
            case FinalTranscript(text=text) | TurnStarted(text=text) if text:
                self._put(event, 4, text)
            case SpeechSentence(text=text, filler=False) | SpeechPlayed(text=text):
                self._put(event, 5, text)
            case SpeechInterrupted(heard=heard):
                self._put(event, 5, heard)

    def find(self, device_id: str) -> list[Any] | None:
        """Return the row of a device; None: it is not connected to this process."""
        return self._rows.get(device_id)

    def report(self) -> dict[str, Any]:
        """Return the rows for other processes, within the bounds of a message."""
        room = MAX_WORDS_BYTES
        rows = {}
        for device_id, row in islice(reversed(self._rows.items()), MAX_REPORTED):
            room -= sum(len(words.encode("utf-8", "replace")) for words in row[4:6])
            rows[device_id] = row if room >= 0 else [*row[:4], "", "", row[6]]
        return {TOPIC: rows}

    def all(self) -> Mapping[str, list[Any]]:
        """Return the rows of all devices of this process."""
        return dict(self._rows)

    async def answer(self, session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
        """Carry out :data:`COMMAND`."""
        return self.find(session.device_id)

    def _put(self, event: Event, place: int, words: str) -> None:
        if (row := self._row(event)) is not None:
            row[place] = _clip(words)

    def _row(self, event: Event) -> list[Any] | None:
        """Return the row of an event's session; None: a newer session of the device has come."""
        row = self._rows.get(event.device_id)
        if row is None or row[2] != event.session_id:
            return None
        self._rows.move_to_end(event.device_id)
        return row


class LiveDevices:
    """The connected devices of all processes."""

    def __init__(self, board: LiveBoard, cluster: Cluster) -> None:
        self._board = board
        self._cluster = cluster
        self._running: asyncio.Task[Mapping[str, Any]] | None = None
        self._next: asyncio.Task[Mapping[str, Any]] | None = None
        cluster.presence.publish(board.report, topic=TOPIC)

    async def one(self, device_id: str) -> Live | None:
        """Return what a device does; None: it is not connected, or its process does not answer."""
        row: Any = self._board.find(device_id)
        if row is None and self._cluster.shared:
            row = await self._ask(device_id)
        return Live.from_json(row)

    async def all(self) -> Mapping[str, Any]:
        """Return a row for :meth:`Live.from_json` by device, of the processes that answer.

        They are asked once for all who wait, and after the call: what has happened before is in it.
        """
        if not self._cluster.shared:
            return self._board.all()
        if self._next is None:
            self._next = asyncio.create_task(self._gather(self._running))
        return await asyncio.shield(self._next)

    async def _ask(self, device_id: str) -> Any:  # noqa: ANN401 - JSON
        command = Custom(COMMAND)
        try:
            async with asyncio.timeout(2 * ONE_S):  # a cluster also waits for a device that moves
                result = await self._cluster.commands.send(device_id, command, timeout=ONE_S)
        except TimeoutError:
            return None
        return result.value if result.status is CommandStatus.DONE else None

    async def _gather(self, before: asyncio.Task[Mapping[str, Any]] | None) -> Mapping[str, Any]:
        if before is not None:
            await asyncio.wait({before})
        self._running, self._next = self._next, None
        return merged(await self._cluster.presence.members(TOPIC))


def merged(members: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the rows of all reports; what is none is left out."""
    found: dict[str, Any] = {}
    for member in members:
        rows = member.get(TOPIC)
        if isinstance(rows, dict):
            found.update(rows)
    return found


def _clip(words: str) -> str:
    plain = " ".join(words[: 4 * MAX_CHARS].split())
    return plain if len(plain) <= MAX_CHARS else f"{plain[: MAX_CHARS - 1]}…"
