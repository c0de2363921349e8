"""The tokens of devices that are served over MQTT: they last, and can be revoked as others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.support.registry import device_tokens
from tests.support.registry_databases import Make
from tests.support.running_registry import KITCHEN, Here, running
from tests.support.waiting import until
from vixio.core.wall_clock import now_ms, now_s
from vixio.data.devices.contacts import RENEWED_MS, DeviceContacts
from vixio.data.devices.records import AccessMode, Carrier
from vixio.data.devices.tokens import DeviceTokens
from vixio.settings.mqtt import MqttSection
from vixio.transports.admission.access import OtaRequest, RegistryUnavailable
from vixio.transports.admission.auth import TokenCheck
from vixio.transports.admission.identity import Identity

YEAR_S = 365 * 86_400
REVOKED = "token_revoked"


def everything(_carrier: str) -> bool:
    return True


def later(years: float) -> DeviceTokens:
    """Return what checks the tokens of the tests some years from now."""
    return device_tokens(clock=lambda: now_s() + years * YEAR_S)


async def known(here: Here) -> str:
    """Have a device let in; return its token."""
    await here.registry.with_repository(lambda repository: repository.add(KITCHEN, "me"))
    return await here.visit()


async def test_it_lasts_ten_years_where_the_device_is_served_by_mqtt(make: Make) -> None:
    async with running(make, by_mqtt=everything) as here:
        token = await known(here)
        decision = await here.registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))
        assert decision.mqtt
    async with running(make, tokens=later(9.9)) as here:
        await until(lambda: here.registry.known.loaded)
        assert here.refused(token) == ""
        assert not (await here.registry.decide(OtaRequest(device_id=KITCHEN, client_id="c"))).mqtt
    async with running(make, tokens=later(10.1)) as here:
        assert here.refused(token) == "token_expired"


async def test_a_device_by_websocket_has_a_token_as_before(make: Make) -> None:
    async with running(make) as here:
        token = await known(here)
    async with running(make, tokens=later(0.01)) as here:  # the lifetime is a day
        assert here.refused(token) == "token_expired"


async def test_a_device_gets_the_same_at_each_start(make: Make) -> None:
    async with running(make, by_mqtt=everything) as here:
        first = await known(here)
        assert here.refused(first) == ""
        assert await here.visit() == first
        assert len(await here.repository.tokens(KITCHEN)) == 1
        assert await here.visit(client_id="d") == "", "claimed by another client"


async def test_it_is_renewed_now_and_then(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make, by_mqtt=everything) as here:
        old = await known(here)
        assert here.refused(old) == ""
        at = now_ms() + RENEWED_MS + 1_000
        monkeypatch.setattr("vixio.data.devices.registry.DeviceContacts", _contacts_at(at))
        new = await here.visit()
        assert new != old
        assert here.refused(old) == "", "the device may not have stored the new one"
        assert here.refused(new) == ""
        await until(lambda: here.refused(old) == REVOKED, what="the new one replaces it")
        expiry = max(here.registry.known.revoked.values())
        assert expiry > now_ms() + 9 * YEAR_S * 1000, "void as long as its signature would hold"


def _contacts_at(at: int) -> Callable[..., object]:
    return lambda database: DeviceContacts(database, lambda: at)


async def test_one_that_is_revoked_stays_void(make: Make) -> None:
    async with running(make, by_mqtt=everything) as here:
        token = await known(here)
        assert here.refused(token) == ""
        (listed,) = await here.repository.tokens(KITCHEN)
        await here.registry.with_repository(
            lambda repository: repository.revoke_token(listed.id, "me")
        )
        assert here.refused(token) == REVOKED
        assert [device_id for device_id, _ in here.sent_away] == [KITCHEN]
        new = await here.visit()
        assert new != token
        assert here.refused(new) == ""
        assert here.refused(token) == REVOKED
    async with running(make, tokens=later(9)) as here:  # a restart, years later
        await until(lambda: here.registry.known.loaded)
        assert here.refused(token) == REVOKED
        assert here.refused(new) == ""


@pytest.mark.parametrize("change", ["revoke_tokens", "forget", "block"])
async def test_what_voids_all_of_a_device_voids_it(make: Make, change: str) -> None:
    async with running(make, by_mqtt=everything) as here:
        token = await known(here)
        assert here.refused(token) == ""
        more = ("",) if change == "block" else ()
        await here.registry.with_repository(
            lambda repository: getattr(repository, change)(KITCHEN, *more, "me")
        )
        # Of this second, it counts as issued since the last look at the registry.
        await until(lambda: here.refused(token) in {REVOKED, "blocked"})
        assert (await here.visit() != token) or change == "block"


async def test_a_claim_by_another_client_voids_it(make: Make) -> None:
    async with running(make, by_mqtt=everything) as here:
        token = await known(here)
        assert here.refused(token) == ""
        waits = await here.registry.decide(OtaRequest(device_id=KITCHEN, client_id="d"))
        assert not waits.admitted
        await here.registry.with_repository(lambda repository: repository.claim(waits.code, "me"))
        await until(lambda: here.refused(token) == REVOKED)
        new = await here.visit(client_id="d")
        assert here.refused(new, client_id="d") == ""
        assert new != token


async def test_the_carrier_of_a_device_decides(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = MqttSection(devices="chosen").takes
    async with running(make, AccessMode.OPEN, by_mqtt=chosen) as here:
        ask = OtaRequest(device_id=KITCHEN, client_id="c")
        assert not (await here.registry.decide(ask)).mqtt
        carriers: Sequence[Carrier] = ("mqtt", "websocket", "mqtt", "")
        for carrier in carriers:
            await here.repository.switch(KITCHEN, carrier, "me")
            assert (await here.registry.decide(ask)).mqtt is (carrier == "mqtt")
        await here.repository.switch(KITCHEN, "mqtt", "me")
        await until(lambda: here.registry.known.standings[KITCHEN].carrier == "mqtt")
        monkeypatch.setattr(here.registry, "use", _away)
        decision = await here.registry.decide(ask)
        monkeypatch.undo()
        assert decision.mqtt, "known without the database"
        assert later(9).verify(Identity(KITCHEN, "c", decision.token))[0] is TokenCheck.VALID
    async with running(make, AccessMode.OPEN) as here:  # a restart reads it anew
        await until(lambda: here.registry.known.loaded)
        assert here.registry.known.standings[KITCHEN].carrier == "mqtt"


async def _away(_work: object) -> object:
    raise RegistryUnavailable
