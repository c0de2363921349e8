"""Facts are kept across restarts and through failures of the store, each user's apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.data.memory.doubles import FlakyDatabase, Server
from vixio.core.backoff import Backoff
from vixio.core.facts import MAX_FACT_CHARS, MAX_FACTS, person_owner
from vixio.data.database import link as link_module
from vixio.data.database.link import Rejected, Unavailable
from vixio.data.memory.fact_edits import (
    FactRefused,
    FactUnknown,
    adding,
    changing,
    fact_id,
    removing,
)

A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "RETRIES", Backoff(first=0.0, longest=0.0))


async def test_they_survive_a_restart(tmp_path: Path) -> None:
    first = Server(tmp_path / "memory.db")
    await first.memory.facts.add(A, "is called  Ada")
    await first.memory.facts.add(A, "likes tea")
    await first.memory.facts.add(A, "likes tea")
    await first.stop()
    second = Server(tmp_path / "memory.db")
    facts = second.memory.facts
    assert await facts.facts(A) == ["is called Ada", "likes tea"]
    assert await facts.facts(A.upper()) == ["is called Ada", "likes tea"]
    assert await facts.facts(B) == []
    assert await facts.remove(B, "tea") == []
    assert await facts.remove(A, "TEA") == ["likes tea"]
    assert await facts.facts(A) == ["is called Ada"]
    assert await facts.clear(A) == 1
    assert await facts.clear(A) == 0
    await second.stop()


async def test_they_are_bounded() -> None:
    server = Server(FlakyDatabase())
    facts = server.memory.facts
    for number in range(MAX_FACTS + 5):
        await facts.add(A, f"{number} " + "x" * 1_000)
    known = await facts.facts(A)
    assert len(known) == MAX_FACTS
    assert known[0].startswith("5 ")
    assert len(known[0]) == MAX_FACT_CHARS
    await facts.add(A, "  ")
    assert len(await facts.facts(A)) == MAX_FACTS
    await server.stop()


async def test_what_is_told_while_the_store_is_down_is_added_later() -> None:
    store = FlakyDatabase()
    server = Server(store)
    facts = server.memory.facts
    await facts.add(A, "is called Ada")
    store.broken = True
    await facts.add(A, "likes tea")
    assert await facts.remove(A, "tea") == ["likes tea"]
    await facts.add(A, "likes coffee")
    assert await facts.facts(A) == ["likes coffee"]
    store.broken = False
    assert await facts.facts(A) == ["is called Ada", "likes coffee"]
    assert await store.facts(A) == ["is called Ada", "likes coffee"]
    await server.stop()


async def test_one_that_is_not_taken_costs_itself_alone() -> None:
    store = FlakyDatabase()
    server = Server(store)
    facts = server.memory.facts
    await facts.add(A, "is called Ada")
    store.rejected = "tea"
    with pytest.raises(Rejected):
        await facts.add(A, "likes tea")
    await facts.add(A, "likes coffee")
    assert await facts.facts(A) == ["is called Ada", "likes coffee"]
    await server.stop()


async def test_one_that_was_told_while_the_store_was_down_and_is_not_taken() -> None:
    store = FlakyDatabase()
    server = Server(store)
    facts = server.memory.facts
    store.broken = True
    await facts.add(A, "likes tea")
    store.broken, store.rejected = False, "tea"
    assert await facts.facts(A) == []
    await facts.add(A, "likes coffee")
    assert await facts.facts(A) == ["likes coffee"]
    await server.stop()


async def test_facts_that_cannot_be_read_are_none() -> None:
    store = FlakyDatabase()
    await store.look(lambda memory: memory.save_facts(A, ["likes tea"]))
    store.rejected = "tea"
    server = Server(store)
    assert await server.memory.facts.facts(A) == []
    await server.stop()


async def test_a_persons_facts_are_no_devices(tmp_path: Path) -> None:
    server = Server(tmp_path / "memory.db")
    facts, anna = server.memory.facts, person_owner("a1")
    await facts.add(A, "likes tea")
    await facts.add(B, "likes tea")
    await facts.add(anna, "has a dog")
    for device in (A, B, A):
        await facts.hand_over(device, anna)
    assert await facts.facts(anna) == ["has a dog", "likes tea"]
    for other in (A, B, "person:a1", "a1", "person/a1/x", "person/A1"):
        assert await facts.facts(other) == []
    await server.stop()


async def test_what_is_handed_over_is_bounded() -> None:
    server = Server(FlakyDatabase())
    facts, anna = server.memory.facts, person_owner("a1")
    for number in range(MAX_FACTS):
        await facts.add(A, f"a {number}")
        await facts.add(anna, f"b {number}")
    await facts.hand_over(A, anna)
    assert await facts.facts(anna) == [f"a {number}" for number in range(MAX_FACTS)]
    await server.stop()


async def test_what_cannot_be_handed_over_now_is_so_later() -> None:
    store = FlakyDatabase()
    server = Server(store)
    facts, anna = server.memory.facts, person_owner("a1")
    await facts.add(A, "likes tea")
    store.broken = True
    await facts.add(A, "likes coffee")
    await facts.remove(A, "tea")
    await facts.hand_over(A, anna)
    assert await facts.facts(anna) == []
    store.broken = False
    await facts.hand_over(A, anna)
    assert await facts.facts(anna) == ["likes coffee"]
    assert await facts.facts(A) == []
    assert await store.facts(A) == []
    await server.stop()


async def test_the_end_carries_out_what_waits() -> None:
    store = FlakyDatabase()
    server = Server(store)
    store.broken = True
    await server.memory.facts.add(A, "likes tea")
    store.broken = False
    await server.memory.link.usable()
    await server.connect(A)
    await server.stop()
    assert await store.facts(A) == ["likes tea"]


async def test_many_at_once_lose_none(tmp_path: Path) -> None:
    import asyncio

    server = Server(tmp_path / "memory.db")
    facts = server.memory.facts
    await asyncio.gather(*(facts.add(A, f"fact {number}") for number in range(30)))
    assert len(await facts.facts(A)) == 30
    await server.stop()


async def test_they_are_edited_one_by_one(tmp_path: Path) -> None:
    server = Server(tmp_path / "memory.db")
    facts = server.memory.facts
    for text in ("is called Ada", " likes   tea ", "has a dog"):
        await facts.edit(A, adding(text))
    tea = fact_id("likes tea")
    assert await facts.edit(A, changing(tea, "likes 茶")) == [
        "is called Ada",
        "likes 茶",
        "has a dog",
    ]
    for late in (changing(tea, "likes coffee"), removing(tea)):
        with pytest.raises(FactUnknown):  # another editor was faster
            await facts.edit(A, late)
    with pytest.raises(FactRefused, match="already"):
        await facts.edit(A, adding("has a dog"))
    with pytest.raises(FactRefused, match="already"):
        await facts.edit(A, changing(fact_id("has a dog"), "is called Ada"))
    for wrong in ("  ", "x" * (MAX_FACT_CHARS + 1)):
        with pytest.raises(FactRefused):
            adding(wrong)
    assert await facts.edit(A, removing(fact_id("is called Ada"))) == ["likes 茶", "has a dog"]
    assert await facts.facts(A) == ["likes 茶", "has a dog"]
    assert await facts.facts(B) == []
    await server.stop()


async def test_an_edit_does_not_drop_the_oldest() -> None:
    server = Server(FlakyDatabase())
    facts = server.memory.facts
    for number in range(MAX_FACTS):
        await facts.add(A, str(number))
    with pytest.raises(FactRefused, match="remove one first"):
        await facts.edit(A, adding("one more"))
    assert (await facts.facts(A))[0] == "0"
    await server.stop()


async def test_an_edit_is_made_now_or_never() -> None:
    store = FlakyDatabase()
    server = Server(store)
    facts = server.memory.facts
    await facts.add(A, "likes tea")
    store.broken = True
    await facts.add(A, "has a dog")
    with pytest.raises(Unavailable):
        await facts.edit(A, removing(fact_id("likes tea")))
    store.broken = False
    assert await facts.edit(A, removing(fact_id("has a dog"))) == ["likes tea"]
    assert await store.facts(A) == ["likes tea"]
    await server.stop()
