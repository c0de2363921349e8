"""The registry of a running server: who comes in, with and without its database."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path

import pytest

from tests.support.registry import device_tokens
from tests.support.registry_databases import Make
from tests.support.running_registry import KITCHEN, Here, claimed, registry_of, running
from tests.support.waiting import until
from vixio.core.device import Device
from vixio.core.metrics import Counters
from vixio.core.session.events import SessionClosed, SessionOpened
from vixio.data.database.create import make_database
from vixio.data.database.database import Database, Transaction
from vixio.data.database.link import Trouble
from vixio.data.devices.contacts import Contact
from vixio.data.devices.records import AccessMode, RegistryError
from vixio.data.devices.repository import DeviceRepository
from vixio.transports.admission.access import Activation, OtaRequest, RegistryUnavailable
from vixio.transports.admission.auth import TokenAuthenticator
from vixio.transports.admission.identity import Identity

BATH = "02:00:00:00:00:02"
SECRET = "a secret of enough bytes"


async def test_a_device_comes_is_claimed_elsewhere_and_connects(make: Make) -> None:
    async with running(make) as here:
        decision = await here.registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))
        assert not decision.admitted
        assert decision.code in decision.message
        assert decision.challenge, "without one the device would not ask /activate"
        assert await here.registry.activate(KITCHEN, "c", b"{}") is Activation.WAITING
        await here.repository.claim(decision.code, "somebody at another process")
        await until(lambda: here.registry.stats()["devices_claimed"])
        assert await here.registry.activate(KITCHEN, "c", b"{}") is Activation.DONE
        token = await here.visit()
        assert here.refused(token) == ""
        assert here.refused(token, client_id="d") == "token_wrong"
        assert here.refused("") == "token_missing"


async def test_a_claim_at_this_process_holds_at_once(make: Make) -> None:
    async with running(make) as here:
        token = await claimed(here)
        assert await here.registry.activate(KITCHEN, "c", b"{}") is Activation.DONE
        assert here.refused(token) == ""
        with pytest.raises(RegistryError, match="no device"):
            await here.registry.with_repository(lambda repository: repository.claim(BATH, "me"))
        assert here.registry.problem() == "", "a refusal is no failure of the database"
        await here.registry.with_repository(lambda repository: repository.block(KITCHEN, "", "me"))
        assert here.refused(token) == "blocked"
        assert here.sent_away == [(KITCHEN, "This device is blocked.")]


async def test_a_blocked_device_is_sent_away_and_told_why(make: Make) -> None:
    async with running(make) as here:
        token = await claimed(here)
        assert here.refused(token) == ""
        await here.repository.block(KITCHEN, "lost in Rome", "me")
        await until(lambda: here.sent_away == [(KITCHEN, "This device is blocked: lost in Rome")])
        assert here.refused(token) == "blocked"
        decision = await here.registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))
        assert (decision.admitted, decision.code, decision.challenge) == (False, "", "")
        assert decision.message == "This device is blocked: lost in Rome"
        assert await here.registry.activate(KITCHEN, "c", b"{}") is Activation.REFUSED


async def test_a_device_that_is_forgotten_at_once_does_not_come_back(make: Make) -> None:
    async with running(make, AccessMode.OPEN) as here:
        await here.visit()
        here.registry(SessionOpened(KITCHEN, "s", 0.0, Device(KITCHEN, address="192.0.2.7")))
        await here.registry.with_repository(lambda repository: repository.forget(KITCHEN, "me"))
        here.registry(SessionClosed(KITCHEN, "s", 0.0, 1.0))
        await here.registry._contacts.stop()
        assert await here.repository.devices() == []


@pytest.mark.slow
async def test_a_revoked_token_opens_no_more(make: Make) -> None:
    async with running(make) as here:
        token = await claimed(here)
        assert here.refused(token) == ""
        bath = await claimed(here, BATH)
        assert here.refused(bath, BATH) == ""
        await here.repository.revoke_token(token.partition(".")[0], "me")
        await until(lambda: here.sent_away)
        assert [device for device, _ in here.sent_away] == [KITCHEN]
        assert here.refused(token) == "token_revoked"
        assert here.refused(bath, BATH) == ""
        assert here.refused(await here.visit()) == "", "the device itself is welcome"
        await here.repository.revoke_tokens(BATH, "me")
        await until(lambda: here.refused(bath, BATH) == "token_revoked")
        assert here.refused(await here.visit(BATH), BATH) == ""


async def test_a_token_is_void_once_its_successor_is_used(make: Make) -> None:
    async with running(make) as here:
        first = await claimed(here)
        second = await here.visit()
        assert here.refused(first) == "", "the answer with the second may have got lost"
        assert here.refused(second) == ""
        await until(lambda: here.refused(first) == "token_revoked")
        assert here.sent_away == []


@pytest.mark.slow
async def test_a_forgotten_device_has_to_be_claimed_again(make: Make) -> None:
    async with running(make) as here:
        token = await claimed(here)
        assert here.refused(token) == ""
        await here.repository.forget(KITCHEN, "me")
        await until(lambda: here.refused(token) == "token_revoked")
        await until(lambda: here.sent_away)
        again = await claimed(here)
        assert here.refused(again) == ""
        assert here.refused(token) == "token_revoked", "the old token does not come back to life"


@pytest.mark.slow
async def test_a_device_that_another_process_let_in_connects_here_at_once(make: Make) -> None:
    tokens = device_tokens()
    async with running(make, tokens=tokens) as here, running(make, tokens=tokens) as there:
        await until(lambda: here.registry.stats() == there.registry.stats())
        token = await claimed(there)
        assert here.refused(token) == ""
        await there.repository.forget(KITCHEN, "me")
        await until(lambda: here.sent_away)
        await until(lambda: here.refused(token) == "token_revoked")


async def test_what_is_known_survives_a_restart(make: Make) -> None:
    tokens = device_tokens()
    async with running(make, tokens=tokens) as here:
        token = await claimed(here)
        revoked = await here.visit(KITCHEN)
        await here.repository.revoke_token(revoked.partition(".")[0], "me")
    async with running(make, tokens=tokens) as here:
        await until(lambda: here.refused(revoked) == "token_revoked")
        assert here.refused(token) == ""
        assert here.registry.stats() == {"devices_known": 1, "devices_claimed": 1}


async def test_tokens_of_earlier_versions_open_an_open_server_alone(make: Make) -> None:
    old = TokenAuthenticator(SECRET).issue(KITCHEN, "c")
    async with running(make, AccessMode.OPEN) as here:
        assert here.refused(old) == ""
        await here.visit()
        assert here.refused(old) == ""
        await here.repository.revoke_tokens(KITCHEN, "me")
        await until(lambda: here.refused(old) == "token_revoked")
    async with running(make) as here:
        await until(lambda: here.registry.stats()["devices_known"] == 1)
        assert here.refused(old) == "token_revoked"


async def test_sessions_are_noted(make: Make) -> None:
    async with running(make, AccessMode.OPEN) as here:
        device = Device(KITCHEN, address="192.0.2.7", features=frozenset({"mcp"}))
        here.registry(SessionOpened(KITCHEN, "s", 0.0, device))
        here.registry(SessionClosed(KITCHEN, "s", 1.0, 1.0))
        await here.registry.stop()
        (found,) = await here.repository.devices()
        assert (found.address, found.features) == ("192.0.2.7", ("mcp",))


async def test_what_a_hello_said_of_echo_is_known_at_the_next_visit(make: Make) -> None:
    visit = OtaRequest(device_id=KITCHEN, client_id="c")
    async with running(make, AccessMode.OPEN) as here:
        assert not (await here.registry.decide(visit)).server_aec
        device = Device(KITCHEN, features=frozenset({"aec", "mcp"}))
        here.registry(SessionOpened(KITCHEN, "s", 0.0, device))
        await here.registry.stop()
    async with running(make, AccessMode.OPEN) as here:
        assert (await here.registry.decide(visit)).server_aec


# ── what the database does not take ──────────────────────────────────────────────────────────


async def too_late(database: Database) -> None:
    async with database.transaction() as transaction:
        await transaction.execute("UPDATE devices SET last_seen = :at", at=10**30)


async def test_what_the_database_does_not_take_is_an_answer(make: Make) -> None:
    async with running(make) as here:
        token = await claimed(here)
        with pytest.raises(RegistryError, match="does not take"):
            await here.registry.use(too_late)
        assert here.registry.problem() == ""
        assert here.counters.get("registry.rejected") == 1
        assert here.refused(token) == ""
        assert await here.visit()


async def test_a_contact_that_cannot_be_noted_costs_itself_alone(make: Make) -> None:
    async with running(make) as here:
        await claimed(here)
        here.registry._contacts.seen(BATH, Contact(10**30, may_be_new=True))
        here.registry(SessionOpened(KITCHEN, "s", 0.0, Device(KITCHEN, address="192.0.2.7")))
        await here.registry.stop()
        assert here.counters.get("registry.rejected") == 1
        assert here.counters.get("registry.notes_lost") == 0
        (found,) = await here.repository.devices()
        assert found.address == "192.0.2.7"


# ── without the database ─────────────────────────────────────────────────────────────────────


class Breakable(Database):
    """A database that fails while it is down, as one whose disk is full or whose server is gone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.place = database.place
        self.down = False

    async def open(self) -> None:
        self._check()
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    def transaction(self, *, write: bool = True) -> AbstractAsyncContextManager[Transaction]:
        self._check()
        return self._database.transaction(write=write)

    def trouble(self, error: Exception) -> Trouble:
        return self._database.trouble(error)

    async def changed(self) -> bool:
        self._check()
        return await self._database.changed()

    def _check(self) -> None:
        if self.down:
            raise OSError("the disk is gone")


