"""One suite for every store: real files and real servers."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import postgres_server, redis_server
from tests.support.registry_databases import new_postgres
from tests.unit.data.memory.turns import NOTHING, TURN, A, B, said
from vixio.core.facts import person_owner
from vixio.data.memory.create import NEEDS, make_store
from vixio.data.memory.records import Remembered, device_key, owner_of
from vixio.data.memory.store import MemoryStore, StoreFailed


def need(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            # An extra: the default set-up of the tests has no database driver.
            pytest.skip(f"{module} is not installed; `make test-stores` installs it")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """URLs by the name of a server. A server is started at its first use."""
    with ExitStack() as stack:

        class Lazy(dict[str, Any]):
            def __missing__(self, name: str) -> str:
                if name == "redis":
                    run = redis_server(tmp_path_factory.mktemp(name))
                else:
                    run = postgres_server()
                url: str = stack.enter_context(run)
                self[name] = url
                return url

        yield Lazy()


KINDS = [
    "sqlite",
    "sqlalchemy+sqlite",
    pytest.param("sqlalchemy+postgresql", marks=pytest.mark.slow),
    pytest.param("redis", marks=pytest.mark.slow),
]


def make(kind: str, tmp_path: Path, servers: dict[str, Any]) -> MemoryStore:
    store, _, database = kind.partition("+")
    need(*(module for extra in NEEDS if extra == store for module in NEEDS[extra]))
    url = ""
    if database == "sqlite":
        need("aiosqlite")
        url = f"sqlite+aiosqlite:///{tmp_path / 'any.db'}"
    elif database == "postgresql":
        need("asyncpg")
        url = servers["postgresql"]
    elif store == "redis":
        url = servers["redis"]
    return make_store(store, str(tmp_path / "state" / "memory.db"), url)


@pytest.fixture(params=KINDS)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, servers: dict[str, Any]
) -> AsyncIterator[MemoryStore]:
    made = make(request.param, tmp_path, servers)
    await made.open()
    for device in await made.known():  # all tests share one server
        await made.clear(device.key)
    yield made
    await made.close()


@pytest.mark.slow
async def test_nodes_that_start_at_once_on_an_empty_postgresql(
    servers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither sees the tables that the other is about to create."""
    need("asyncpg", "sqlalchemy")
    import asyncpg
    from agents.extensions.memory import SQLAlchemySession

    plain = await asyncio.to_thread(new_postgres, servers["postgresql"])
    stores = [make_store("sqlalchemy", "", plain.replace("://", "+asyncpg://")) for _ in range(2)]
    # The SDK has one lock for all sessions of a process; nodes are processes of their own.
    monkeypatch.setattr(SQLAlchemySession, "_get_table_init_lock", lambda *_: threading.Lock())
    other = await asyncpg.connect(plain)
    held = other.transaction()
    await held.start()
    await other.execute("CREATE TABLE vixio_sessions (session_id text)")
    watch = await asyncpg.connect(plain)

    async def both_wait() -> bool:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return int(await watch.fetchval(query)) == 2

    try:
        async with asyncio.TaskGroup() as tasks:
            for each in stores:
                tasks.create_task(each.open())
            async with asyncio.timeout(30):
                while not await both_wait():  # noqa: ASYNC110 - only the server knows
                    await asyncio.sleep(0.01)
            await held.rollback()
        assert await stores[0].save_turn(A, TURN)
        assert await stores[1].load(A) == Remembered([TURN])
    finally:
        await other.close()
        await watch.close()
        for each in stores:
            await each.close()


async def test_nothing_is_known_at_first(store: MemoryStore) -> None:
    assert await store.load(A) == NOTHING
    assert await store.load_facts(A) == []
    assert await store.known() == []
    assert not await store.clear(A)


