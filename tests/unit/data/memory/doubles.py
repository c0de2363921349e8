"""A store in the process that fails and hangs on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from vixio.core.history import AssistantMessage, History, HistoryItem, UserMessage
from vixio.core.history_store import HistoryStore
from vixio.core.metrics import Counters
from vixio.data.database.link import Trouble
from vixio.data.memory.create import make_store, store_link
from vixio.data.memory.memory import Memory, MemorySettings, Summarise
from vixio.data.memory.records import Remembered
from vixio.data.memory.store import Known, MemoryStore


class FlakyStore(MemoryStore):
    """Fails while ``broken``; does not answer while ``hanging``; does not take ``rejected``."""

    name = "flaky"
    place = "nowhere"

    def __init__(self) -> None:
        self.broken = False
        self.hanging = False
        self.rejected = ""
        """Words; what is done with what has them is an error of data."""
        self.opened = 0
        self.done: list[str] = []
        self.turns: dict[str, list[list[HistoryItem]]] = {}
        self.summaries: dict[str, str] = {}
        self.facts: dict[str, list[str]] = {}

    async def _at(self, what: str) -> None:
        while self.hanging:  # noqa: ASYNC110 - set from another thread's loop
            await asyncio.sleep(0.002)
        if self.broken:
            raise OSError("the disk is gone, and with it what the user said")
        self.done.append(what)

    def _take(self, value: object) -> None:
        if self.rejected and self.rejected in str(value):
            raise ValueError("what the user said")

    async def open(self) -> None:
        await self._at("open")
        self.opened += 1

    async def close(self) -> None:
        self.done.append("close")

    def trouble(self, error: Exception) -> Trouble:
        return Trouble.DATA

    async def load(self, key: str) -> Remembered:
        await self._at("load")
        self._take(self.turns)
        return Remembered(list(self.turns.get(key, [])), self.summaries.get(key, ""))

    async def save_turn(
        self, key: str, items: Sequence[HistoryItem], *, keep: int = 0, known: bool = False
    ) -> bool:
        await self._at("save")
        self._take(items)
        as_known = not known or bool(self.turns.get(key))
        self.turns.setdefault(key, []).append(list(items))
        self._keep(key, keep)
        return as_known

    async def unsave_turn(self, key: str, count: int) -> None:
        await self._at("unsave")
        assert len(self.turns[key].pop()) == count

    async def save_summary(self, key: str, summary: str, *, keep: int | None) -> None:
        await self._at("summary")
        self.summaries[key] = summary
        self._keep(key, keep or 0)

    async def load_facts(self, key: str) -> Sequence[str]:
        await self._at("load facts")
        self._take(self.facts)
        return list(self.facts.get(key, ()))

    async def save_facts(self, key: str, facts: Sequence[str]) -> None:
        await self._at("save facts")
        self._take(facts)
        self.facts[key] = list(facts)

    async def clear(self, key: str) -> bool:
        await self._at("clear")
        self.summaries.pop(key, None)
        self.facts.pop(key, None)
        return bool(self.turns.pop(key, None))

    async def known(self) -> Sequence[Known]:
        await self._at("known")
        # Just now: the daily clearing, which runs whenever the store recovers, must erase nothing.
        return [Known(key, time.time()) for key in self.turns]

    def _keep(self, key: str, keep: int) -> None:
        turns = self.turns.get(key, [])
        while keep and sum(map(len, turns)) > keep:
            turns.pop(0)


class Server:
    """The memory of a server. A second one on the same store is a server that was restarted."""

    def __init__(
        self,
        store: MemoryStore | Path | Callable[[], MemoryStore],
        *,
        max_turns: int = 20,
        max_devices: int = 100,
        max_tokens: int = 6_000,
        summarise: Summarise | None = None,
        timeout: float = 6.0,
        **settings: float,
    ) -> None:
        self.counters = Counters()

        def make() -> MemoryStore:
            if isinstance(store, Path):
                return make_store("sqlite", str(store), "")
            return store if isinstance(store, MemoryStore) else store()

        self.memory = Memory(
            store_link(make, timeout=timeout),
            self.counters,
            MemorySettings(**{"wait": 30.0, "flush": 30.0, **settings}),  # type: ignore[arg-type]  # all the fields are numbers
            summarise,
        )
        self.histories = HistoryStore(max_devices, max_turns, max_tokens, self.memory)
        self.memory.agent_ready.set()

    async def connect(self, device_id: str, sent_id: str = "") -> History:
        """Connect a device, up to the beginning of its first turn."""
        history = self.histories.get(device_id, sent_id)
        await history.ready()
        return history

    def count(self, name: str) -> int:
        return self.counters.get(f"memory.{name}")


def talk(history: History, said: str, answer: str = "yes") -> int:
    """Add one complete turn."""
    turn_id = history.next_turn_id()
    history.begin(turn_id, said)
    history.append(turn_id, AssistantMessage(answer))
    history.close(turn_id)
    return turn_id


def users(history: History) -> list[str]:
    """Return the user's words in the turns of the history."""
    return [item.text for item in history.items() if isinstance(item, UserMessage)]