@pytest.mark.slow
async def test_known_devices_go_on_without_the_database(make: Make) -> None:
    database = Breakable(make())
    counters = Counters()
    registry = registry_of(lambda: database, AccessMode.ACTIVATION, counters, device_tokens())
    other = make()
    await other.open()
    registry.start()
    here = Here(registry, DeviceRepository(other), counters)
    token = await claimed(here)
    database.down = True
    second = await here.visit()
    assert registry.problem() == "the database cannot be reached"
    assert here.refused(token) == here.refused(second) == ""
    assert await registry.activate(KITCHEN, "c", b"{}") is Activation.DONE
    with pytest.raises(RegistryUnavailable):
        await here.visit(BATH)
    registry(SessionOpened(KITCHEN, "s", 0.0, Device(KITCHEN, address="192.0.2.9")))
    assert counters.get("registry.offline_visits") == 2
    database.down = False
    await until(lambda: registry.problem() == "")
    # What happened meanwhile is written: the contact, and the token that was issued.
    await registry.stop()
    issued = second.partition(".")[0]
    assert issued in {each.id for each in await here.repository.tokens(KITCHEN)}
    assert (await here.repository.device(KITCHEN)).address == "192.0.2.9"
    await other.close()


async def test_an_open_server_serves_whoever_comes_without_its_database() -> None:
    nowhere = Path("/proc/nowhere")
    registry = registry_of(
        lambda: make_database(nowhere, ""), AccessMode.OPEN, Counters(), device_tokens()
    )
    registry.start()
    decision = await registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))
    assert decision.admitted
    assert registry.check(Identity(KITCHEN, "c", decision.token)) is None
    assert registry.problem()
    await registry.stop()


