"""The token that a device gets with its code: void until the claim of that very code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.registry import device_tokens
from tests.support.registry_databases import Make
from tests.support.running_registry import KITCHEN, Here, claimed, running
from tests.support.waiting import until
from vixio.core.wall_clock import now_ms
from vixio.data.database.database import Database
from vixio.data.devices.contacts import CODE_IDLE_MS
from vixio.data.devices.records import AccessMode, RegistryError
from vixio.data.devices.repository import DeviceRepository
from vixio.transports.admission.access import Activation, OtaDecision, OtaRequest

VOID = "token_revoked"
BATH = "02:00:00:00:00:02"


async def asks(here: Here, client_id: str = "c", device_id: str = KITCHEN) -> OtaDecision:
    """Have a device ask OTA that is to wait for its claim."""
    decision = await here.registry.decide(OtaRequest(device_id=device_id, client_id=client_id))
    assert not decision.admitted
    assert decision.token
    return decision


async def with_repository(
    here: Here, work: Callable[[DeviceRepository], Awaitable[object]]
) -> None:
    await here.registry.with_repository(work)


async def claim(here: Here, code: str) -> None:
    await with_repository(here, lambda repository: repository.claim(code, "me"))


@asynccontextmanager
async def one_that_asked_once(make: Make) -> AsyncIterator[tuple[Here, str]]:
    """Give a registry with a device that was claimed by its code, and the token of before."""
    async with running(make) as here:
        waits = await asks(here)
        assert here.refused(waits.token) == VOID
        await claim(here, waits.code)
        assert here.refused(waits.token) == ""
        yield here, waits.token


@asynccontextmanager
async def opened(make: Make) -> AsyncIterator[Database]:
    """Open the same database once more."""
    database = make()
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def test_one_that_asks_once_comes_in_after_the_claim(make: Make) -> None:
    tokens = device_tokens()
    async with running(make, tokens=tokens) as here:
        waits = await asks(here)
        assert (await asks(here)).token == waits.token, "the same, as long as the code is"
        assert await here.repository.tokens() == [], "not listed: it opens nothing"
        assert here.refused(waits.token) == VOID
        assert await here.registry.activate(KITCHEN, "c", b"{}") is Activation.WAITING
        await here.repository.claim(waits.code, "somebody at another process")
        await until(lambda: here.refused(waits.token) == "")
        assert here.refused(waits.token, client_id="d") == "token_wrong"
        assert here.refused(waits.token, BATH) == "token_wrong"
        (listed,) = await here.repository.tokens(KITCHEN)
        assert waits.token.startswith(f"{listed.id}.")
    async with running(make, tokens=tokens) as here:  # a restart forgets nothing
        await until(lambda: here.refused(waits.token) == "")


async def test_nothing_else_that_lets_the_device_in_makes_it_valid(make: Make) -> None:
    async with running(make) as here:
        waits = await asks(here)
        await with_repository(here, lambda repository: repository.add(KITCHEN, "me"))
        assert here.refused(await here.visit()) == ""
        assert here.refused(waits.token) == VOID


async def test_one_that_waits_is_not_believed_before_anything_is_read(make: Make) -> None:
    async with running(make) as here:
        waits = await asks(here)
        here.registry.known.standings.clear()
        here.registry.known.last = -1
        assert here.refused(waits.token) == VOID


@pytest.mark.parametrize("before", [True, False])
async def test_a_stranger_with_the_same_device_id(make: Make, before: bool) -> None:
    """Whoever asked last is claimed, as he showed the code; nobody else with that id."""
    async with running(make) as here:
        if before:
            stranger = await asks(here, "stranger")
            waits = await asks(here)
            await claim(here, waits.code)
        else:
            waits = await asks(here)
            await claim(here, waits.code)
            stranger = await asks(here, "stranger")
            assert stranger.code != waits.code
        assert here.refused(stranger.token, client_id="stranger") == VOID
        assert here.refused(waits.token) == "", "a stranger who asks takes nothing away"
        assert here.refused(stranger.token) == "token_wrong"
        again = await asks(here, "stranger")
        await claim(here, again.code)  # another owner: what was before is void
        assert here.refused(again.token, client_id="stranger") == ""
        assert here.refused(waits.token) == VOID
        if before:
            assert here.refused(stranger.token, client_id="stranger") == VOID, "of another code"


async def test_a_regular_token_of_before_the_claim_is_void(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "vixio.data.devices.registry.SKEW_MS", -60_000
    )  # nothing is too new to judge
    async with running(make) as here:
        first = await claimed(here)
        waits = await asks(here, "another")
        second = await here.visit()
        assert here.refused(second) == ""
        await claim(here, waits.code)
        assert here.refused(waits.token, client_id="another") == ""
        assert [here.refused(token) for token in (first, second)] == [VOID, VOID]


async def test_each_device_has_its_own(make: Make) -> None:
    async with running(make) as here:
        kitchen, bath = await asks(here), await asks(here, device_id=BATH)
        await claim(here, bath.code)
        assert here.refused(bath.token, BATH) == ""
        assert here.refused(kitchen.token) == VOID


async def test_of_an_expired_code(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make) as here:
        old = await asks(here)
        monkeypatch.setattr("vixio.data.devices.contacts.CODE_LIFE_MS", -1)
        new = await asks(here)
        assert new.code != old.code
        assert new.token != old.token
        await claim(here, new.code)
        assert here.refused(new.token) == ""
        assert here.refused(old.token) == VOID


async def test_a_code_that_has_expired_grants_nothing(make: Make) -> None:
    async with running(make) as here, opened(make) as database:
        waits = await asks(here)
        later = DeviceRepository(database, lambda: now_ms() + CODE_IDLE_MS + 60_000)
        with pytest.raises(RegistryError, match="expired"):
            await later.claim(waits.code, "me")
        assert here.refused(waits.token) == VOID


async def test_another_code_while_the_claim_is_on_its_way(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is looked up first; what is claimed then may have another one."""
    async with running(make) as here:
        waits = await asks(here)

        async def looked_up(_repository: DeviceRepository, _code: str, _actor: str) -> str:
            return KITCHEN

        monkeypatch.setattr(DeviceRepository, "_by_code", looked_up)
        await claim(here, f"{(int(waits.code) + 1) % 1_000_000:06}")
        assert here.refused(waits.token) == VOID


