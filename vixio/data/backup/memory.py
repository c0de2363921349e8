"""The memory of devices as JSON: from any store, into any store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from vixio.data.backup.archive import BackupError
from vixio.data.memory.records import PERSON_KEY, to_input_items, to_turns
from vixio.data.memory.store import MemoryStore


async def dump(store: MemoryStore) -> AsyncIterator[dict[str, Any]]:
    """Return one object for each device of an open store, and for each person."""
    for device in await store.known():
        remembered = await store.load(device.key)
        yield {
            "key": device.key,
            "turns": [item for turn in remembered.turns for item in to_input_items(turn)],
            "summary": remembered.summary,
            "facts": list(await store.load_facts(device.key)),
        }


def is_conversation(device: Mapping[str, Any]) -> bool:
    """Whether an object is of a device; else it holds the facts about a person."""
    return not device["key"].startswith(PERSON_KEY)


async def check(store: MemoryStore) -> None:
    """Raise BackupError if an open store is not empty."""
    if await store.known():
        raise BackupError(
            f"{store.place} is not empty: restore into a new place, or move the old one away"
        )


async def load(store: MemoryStore, devices: Iterable[Mapping[str, Any]]) -> int:
    """Fill an open, empty store; return the number of conversations. Raises BackupError."""
    number = 0
    await check(store)
    for device in devices:
        key, turns = device["key"], to_turns(device["turns"])
        for turn in turns:
            await store.save_turn(key, turn)
        if device["summary"]:
            await store.save_summary(key, device["summary"], keep=sum(map(len, turns)))
        if device["facts"]:
            await store.save_facts(key, device["facts"])
        number += is_conversation(device)
    return number
