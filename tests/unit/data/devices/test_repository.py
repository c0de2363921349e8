"""Devices come, are claimed, renamed, blocked, forgotten; on each database."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.registry import device_tokens
from tests.support.registry_databases import Make
from vixio.data.database.database import Database
from vixio.data.devices.activation import read_proof
from vixio.data.devices.contacts import (
    CODE_IDLE_MS,
    CODE_LIFE_MS,
    UNCLAIMED,
    Contact,
    DeviceContacts,
)
from vixio.data.devices.records import AccessMode, DeviceRecord, NameTaken, RegistryError
from vixio.data.devices.repository import WRONG_CODES, WRONG_MS, DeviceRepository
from vixio.data.devices.tables import PART
from vixio.transports.admission.access import OtaRequest

ACTIVATION = AccessMode.ACTIVATION
KITCHEN, BATH = "02:00:00:00:00:01", "02:00:00:00:00:02"
KEY = "ab" * 32


class Clock:
    """Milliseconds since 1970, set by the test."""

    def __init__(self) -> None:
        self.at = 1_800_000_000_000

    def __call__(self) -> int:
        return self.at


class Registry:
    """The operations on one database, at the time of the test."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self.repository = DeviceRepository(database, clock)
        self.visits = DeviceContacts(database, clock)
        self.tokens = device_tokens(1_000, clock=lambda: clock.at / 1000)

    async def visit(
        self, device_id: str = KITCHEN, client_id: str = "c", mode: AccessMode = ACTIVATION
    ) -> DeviceRecord:
        """Have a device ask OTA."""
        visit = OtaRequest(device_id=device_id, client_id=client_id, board="box", firmware="1.0")
        record, _ = await self.visits.decide(visit, mode, self.tokens)
        return record

    async def code(self, device_id: str = KITCHEN) -> str:
        """Have a device ask OTA, and return the code that it gets."""
        code = (await self.visit(device_id)).code
        assert code is not None
        return code

    async def changes(self) -> list[tuple[str, str, str]]:
        """Return the audit trail: who, what, of what."""
        return [(each.actor, each.action, each.target) for each in await self.repository.audit(99)]


@asynccontextmanager
async def registry(make: Make) -> AsyncIterator[Registry]:
    """Open a database."""
    database = make()
    await database.open()
    try:
        yield Registry(database, Clock())
    finally:
        await database.close()


async def test_a_device_is_claimed_by_the_code_that_it_keeps(make: Make) -> None:
    async with registry(make) as here:
        first = await here.visit()
        assert first.code is not None
        assert len(first.code) == 6
        assert first.code.isdecimal()
        assert first.state == "unclaimed"
        assert not first.standing.lets_in(ACTIVATION, "c")
        assert await here.repository.tokens() == [], "what it gets with its code opens nothing"
        assert (await here.visit()).code == first.code
        claimed = await here.repository.claim(
            f" {first.code[:3]} {first.code[3:]} ", "me", "Kitchen"
        )
        assert (claimed.state, claimed.name, claimed.client_id) == ("claimed", "Kitchen", "c")
        assert claimed.code is None
        let_in = await here.visit()
        assert let_in.standing.lets_in(ACTIVATION, "c")
        issued = [token.id.endswith("w") for token in await here.repository.tokens(KITCHEN)]
        assert sorted(issued) == [False, True], "that with the code, and the one of the visit"
        assert await here.changes() == [("me", "claimed", f"device:{KITCHEN}")]


async def test_a_code_expires_when_its_device_is_gone_or_after_a_day(make: Make) -> None:
    async with registry(make) as here:
        code = await here.code()
        here.clock.at += CODE_IDLE_MS + 1
        with pytest.raises(RegistryError, match="has expired"):
            await here.repository.claim(code, "me")
        assert await here.code() != code or await here.code() != code
        began = here.clock.at
        first = last = await here.visit()
        while last.code_at == first.code_at:
            here.clock.at += CODE_IDLE_MS - 1
            last = await here.visit()
        assert CODE_LIFE_MS < here.clock.at - began < CODE_LIFE_MS + CODE_IDLE_MS, "once a day"


