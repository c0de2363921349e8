"""Turns are found among those of all devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Client, api_server
from tests.e2e.test_api import refused
from tests.support.waiting import until
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.web.api.scopes import Scope


async def search(call: Client, **query: str) -> list[dict[str, Any]]:
    """Return the turns that a query finds."""
    answer = await call("GET", "/turns", params=query)
    assert answer.status == 200, answer.body
    assert answer.body["cursor"] is None
    found: list[dict[str, Any]] = answer.body["turns"]
    return found


async def test_turns_are_found(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.CONVERSATIONS_READ)
        owner = await api.client(Scope.ADMIN)
        ended = api.server.ended_turns()
        async with SimulatedDevice(api.server.device(mode="manual")) as device:
            await device.type_text("hello")
            await device.type_text("remember that I like green tea")
        await until(lambda: len(ended) == 2, what="the turns' end")
        mac = device.config.device_id
        await owner("PATCH", f"/devices/{mac}", {"name": "Kitchen"})
        await owner("POST", "/people", {"name": "Anna"})
        (one,) = await search(call, search="tea GREEN")
        assert (one["device_id"], one["device_name"], one["turn"]) == (mac, "Kitchen", 2)
        assert one["heard"] == "remember that I like green tea"
        assert {**one, "device_name": ""} == {
            **(await call("GET", f"/conversations/{one['session_id']}")).body["turns"][1],
            "device_name": "",
        }
        assert await search(call, search="green tea", device="Kitchen", outcome="answered") == [one]
        assert await search(call, search="green_tea") == []
        assert await search(call, outcome="failed") == []
        assert await search(call, after=str(one["at"]), before=str(one["at"] + 1)) == [one]
        assert await search(call, person="Anna") == []
        assert (await owner("PUT", f"/devices/{mac}/person", {"person": "Anna"})).status == 200
        assert len(await search(call, person="anna")) == 2

        page = (await call("GET", "/turns", params={"limit": "1"})).body
        assert [each["turn"] for each in page["turns"]] == [2]
        rest = {"limit": "1", "cursor": page["cursor"]}
        assert [each["turn"] for each in await search(call, **rest)] == [1]

        refused(await call("GET", "/turns", params={"device": "nowhere"}), 404)
        refused(await call("GET", "/turns", params={"person": "nobody"}), 404)
        refused(await call("GET", "/turns", params={"outcome": "happy"}), 422, "outcome")
        refused(await call("GET", "/turns", params={"cursor": "x"}), 422, "cursor")
        refused(await call("GET", "/turns", params={"limit": "101"}), 422, "limit")
        refused(await call("GET", "/turns", params={"before": "99999999999999999999"}), 422)
        other = await api.client(Scope.DEVICES_READ)
        refused(await other("GET", "/turns"), 403, "conversations:read")


async def test_a_cursor_has_any_session(tmp_path: Path) -> None:
    """The key of a typed conversation may be anything."""
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.CONVERSATIONS_READ)
        turns = [TurnRecord("chat", "a/b 100%", turn, 5) for turn in (1, 2, 3)]
        await api.server.app.registry.use(
            lambda database: ConversationRepository(database).write(turns)
        )
        seen: list[int] = []
        cursor: str | None = ""
        while cursor is not None:
            asked = {"limit": "1", "cursor": cursor}
            page = (await call("GET", "/turns", params=asked)).body
            seen += [each["turn"] for each in page["turns"]]
            cursor = page["cursor"]
        assert seen == [3, 2, 1]