@pytest.mark.parametrize("back_ms", [0, 3_600_000])
@pytest.mark.parametrize(
    "change", ["revoked", "all revoked", "forgotten", "blocked", "claimed anew"]
)
async def test_what_makes_tokens_void(
    make: Make, monkeypatch: pytest.MonkeyPatch, change: str, back_ms: int
) -> None:
    """Also where the clock is set back, and after the device is claimed again."""
    async with one_that_asked_once(make) as (here, token):
        monkeypatch.setattr("vixio.data.devices.registry.now_ms", lambda: now_ms() - back_ms)

        async def work(database: Database) -> None:
            repository = DeviceRepository(database, lambda: now_ms() - back_ms)
            if change == "revoked":
                await repository.revoke_token(token.partition(".")[0], "me")
            elif change == "all revoked":
                await repository.revoke_tokens(KITCHEN, "me")
            elif change == "forgotten":
                await repository.forget(KITCHEN, "me")
                await repository.add(KITCHEN, "me")
            elif change == "blocked":
                await repository.block(KITCHEN, "", "me")
            else:
                await repository.claim(another, "me")

        another = (await asks(here, "another")).code if change == "claimed anew" else ""
        await here.registry.change(work)
        assert here.refused(token) == ("blocked" if change == "blocked" else VOID)
        assert [device for device, _ in here.sent_away] == [KITCHEN]


async def test_revoked_before_the_claim(make: Make) -> None:
    async with running(make) as here:
        waits = await asks(here)
        await with_repository(
            here, lambda repository: repository.revoke_token(waits.token.partition(".")[0], "me")
        )
        await claim(here, waits.code)
        assert here.refused(waits.token) == VOID
        assert here.refused(await here.visit()) == ""


async def test_one_that_is_connected_by_it_stays(make: Make) -> None:
    async with one_that_asked_once(make) as (here, token):
        await with_repository(here, lambda repository: repository.rename(KITCHEN, "Kitchen", "me"))
        await asks(here, "stranger")
        assert here.refused(token) == ""
        assert here.sent_away == []
        newer = await here.visit()
        assert here.refused(newer) == ""
        await until(lambda: here.refused(token) == VOID)  # its successor is in use


async def test_the_allow_list_gives_none(make: Make) -> None:
    async with running(make, AccessMode.ALLOW_LIST) as here:
        decision = await here.registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))
        assert (decision.admitted, decision.code, decision.token) == (False, "", "")


async def test_who_asks_under_many_names_leaves_one(make: Make) -> None:
    async with running(make) as here, opened(make) as database:
        last = await asks(here)
        for number in range(4):
            last = await asks(here, f"client {number}")
        async with database.transaction(write=False) as transaction:
            rows = await transaction.fetch("SELECT client_id FROM tokens")
        assert [row["client_id"] for row in rows] == ["client 3"]
        await claim(here, last.code)
        assert here.refused(last.token, client_id="client 3") == ""


@pytest.mark.parametrize("claims", [True, False])
async def test_where_every_device_may_come_since(make: Make, claims: bool) -> None:
    """Until it asks OTA again, a device has nothing else."""
    tokens = device_tokens()
    async with running(make, tokens=tokens) as here:
        waits = await asks(here)
        if claims:
            await claim(here, waits.code)
    async with running(make, AccessMode.OPEN, tokens=tokens) as here:
        assert here.refused(waits.token) == "", "before anything is read"
        await until(lambda: here.registry.known.loaded)
        assert here.refused(waits.token) == ""
        assert here.refused(waits.token, client_id="d") == "token_wrong"
        await with_repository(here, lambda repository: repository.revoke_tokens(KITCHEN, "me"))
        assert here.refused(waits.token) == VOID
        assert here.refused(await here.visit()) == ""
