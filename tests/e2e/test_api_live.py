"""What the API shows of devices at this moment, and finds among them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Client, api_server
from tests.e2e.event_stream import streaming
from vixio.data.devices.repository import DeviceRepository
from vixio.web.api.scopes import Scope

ABSENT = "02:00:00:00:00:77"
MANY = 250


async def names(call: Client, **query: object) -> list[str]:
    """Return the names of the devices that a query finds."""
    text = {name: str(value).lower() for name, value in query.items()}
    answer = await call("GET", "/devices", params=text)
    assert answer.status == 200, answer.body
    return [each["name"] or each["id"] for each in answer.body["devices"]]


async def test_a_device_that_is_not_heard_while_it_speaks_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for installed in (False, True):
        monkeypatch.setattr("vixio.composition.api.is_installed", lambda there=installed: there)
        async with api_server(tmp_path / str(installed)) as api:
            call = await api.client(Scope.DEVICES_READ)
            config = api.server.device(mode="realtime", server_aec=True)
            async with SimulatedDevice(config) as device:
                await device.type_text("hello")
                path = f"/devices/{config.device_id}"
                await until_shown(call, path)
                shown.append((await call("GET", path)).body["hears_itself"])
    assert shown == [True, False]


async def until_shown(call: Client, path: str) -> None:
    """Wait until what the hello said is written."""
    async with asyncio.timeout(60):
        while True:
            if "aec" in (await call("GET", path)).body["features"]:
                return
            await asyncio.sleep(0.05)


async def test_a_page_that_is_opened_shows_what_each_device_does(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        url = api.server.http_url
        reader = await api.client(Scope.DEVICES_READ, Scope.CONVERSATIONS_READ)
        watcher = await api.client(Scope.DEVICES_READ)
        async with (
            streaming(api.http, url, reader.token) as stream,
            SimulatedDevice(api.server.device(mode="manual", board="esp-box-3")) as device,
        ):
            mac = device.config.device_id
            (started,) = await stream.until_type("session.opened")
            assert (started["board"], started["transport"]) == ("esp-box-3", "websocket")
            assert started["firmware"] == device.config.firmware_version
            assert "mcp" in started["features"]
            assert "address" not in started
            fresh = (await reader("GET", f"/devices/{mac}")).body["live"]
            assert fresh == {
                "state": "idle",
                "since": fresh["since"],
                "awake": True,
                "session_id": started["session_id"],
                "transport": "websocket",
                "heard": None,
                "said": None,
            }
            reply = await device.type_text("hello")
            seen = await stream.until_type("turn.ended")
            spoken = [event["text"] for event in seen if event["type"] == "speech.sentence"]
            assert " ".join(spoken) == reply.text
            ended = seen[-1]
            idle = next(event for event in seen if event.get("after") == "idle")
            assert [use["model"] for use in ended["models"]]
            assert {"input_tokens", "output_tokens"} <= ended["models"][0].keys()

            (listed,) = (await reader("GET", "/devices")).body["devices"]
            assert listed == (await reader("GET", f"/devices/{mac}")).body
            assert listed["online"] is True
            assert listed["rssi"] == -42
            live = listed["live"]
            assert (live["state"], live["heard"], live["said"]) == ("idle", "hello", reply.text)
            assert fresh["since"] <= idle["at"] <= live["since"] <= ended["at"]
            (bare,) = (await watcher("GET", "/devices")).body["devices"]
            assert bare["live"] == {**live, "heard": None, "said": None}
            own = (await watcher("GET", f"/devices/{mac}")).body["live"]
            assert own == bare["live"]
            assert "ssid" not in str(listed)

            # a speech that is cut: what was heard of it, and why
            saying = {"text": "This is a long sentence that somebody will cut. " * 5}
            speaker = await api.client(Scope.CONTROL)
            await speaker("POST", f"/devices/{mac}/say", saying)
            await stream.until_type("speech.sentence")
            speaking = (await reader("GET", f"/devices/{mac}")).body["live"]
            assert speaking["state"] == "speaking"
            assert speaking["said"].startswith("This is a long sentence")
            await device.abort()
            *_, cut = await stream.until_type("speech.interrupted")
            assert cut["cause"] == "abort"
            assert len(cut["text"]) < len(saying["text"])
        await stream_closed(reader, mac)


async def stream_closed(call: Client, mac: str) -> None:
    """Wait until a device is shown as gone."""
    async with asyncio.timeout(60):
        while True:
            shown = (await call("GET", f"/devices/{mac}")).body
            if not shown["online"]:
                assert shown["live"] is None
                return
            await asyncio.sleep(0.02)


async def test_devices_are_searched_by_all_that_people_call_them(tmp_path: Path) -> None:
    sections: dict[str, Any] = {
        "assistant": {"language": "en", "place": "Berlin"},
        "devices": {ABSENT: {"place": "Straße 5"}},
    }
    async with api_server(tmp_path, **sections) as api:
        call = await api.client(Scope.ADMIN)
        async with SimulatedDevice(api.server.device(mode="manual", board="esp-box-3")) as device:
            mac = device.config.device_id
            await call("PATCH", f"/devices/{mac}", {"name": "Küche"})
            await call("POST", "/devices", {"id": ABSENT, "name": "Shed"})
            await call("POST", "/devices", {"id": "02:00:00:00:00:78", "name": "Attic"})
            content = {"place": "under the roof", "language": "de"}
            await call("PUT", "/profiles/top", {"content": content})
            await call("PUT", "/devices/Attic/profile", {"profile": "top"})
            await call("POST", "/devices/Attic/block", {"reason": "lost"})

            assert await names(call) == ["Küche", "Shed", "Attic"]
            assert await names(call, search="KÜCHE") == ["Küche"]
            assert await names(call, search="  Under the  ROOF ") == ["Attic"]
            assert await names(call, search="STRASSE") == ["Shed"]
            assert await names(call, search="berlin") == ["Küche"]
            assert await names(call, search="esp-box") == ["Küche"]
            assert await names(call, search=ABSENT) == ["Shed"]
            assert await names(call, search="%") == []
            assert await names(call, state="blocked") == ["Attic"]
            assert await names(call, state="claimed") == ["Shed"]
            assert await names(call, online=True) == ["Küche"]
            assert await names(call, online=False) == ["Shed", "Attic"]
            assert await names(call, online=False, state="claimed", search="e") == ["Shed"]
            assert await names(call, online=False, limit=1, offset=1) == ["Attic"]
            page = await call("GET", "/devices", params={"online": "false", "limit": "1"})
            assert page.body["total"] == 2

            shown = (await call("GET", "/devices/Attic")).body
            assert (shown["place"], shown["spoken_language"]) == ("under the roof", "de")
            assert (shown["rssi"], shown["live"]) == (None, None)
            shown = (await call("GET", "/devices/Küche")).body
            assert (shown["place"], shown["spoken_language"]) == ("Berlin", "en")
        for wrong in ({"state": "lost"}, {"online": "maybe"}, {"limit": "1001"}):
            assert (await call("GET", "/devices", params=wrong)).status == 422


async def test_a_long_list_is_one_answer(tmp_path: Path) -> None:
    async with api_server(tmp_path, api={"requests_per_minute": 0}) as api:
        call = await api.client(Scope.DEVICES_READ)

        async def add(repository: DeviceRepository) -> None:
            for number in range(MANY):
                device_id = f"02:00:00:00:01:{number:02x}"
                await repository.add(device_id, "test", name=f"Room {device_id}")

        await api.server.app.registry.with_repository(add)
        answer = await call("GET", "/devices", params={"limit": "1000"})
        assert answer.body["total"] == len(answer.body["devices"]) == MANY
        assert len({each["id"] for each in answer.body["devices"]}) == MANY
        found = await call("GET", "/devices", params={"limit": "1000", "search": "room 02"})
        assert found.body == answer.body
        assert await call_total(call, "room 02:00:00:00:01:0") == 16


async def call_total(call: Client, search: str) -> int:
    """Return how many devices a search finds."""
    answer = await call("GET", "/devices", params={"search": search, "limit": "5"})
    assert len(answer.body["devices"]) == 5
    total: int = answer.body["total"]
    return total