async def test_a_server_that_starts_without_its_database_trusts_its_signatures() -> None:
    tokens = device_tokens()
    registry = registry_of(
        lambda: make_database(Path("/proc/nowhere"), ""),
        AccessMode.ACTIVATION,
        Counters(),
        tokens,
    )
    registry.start()
    with pytest.raises(RegistryUnavailable):
        await registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))
    token = tokens.issue(KITCHEN, "c").text
    assert registry.check(Identity(KITCHEN, "c", token)) is None
    assert registry.check(Identity(BATH, "c", token)) is not None
    await registry.stop()


async def test_a_restored_backup_is_noticed(tmp_path: Path) -> None:
    async with running(lambda: make_database(tmp_path, "")) as here:
        token = await claimed(here)
        with (
            closing(sqlite3.connect(tmp_path / "vixio.db")) as now,
            closing(sqlite3.connect(tmp_path / "backup.db")) as backup,
        ):
            now.backup(backup)
        await here.repository.block(KITCHEN, "", "me")
        await until(lambda: here.refused(token) == "blocked")
        for leftover in ("vixio.db-wal", "vixio.db-shm"):  # of the file that goes
            (tmp_path / leftover).unlink(missing_ok=True)
        (tmp_path / "backup.db").rename(tmp_path / "vixio.db")
        await until(lambda: here.refused(token) == "")