async def test_wrong_codes_are_limited_for_each_who_tries(make: Make) -> None:
    async with registry(make) as here:
        code = await here.code()
        wrong = f"{(int(code) + 1) % 1_000_000:06}"
        for _ in range(WRONG_CODES):
            with pytest.raises(RegistryError, match=r"xiaozhi\.me"):
                await here.repository.claim(wrong, "me")
        with pytest.raises(RegistryError, match=r"too many wrong codes: try again in 60[01] s"):
            await here.repository.claim(code, "me")
        assert (await here.repository.claim(code, "somebody else")).state == "claimed"
        here.clock.at += WRONG_MS + 1
        with pytest.raises(RegistryError, match="no device waits"):
            await here.repository.claim(wrong, "me")


async def test_no_two_devices_have_one_code(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([7, 7, 7, 8])
    monkeypatch.setattr("vixio.data.devices.contacts.secrets.randbelow", lambda _limit: next(drawn))
    async with registry(make) as here:
        assert await here.code(KITCHEN) == "000007"
        assert await here.code(BATH) == "000008"


async def test_two_servers_hand_out_codes_at_the_same_time(make: Make) -> None:
    async with registry(make) as one, registry(make) as two:
        ids = [f"02:00:00:00:01:{number:02x}" for number in range(20)]
        # Both serve every device, as when one asks a second time before the first answer.
        found = await asyncio.gather(
            *(server.code(device_id) for device_id in ids for server in (one, two))
        )
        assert found[::2] == found[1::2], "a device has one code"
        assert len(set(found)) == len(ids)


async def test_a_claim_is_for_one_installation(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.claim(await here.code(), "me")
        await here.visit()
        stranger = await here.visit(client_id="another")
        assert stranger.code is not None
        assert not stranger.standing.lets_in(ACTIVATION, "another")
        assert stranger.standing.lets_in(ACTIVATION, "c"), "the claimed one goes on"
        before = stranger.tokens_from
        here.clock.at += 5
        anew = await here.repository.claim(stranger.code, "me")
        assert anew.standing.lets_in(ACTIVATION, "another")
        assert not anew.standing.lets_in(ACTIVATION, "c")
        assert anew.tokens_from > before, "tokens of before are void"


async def test_the_allow_list_knows_no_codes(make: Make) -> None:
    async with registry(make) as here:
        added = await here.repository.add("02-00-00-00-00-01", "me", name="Kitchen")
        assert (added.id, added.state, added.last_seen) == (KITCHEN, "claimed", 0)
        seen = await here.visit(mode=AccessMode.ALLOW_LIST)
        assert seen.standing.lets_in(AccessMode.ALLOW_LIST, "c")
        assert seen.client_id == "c", "the first visit says which installation it is"
        unknown = await here.visit(BATH, mode=AccessMode.ALLOW_LIST)
        assert unknown.code is None
        assert not unknown.standing.lets_in(AccessMode.ALLOW_LIST, "c")
        assert (await here.repository.claim(BATH, "me")).state == "claimed"


# ── who is who ───────────────────────────────────────────────────────────────────────────────

STRANGER = "kitchen"
"""An id that anybody can state, and that is what somebody calls a device."""


async def test_a_name_wins_over_an_id_that_anybody_can_invent(make: Make) -> None:
    async with registry(make) as here:
        await here.visit(STRANGER, mode=AccessMode.OPEN)
        assert (await here.repository.device("Kitchen")).id == STRANGER, "nobody else is called so"
        await here.repository.add(KITCHEN, "me", name="Kitchen")
        for words in ("Kitchen", "kitchen", " KITCHEN "):
            assert (await here.repository.device(words)).id == KITCHEN
        assert (await here.repository.device(KITCHEN)).name == "Kitchen"
        assert (await here.repository.block("Kitchen", "", "me")).id == KITCHEN
        assert await here.repository.forget("kitchen", "me") == KITCHEN
        assert (await here.repository.device("Kitchen")).id == STRANGER


async def test_two_that_are_meant_are_both_named(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(STRANGER, "me")  # somebody's own program, say
        await here.repository.add(KITCHEN, "me", name="Kitchen")
        with pytest.raises(RegistryError, match=f"{KITCHEN}, {STRANGER}"):
            await here.repository.device("Kitchen")
        assert (await here.repository.device(KITCHEN)).id == KITCHEN


@pytest.mark.parametrize("mode", AccessMode)
async def test_a_stranger_that_states_a_name_is_not_let_in(make: Make, mode: AccessMode) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me", name="Kitchen")
        with pytest.raises(NameTaken):
            await here.visit(STRANGER, mode=mode)
        assert [each.id for each in await here.repository.devices()] == [KITCHEN]
        assert (await here.visit("bath", mode=mode)).id == "bath"
        # What was called so later, by its own id's words, comes as before.
        await here.repository.rename("bath", "Bath", "me")
        assert (await here.visit("bath", mode=mode)).name == "Bath"


async def test_a_claim_by_id_does_not_replace_the_code(make: Make) -> None:
    async with registry(make) as here:
        code = await here.code()
        with pytest.raises(RegistryError, match="shows a code"):
            await here.repository.claim(KITCHEN, "me")
        assert (await here.repository.device(KITCHEN)).state == "unclaimed"
        assert (await here.repository.claim(code, "me")).state == "claimed"
        await here.repository.rename(KITCHEN, "Kitchen", "me")
        with pytest.raises(RegistryError):  # a name says nothing of who it is
            await here.repository.claim("the kitchen", "me")
        assert (await here.repository.add(BATH, "me")).state == "claimed", "an operator may do it"


@pytest.mark.parametrize("change", ["revoke", "forget"])
async def test_a_clock_that_is_set_back_revives_no_token(make: Make, change: str) -> None:
    async with registry(make) as here:
        asks = OtaRequest(device_id=KITCHEN, client_id="c")
        await here.repository.add(KITCHEN, "me")
        _, issued = await here.visits.decide(asks, ACTIVATION, here.tokens)
        assert issued is not None
        here.clock.at -= 3_600_000
        if change == "revoke":
            await here.repository.revoke_tokens(KITCHEN, "me")
        else:
            await here.repository.forget(KITCHEN, "me")
            await here.repository.add(KITCHEN, "me")
        known = (await here.repository.device(KITCHEN)).standing
        assert issued.issued_at < known.tokens_from
        _, another = await here.visits.decide(asks, ACTIVATION, here.tokens)
        assert another is not None
        assert another.issued_at >= known.tokens_from


async def test_an_open_server_lets_in_all_but_the_blocked(make: Make) -> None:
    async with registry(make) as here:
        assert (await here.visit(mode=AccessMode.OPEN)).code is None
        blocked = await here.repository.block(KITCHEN, "lost", "me")
        assert (blocked.state, blocked.block_reason) == ("blocked", "lost")
        seen = await here.visit(mode=AccessMode.OPEN)
        assert not seen.standing.lets_in(AccessMode.OPEN, "c")
        assert seen.standing.blocked == "lost"
        with pytest.raises(RegistryError, match="unblock"):
            await here.repository.claim(KITCHEN, "me")
        assert (await here.repository.unblock(KITCHEN, "me")).state == "unclaimed"


async def test_a_blocked_device_gets_no_code(make: Make) -> None:
    async with registry(make) as here:
        code = await here.code()
        await here.repository.block(KITCHEN, "", "me")
        assert (await here.visit()).code is None
        with pytest.raises(RegistryError, match="no device waits"):
            await here.repository.claim(code, "me")


async def test_a_token_replaces_those_before_it_when_it_is_used(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me")
        for _ in range(3):
            here.clock.at += 1_000
            await here.visit()
        newest, second, oldest = await here.repository.tokens(KITCHEN)
        assert await here.visits.tokens_used([second.id]) == {oldest.id: oldest.expires_at}
        states = [each.state(here.clock.at) for each in await here.repository.tokens()]
        assert states == ["unused", "used", "revoked"], "an answer may get lost"
        assert await here.visits.tokens_used([newest.id]) == {second.id: second.expires_at}
        assert await here.visits.tokens_used([newest.id, "unknown"]) == {}


async def test_tokens_are_revoked_one_by_one_or_all(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me")
        await here.visit()
        (token,) = await here.repository.tokens()
        await here.repository.revoke_token(token.id, "me")
        assert (await here.repository.tokens())[0].state(here.clock.at) == "revoked"
        with pytest.raises(RegistryError, match="revoked already"):
            await here.repository.revoke_token(token.id, "me")
        with pytest.raises(RegistryError, match="no token"):
            await here.repository.revoke_token("unknown", "me")
        assert (await here.repository.revoke_tokens(KITCHEN, "me")).tokens_from > here.clock.at


async def test_a_forgotten_device_leaves_nothing(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me", name="Kitchen")
        await here.visit()
        assert await here.repository.forget("kitchen", "me") == KITCHEN
        assert await here.repository.devices() == []
        assert await here.repository.tokens() == []
        with pytest.raises(RegistryError, match="no device"):
            await here.repository.forget(KITCHEN, "me")


async def test_a_device_is_found_by_its_name(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me", name="Küche")
        await here.repository.add(BATH, "me")
        assert (await here.repository.device(" KÜCHE ")).id == KITCHEN
        await here.repository.rename(BATH, "küche", "me")
        with pytest.raises(RegistryError, match="2 devices are called"):
            await here.repository.device("Küche")
        assert (await here.repository.rename(BATH, "", "me")).name == ""
        await here.repository.rename(KITCHEN, None, "me", "Ground floor")
        kitchen = await here.repository.rename(KITCHEN, None, "me")
        assert (kitchen.name, kitchen.place) == ("Küche", "Ground floor")


async def test_a_device_is_switched_to_another_carrier(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me", name="Kitchen")
        assert (await here.repository.device(KITCHEN)).carrier == ""
        assert (await here.repository.switch("kitchen", "mqtt", "me")).carrier == "mqtt"
        assert (await here.repository.device(KITCHEN)).standing.carrier == "mqtt"
        assert (await here.changes())[-1] == ("me", "switched", f"device:{KITCHEN}")
        assert (await here.repository.switch(KITCHEN, "", "me")).carrier == ""


@pytest.mark.parametrize("wrong", ["", "kitchen sink", "a2a/x", "x" * 200])
async def test_what_is_no_id_is_not_added(make: Make, wrong: str) -> None:
    async with registry(make) as here:
        with pytest.raises(RegistryError, match="no device's id"):
            await here.repository.add(wrong, "me")
        assert await here.repository.devices() == []


async def test_a_key_has_to_be_proven(make: Make) -> None:
    async with registry(make) as here:
        with pytest.raises(RegistryError, match="64 hexadecimal digits"):
            await here.repository.add(KITCHEN, "me", key="abc")
        await here.repository.add(KITCHEN, "me", serial="SN", key=KEY.upper())
        seen = await here.visit()
        assert seen.code is None, "its key is better than a code"
        assert not seen.standing.lets_in(ACTIVATION, "c")

        def proof(key: str, challenge: str) -> bytes:
            digest = hmac.new(bytes.fromhex(key), challenge.encode(), hashlib.sha256).hexdigest()
            return json.dumps({"Payload": {"challenge": challenge, "hmac": digest}}).encode()

        for wrong in (b"{}", b"[", proof("cd" * 32, seen.challenge), proof(KEY, "other")):
            tried = await here.visits.prove(KITCHEN, "c", read_proof(wrong))
            assert tried is not None
            assert tried.verified_at is None
        right = read_proof(proof(KEY, seen.challenge))
        proven = await here.visits.prove(KITCHEN, "c", right)
        assert proven is not None
        assert proven.standing.lets_in(ACTIVATION, "c")
        assert await here.visits.prove(BATH, "c", right) is None
        again = await here.visits.prove(KITCHEN, "d", right)
        assert again is not None
        assert again.client_id == "c", "an answer serves once"


async def test_contacts_are_noted(make: Make) -> None:
    async with registry(make) as here:
        await here.visit()
        here.clock.at += 10_000
        at = here.clock.at
        await here.visits.seen(
            {
                KITCHEN: Contact(at, "192.0.2.1", ("aec", "mcp")),
                BATH: Contact(at - 5, may_be_new=True),
                "02:00:00:00:00:03": Contact(at),  # it was forgotten while it was connected
            }
        )
        await here.visits.seen({KITCHEN: Contact(at - 9_000, tools=("self.volume",))})
        kitchen, bath = await here.repository.devices()
        assert (kitchen.id, kitchen.last_seen, kitchen.address) == (KITCHEN, at, "192.0.2.1")
        assert (kitchen.features, kitchen.tools) == (("aec", "mcp"), ("self.volume",))
        assert bath.last_seen == at - 5


async def test_invented_devices_do_not_fill_the_database(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.data.devices.contacts.UNCLAIMED", 3)
    assert UNCLAIMED >= 1_000
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me")
        for number in range(6):
            here.clock.at += 1
            await here.visit(f"02:00:00:00:01:{number:02x}")
        kept = [device.id for device in await here.repository.devices()]
        assert [each[-2:] for each in kept[:-1]] == ["05", "04", "03"]
        assert kept[-1] == KITCHEN, "a claimed one is kept"


async def test_a_part_of_the_devices_is_read(make: Make) -> None:
    async with registry(make) as here:
        for number in range(5):
            here.clock.at += 1
            await here.visit(f"02:00:00:00:01:{number:02x}")
        part, total = await here.repository.some_devices(limit=2, offset=1)
        assert ([device.id[-2:] for device in part], total) == (["03", "02"], 5)
        assert await here.repository.some_devices(limit=2, offset=5) == ([], 5)


async def test_a_name_is_found_whatever_its_case(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me", name="Küche Ä")
        await here.repository.add(BATH, "me")
        assert (await here.repository.device(" KÜCHE ä ")).id == KITCHEN
        await here.repository.rename(BATH, "küche ä", "me")
        with pytest.raises(RegistryError, match=f"2 devices.*{KITCHEN}, {BATH}"):
            await here.repository.device("Küche ä")
        with pytest.raises(RegistryError, match="no device ' '"):
            await here.repository.device(" ")


async def test_a_text_with_control_characters_is_refused(make: Make) -> None:
    async with registry(make) as here:
        await here.repository.add(KITCHEN, "me")
        for text in ("a\nb", "x" * 65):
            with pytest.raises(RegistryError, match="at most 64 characters"):
                await here.repository.rename(KITCHEN, text, "me")
            with pytest.raises(RegistryError, match="at most 64 characters"):
                await here.repository.block(KITCHEN, text, "me")


async def test_lines_are_searched_and_pages_read_by_id(make: Make) -> None:
    async with registry(make) as here:
        ids = [f"02:00:00:00:01:{number:02x}" for number in range(PART + 20)]
        for device_id in ids:
            await here.visit(device_id)
            here.clock.at += 1
        await here.repository.add(BATH, "me", name="Bath")
        await here.repository.add(ids[0], "me")
        await here.repository.block(ids[1], "lost", "me")
        lines = await here.repository.lines()
        assert [line.id for line in lines] == [*reversed(ids), BATH]
        assert {line.id: line.state for line in lines if line.state != "unclaimed"} == {
            BATH: "claimed",
            ids[0]: "claimed",
            ids[1]: "blocked",
        }
        assert {(line.board, line.name) for line in lines} == {("box", ""), ("", "Bath")}
        found = await here.repository.these_devices([BATH, "unknown", *ids])
        assert [each.id for each in found] == [BATH, *ids]
        assert await here.repository.these_devices([]) == []


async def test_the_signal_is_that_of_the_last_visit_that_states_one(make: Make) -> None:
    async with registry(make) as here:

        async def visit(rssi: int | None) -> int | None:
            seen = OtaRequest(device_id=KITCHEN, client_id="c", rssi=rssi)
            record, _ = await here.visits.decide(seen, ACTIVATION, here.tokens)
            return record.rssi

        assert await visit(None) is None
        assert await visit(-61) == -61
        assert await visit(None) == -61
        assert await visit(-40) == -40
        assert (await here.repository.device(KITCHEN)).rssi == -40