async def test_what_is_saved_is_loaded(store: MemoryStore) -> None:
    assert await store.save_turn(A, TURN)
    assert await store.save_turn(A, said(2), known=True)
    await store.save_facts(A, ["is called Ada", "likes 茶"])
    assert await store.load(A) == Remembered([TURN, said(2)])
    assert await store.load_facts(A) == ["is called Ada", "likes 茶"]


async def test_devices_do_not_see_each_other(store: MemoryStore) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "of a", keep=2)
    await store.save_facts(A, ["a"])
    await store.save_turn(B, said(2))
    await store.save_facts(B, ["b"])
    assert await store.load(B) == Remembered([said(2)])
    assert await store.load_facts(B) == ["b"]
    assert await store.clear(A)
    assert await store.load(A) == NOTHING
    assert await store.load_facts(A) == []
    assert await store.load(B) == Remembered([said(2)])
    assert await store.load_facts(B) == ["b"]
    assert [device.key for device in await store.known()] == [B]


async def test_only_the_last_items_are_kept(store: MemoryStore) -> None:
    await store.save_turn(B, said(0))
    for number in range(5):
        await store.save_turn(A, said(number), keep=6)
    assert await store.load(A) == Remembered([said(2), said(3), said(4)])
    # A bound in the middle of a turn leaves its rest, which is not a turn.
    await store.save_turn(A, said(5), keep=3)
    assert await store.load(A) == Remembered([said(5)])
    assert await store.load(B) == Remembered([said(0)])


async def test_a_summary_takes_the_place_of_turns(store: MemoryStore) -> None:
    for number in range(3):
        await store.save_turn(A, said(number))
    await store.save_summary(A, "first", keep=4)
    assert await store.load(A) == Remembered([said(1), said(2)], "first")
    await store.save_summary(A, "second", keep=2)
    assert await store.load(A) == Remembered([said(2)], "second")


async def test_a_summary_is_rewritten_beside_the_turns(store: MemoryStore) -> None:
    await store.save_turn(A, said(1))
    await store.save_summary(A, "first", keep=None)
    await store.save_summary(A, "二", keep=None)
    await store.save_summary(B, "of b", keep=None)
    assert await store.load(A) == Remembered([said(1)], "二")
    await store.save_summary(A, "", keep=None)
    assert await store.load(A) == Remembered([said(1)])
    await store.save_summary(B, "", keep=None)
    assert [device.key for device in await store.known()] == [A]


async def test_a_turn_is_taken_back(store: MemoryStore) -> None:
    await store.save_turn(A, said(1))
    await store.save_turn(A, TURN)
    await store.unsave_turn(A, len(TURN))
    assert await store.load(A) == Remembered([said(1)])


async def test_facts_are_replaced(store: MemoryStore) -> None:
    await store.save_facts(A, ["one", "two"])
    await store.save_facts(A, ["two"])
    assert await store.load_facts(A) == ["two"]
    await store.save_facts(A, [])
    assert await store.load_facts(A) == []
    assert await store.known() == []


# The other one has no lock for it, as docs/data.md says.
@pytest.mark.parametrize(
    "store", [kind for kind in KINDS if kind != "sqlalchemy+sqlite"], indirect=True
)
async def test_two_processes_change_the_facts_of_one_person(
    request: pytest.FixtureRequest, store: MemoryStore, tmp_path: Path, servers: dict[str, Any]
) -> None:
    kind = request.node.callspec.params["store"]
    key, number = device_key(person_owner("a1")), 20

    def add(name: str) -> None:
        """Be another process: with a connection, a thread and a loop of its own."""

        async def adding() -> None:
            other = make(kind, tmp_path, servers)
            await other.open()
            for each in range(number):
                await other.change_facts(key, partial(_with, f"{name} {each}"))
            await other.close()

        asyncio.run(adding())

    await asyncio.gather(*(asyncio.to_thread(add, name) for name in "ab"))
    assert len(await store.load_facts(key)) == 2 * number


def _with(fact: str, facts: list[str]) -> list[str]:
    return [*facts, fact]


