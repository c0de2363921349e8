"""Personal tokens, sessions and the password, on each database."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.registry import using
from tests.support.registry_databases import Make, make, postgres_url
from vixio.data.database.database import Database
from vixio.data.devices.records import NotKnown, RegistryError
from vixio.data.devices.repository import DeviceRepository
from vixio.web.api.first_login import FILE_NAME, forget_first_password, make_first_login
from vixio.web.api.keys import LINK_MS, MAX_USER_AGENT, SESSION_MS, USED_MS, Keys, TokenKind
from vixio.web.api.passwords import hash_password, is_password, new_password
from vixio.web.api.scopes import ALL, Scope, read_scopes

__all__ = ["make", "postgres_url"]

ME = "command:me"
NEVER_TOKEN = f"vixio_pat_{'a' * 43}"


class Clock:
    """Milliseconds since 1970, set by the test."""

    def __init__(self) -> None:
        self.at = 1_800_000_000_000

    def __call__(self) -> int:
        return self.at


@asynccontextmanager
async def opened(make: Make) -> AsyncIterator[tuple[Database, Keys, Clock]]:
    """Open a database."""
    database, clock = make(), Clock()
    await database.open()
    try:
        yield database, Keys(database, clock), clock
    finally:
        await database.close()


async def test_a_token_is_known_by_its_text_and_only_its_digest_is_stored(make: Make) -> None:
    async with opened(make) as (database, keys, clock):
        record, text = await keys.create("phone", {Scope.CONTROL}, ME)
        assert text.startswith("vixio_pat_")
        assert len(text) >= 43
        held = await keys.holder(text)
        assert held is not None
        assert (held.id, held.name) == (record.id, "phone")
        assert held.scopes == frozenset({Scope.CONTROL})
        assert (await keys.find(record.id)).used_at == clock.at
        async with database.transaction(write=False) as transaction:
            rows = await transaction.fetch("SELECT * FROM api_tokens")
        assert text not in str([dict(row) for row in rows])
        for wrong in (text[:-1], text + "a", "", NEVER_TOKEN, text.removeprefix("vixio_pat_")):
            assert await keys.holder(wrong) is None
        changes = await DeviceRepository(database).audit(9)
        assert [(each.actor, each.action) for each in changes] == [(ME, "created")]
        assert text not in str(changes)


async def test_a_token_ends_by_its_day_or_by_hand(make: Make) -> None:
    async with opened(make) as (_, keys, clock):
        record, text = await keys.create("guest", {Scope.DEVICES_READ}, ME, days=1)
        _, other = await keys.create("mine", {Scope.DEVICES_READ}, ME)
        clock.at += 86_400_000
        assert await keys.holder(text) is None
        assert await keys.holder(other) is not None
        assert {each.name: each.state(clock.at) for each in await keys.all()} == {
            "guest": "expired",
            "mine": "valid",
        }
        held = await keys.holder(other)
        assert held is not None
        await keys.revoke(held.id, ME)
        assert await keys.holder(other) is None
        with pytest.raises(RegistryError, match="revoked already"):
            await keys.revoke(held.id, ME)
        with pytest.raises(NotKnown):
            await keys.revoke("0" * 16, ME)
        assert (await keys.find(record.id)).revoked_at is None


async def test_the_last_use_is_noted_to_the_minute(make: Make) -> None:
    async with opened(make) as (_, keys, clock):
        record, text = await keys.create("phone", {Scope.CONTROL}, ME)
        began = clock.at
        for passed, noted in ((0, 0), (USED_MS - 1, 0), (USED_MS, USED_MS)):
            clock.at = began + passed
            assert await keys.holder(text) is not None
            assert (await keys.find(record.id)).used_at == began + noted


async def test_a_login_lasts_for_hours_and_ends_with_the_password(make: Make) -> None:
    async with opened(make) as (_, keys, clock):
        assert await keys.password() is None
        await keys.set_password(await hash_password("a long password"), ME)
        record, text = await keys.open_session()
        assert (record.kind, record.scopes) == (TokenKind.SESSION, ALL)
        assert await keys.all() == [], "no personal token"
        clock.at += SESSION_MS - 1
        assert await keys.holder(text) is not None
        clock.at += 1
        assert await keys.holder(text) is None
        _, text = await keys.open_session()
        await keys.set_password(await hash_password("another password"), ME)
        assert await keys.holder(text) is None
        stored = await keys.password()
        assert await is_password("another password", stored)
        assert not await is_password("a long password", stored)
        assert not await is_password("another password", None)


async def test_a_link_makes_one_login_and_is_no_token(make: Make) -> None:
    async with opened(make) as (database, keys, clock):
        link, late, former = [await keys.make_link(ME) for _ in range(3)]
        assert link.startswith("vixio_link_")
        async with database.transaction(write=False) as transaction:
            rows = await transaction.fetch("SELECT * FROM api_tokens")
        assert link not in str([dict(row) for row in rows])
        assert await keys.holder(link) is None, "no request can carry it"
        clock.at += LINK_MS - 1
        followed = await keys.follow_link(link, "192.0.2.1", "Firefox")
        assert followed is not None
        record, text = followed
        assert (record.kind, record.scopes) == (TokenKind.SESSION, ALL)
        assert record.address == "192.0.2.1"
        assert await keys.holder(text) is not None
        for over in (link, text, "vixio_link_" + "a" * 43, ""):
            assert await keys.follow_link(over) is None
        clock.at += 1
        assert await keys.follow_link(late) is None
        clock.at -= 1
        await keys.set_password(await hash_password("another password"), ME)
        assert await keys.follow_link(former) is None, "it ended with the password"
        # Links that nobody follows are cleaned away.
        for _ in range(3):
            clock.at += LINK_MS
            await keys.make_link(ME)
        async with database.transaction(write=False) as transaction:
            (row,) = await transaction.fetch("SELECT COUNT(*) AS n FROM api_tokens")
        assert row["n"] == 1


@pytest.mark.slow
async def test_the_real_cost_is_possible(
    password_cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other tests hash cheaply."""
    monkeypatch.setattr("vixio.web.api.passwords.N", password_cost)
    stored = await hash_password("a long password")
    assert stored.startswith(f"scrypt${password_cost}$")
    assert password_cost >= 2**15
    assert await is_password("a long password", stored)