async def test_facts_are_handed_over(store: MemoryStore) -> None:
    anna = device_key(person_owner("a1"))
    await store.hand_over_facts(A, anna)
    assert await store.load_facts(anna) == []
    await store.save_facts(A, ["a", "b"])
    await store.hand_over_facts(A, anna)
    await store.save_facts(B, ["b", "c"])
    await store.hand_over_facts(B, anna)
    assert await store.load_facts(anna) == ["a", "b", "c"]
    assert await store.load_facts(A) == await store.load_facts(B) == []
    assert owner_of(anna) == person_owner("a1")


async def test_what_is_known_about_people_does_not_grow_old(store: MemoryStore) -> None:
    anna = device_key(person_owner("a1"))
    await store.save_facts(anna, ["a"])
    await store.save_facts(A, ["a"])
    assert await store.expire(time.time() + 60) == 1
    assert await store.load_facts(anna) == ["a"]


async def test_records_are_moved_to_another_key(store: MemoryStore) -> None:
    old, new = device_key("Kitchen Box"), device_key("kitchen box")
    await store.save_turn(old, TURN)
    await store.save_turn(old, said(1))
    await store.save_summary(old, "a summary", keep=100)
    await store.save_facts(old, ["likes tea"])
    everything = await store.load(old)

    await store.move(old, new)

    assert await store.load(new) == everything
    assert await store.load_facts(new) == ["likes tea"]
    assert await store.load(old) == NOTHING
    assert [device.key for device in await store.known()] == [new]


async def test_a_key_in_use_is_not_overwritten_by_a_move(store: MemoryStore) -> None:
    old, new = device_key("Kitchen Box"), device_key("kitchen box")
    await store.save_turn(old, said(1))
    await store.save_facts(new, ["likes tea"])
    await store.move(old, new)
    assert await store.load(new) == NOTHING
    assert await store.load_facts(new) == ["likes tea"]
    await store.move(device_key("unknown"), old)
    assert len((await store.load(old)).turns) == 1


async def test_an_erasure_by_another_process_is_noticed(store: MemoryStore) -> None:
    await store.save_turn(A, said(1))
    assert await store.save_turn(A, said(2), known=True)
    await store.clear(A)
    assert not await store.save_turn(A, said(3), known=True)
    assert await store.load(A) == Remembered([said(3)])


async def test_what_is_too_old_is_erased(store: MemoryStore) -> None:
    await store.save_turn(A, said(1))
    await store.save_facts(A, ["a"])
    now = time.time()
    (device,) = await store.known()
    assert abs(device.seen - now) < 60
    assert await store.expire(now - 60) == 0
    assert await store.expire(now + 60) == 1
    assert await store.load(A) == NOTHING
    assert await store.load_facts(A) == []


async def test_it_can_be_opened_again(store: MemoryStore) -> None:
    await store.save_turn(A, said(1))
    await store.open()
    await store.save_turn(A, said(2))
    assert await store.load(A) == Remembered([said(1), said(2)])
    await store.close()
    await store.close()


# ── addresses ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("url", ["nonsense", "postgresql://host/name", "nosuch+driver://host/x"])
def test_a_wrong_database_url_is_one_line(url: str) -> None:
    need(*NEEDS["sqlalchemy"])
    with pytest.raises(StoreFailed) as failed:
        make_store("sqlalchemy", "", url)
    assert "memory.url" in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_password_is_not_shown() -> None:
    need(*NEEDS["sqlalchemy"], "asyncpg", *NEEDS["redis"])
    url = "postgresql+asyncpg://vixio:geheim@127.0.0.1:1/x"
    assert "geheim" not in make_store("sqlalchemy", "", url).place
    assert "geheim" not in make_store("redis", "", "redis://u:geheim@127.0.0.1:1/3").place


def test_a_wrong_redis_url_is_one_line() -> None:
    need(*NEEDS["redis"])
    with pytest.raises(StoreFailed, match=r"memory\.url"):
        make_store("redis", "", "http://host")