async def test_logins_are_listed_and_ended_one_by_one(make: Make) -> None:
    async with opened(make) as (_, keys, clock):
        await keys.set_password(await hash_password("a long password"), ME)
        old, _ = await keys.open_session("192.0.2.1", "first")
        clock.at += SESSION_MS // 2
        kept, text = await keys.open_session("192.0.2.2", "second\n" + "x" * 300)
        phone, _ = await keys.create("phone", {Scope.ADMIN}, ME)
        assert [each.id for each in await keys.sessions()] == [kept.id, old.id]
        assert (kept.address, len(kept.user_agent)) == ("192.0.2.2", MAX_USER_AGENT)
        assert kept.user_agent.isprintable()
        await keys.end_session(old.id, ME)
        for over in (old.id, phone.id, "0" * 16):
            with pytest.raises(NotKnown):
                await keys.end_session(over, ME)
        _, other = await keys.open_session()
        await keys.set_password(await hash_password("another password"), ME, keep=kept.id)
        assert await keys.holder(other) is None
        assert await keys.holder(text) is not None
        assert [each.id for each in await keys.sessions()] == [kept.id]
        clock.at += SESSION_MS
        assert await keys.sessions() == []


async def test_the_first_login_is_made_once_in_a_file_for_its_owner(
    make: Make, tmp_path: Path
) -> None:
    async with opened(make) as (database, keys, _):
        folder = tmp_path / "data"
        (tmp_path / "data").mkdir()
        (folder / FILE_NAME).write_text("of a start that was killed")
        assert await make_first_login(using(database), folder)
        path = folder / FILE_NAME
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        password = path.read_text().strip()
        assert await is_password(password, await keys.password())
        assert not await make_first_login(using(database), folder)
        assert path.read_text().strip() == password
        forget_first_password(folder)
        assert not path.exists()
        assert not await make_first_login(using(database), folder), "another password is in force"


async def test_without_a_place_for_its_file_there_is_no_first_login(
    make: Make, tmp_path: Path
) -> None:
    async with opened(make) as (database, keys, _):
        taken = tmp_path / "file"
        taken.touch()
        with pytest.raises(RegistryError, match="vixio api-password"):
            await make_first_login(using(database), taken)
        assert await keys.password() is None


async def test_passwords_are_random_and_bounded() -> None:
    assert len({new_password() for _ in range(20)}) == 20
    for wrong in ("short", "x" * 257, "with a\nline feed"):
        with pytest.raises(RegistryError):
            await hash_password(wrong)


def test_scopes_are_a_closed_set() -> None:
    assert read_scopes(["control", "devices:read"]) == {Scope.CONTROL, Scope.DEVICES_READ}
    with pytest.raises(RegistryError, match="'root'"):
        read_scopes(["root"])
    with pytest.raises(RegistryError, match="name a scope"):
        read_scopes([])
