"""What is remembered, listed and edited over the HTTP API, with connected devices."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, Client, api_server
from tests.e2e.harness import serving, settings
from tests.e2e.test_api_household import refused
from tests.e2e.test_people import RECALL, asked_until
from vixio.core.history import HistoryItem, Summary
from vixio.data.memory.fact_edits import fact_id
from vixio.testing import ScriptedAgentBackend
from vixio.web.api.scopes import Scope

PHRASES = {"name": "phrasebook"}


KEPT = {"store": "database"}


async def editor(api: ApiServer) -> Client:
    return await api.client(
        Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE, Scope.DEVICES_READ, Scope.DEVICES_WRITE
    )


async def turns_saved(call: Client, path: str, number: int) -> dict[str, Any]:
    """Wait until so many turns are in the memory; return what is shown."""
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await call("GET", path)).body
            if len(found["turns"]) == number:
                return found
            await asyncio.sleep(0.02)


async def test_facts_are_edited_one_by_one(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path, memory=KEPT, agent=PHRASES) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await editor(api)
        mac = device.config.device_id
        path = f"/devices/{mac}/memory"
        added = await call("POST", f"{path}/facts", {"text": " is allergic  to nuts "})
        nuts = {"id": fact_id("is allergic to nuts"), "text": "is allergic to nuts"}
        assert (added.status, added.body) == (201, nuts)
        assert "allergic to nuts" in (await device.type_text(RECALL)).text
        refused(
            await call("POST", f"{path}/facts", {"text": "is allergic to nuts"}), 409, "already"
        )

        # Two have read the same fact: the second one hits no other.
        one = f"{path}/facts/{nuts['id']}"
        changed = await call("PUT", one, {"text": "is allergic to milk"})
        assert changed.body["text"] == "is allergic to milk"
        refused(
            await call("PUT", one, {"text": "is allergic to eggs"}), 404, "read the facts again"
        )
        refused(await call("DELETE", one), 404)
        await asked_until(device, RECALL, lambda answer: "allergic to milk" in answer)
        shown = (await call("GET", path)).body
        assert (shown["facts"], shown["fact_ids"]) == (
            ["is allergic to milk"],
            [changed.body["id"]],
        )
        assert (await call("DELETE", f"{path}/facts/{changed.body['id']}")).status == 204
        assert (await call("GET", path)).body["facts"] == []

        # Of a device of somebody, they are about that person.
        assert (await call("POST", "/people", {"name": "Anna"})).status == 201
        assert (await call("PUT", f"/devices/{mac}/person", {"person": "Anna"})).status == 200
        refused(await call("POST", f"{path}/facts", {"text": "has a dog"}), 409, "belongs to Anna")
        anna = "/people/Anna/facts"
        dog = (await call("POST", anna, {"text": "has a dog"})).body
        await asked_until(device, RECALL, lambda answer: "has a dog" in answer)
        cat = (await call("PUT", f"{anna}/{dog['id']}", {"text": "has a cat"})).body
        assert (await call("GET", anna)).body["fact_ids"] == [cat["id"]]
        await asked_until(device, RECALL, lambda answer: "has a cat" in answer)
        assert (await call("DELETE", f"{anna}/{cat['id']}")).status == 204
        refused(await call("DELETE", f"{anna}/{cat['id']}"), 404)

        for text in ("", "   ", "x" * 501, "a\nb"):
            refused(await call("POST", anna, {"text": text}), 422)
        refused(await call("POST", "/people/Nobody/facts", {"text": "x"}), 404)
        refused(await call("POST", "/devices/02:00:00:00:00:77/memory/facts", {"text": "x"}), 404)
        reader = await api.client(Scope.CONVERSATIONS_READ)
        for method, to in (("POST", f"{path}/facts"), ("POST", anna)):
            refused(await reader(method, to, {"text": "x"}), 403, "conversations:write")
        await in_the_audit_trail(api, mac)


async def in_the_audit_trail(api: ApiServer, mac: str) -> None:
    """The trail says what was done with whose memory, without the words."""
    admin = await api.client(Scope.ADMIN)
    trail = (await admin("GET", "/audit?limit=100")).body["changes"]
    of_memory = [each for each in trail if each["target"].startswith("memory:")]
    actions = [each["action"] for each in of_memory if each["target"] == f"memory:{mac}"]
    assert sorted(actions) == ["fact added", "fact changed", "fact removed"]
    assert len(of_memory) == 6
    for word in ("allergic", "dog", "cat"):
        assert word not in json.dumps(of_memory)


def heard(agent: ScriptedAgentBackend, text: str) -> list[HistoryItem]:
    """Return the history that the agent got with ``text``."""
    (request,) = (
        request for each in agent.agents for request in each.requests if request.text == text
    )
    return list(request.history)


async def test_a_summary_is_rewritten_and_a_connected_device_follows(tmp_path: Path) -> None:
    agent = ScriptedAgentBackend()
    sections: dict[str, dict[str, Any]] = {
        "data": {"folder": str(tmp_path / "data"), "database": ""},
        "api": {"enabled": True},
        "memory": KEPT,
    }
    async with (
        serving(settings(**sections), agent=agent) as server,
        aiohttp.ClientSession() as http,
        SimulatedDevice(server.device(mode="manual")) as device,
    ):
        call = await editor(ApiServer(server, http))
        path = f"/devices/{device.config.device_id}/memory"
        await device.type_text("one")
        await turns_saved(call, path, 1)
        written = await call("PUT", f"{path}/summary", {"summary": " Ada likes tea.\n"})
        assert (written.status, written.body) == (200, {"summary": "Ada likes tea."})
        await device.type_text("two")
        assert heard(agent, "two")[0] == Summary("Ada likes tea.")
        assert len(heard(agent, "two")) == 3
        await turns_saved(call, path, 2)

        late = {"summary": "Ada likes coffee.", "expected": ""}
        refused(await call("PUT", f"{path}/summary", late), 409, "read it again")
        right = {"summary": "", "expected": "Ada likes tea."}
        assert (await call("PUT", f"{path}/summary", right)).body == {"summary": ""}
        await device.type_text("three")
        assert not any(isinstance(item, Summary) for item in heard(agent, "three"))
        await turns_saved(call, path, 3)

        assert (await call("DELETE", path)).body == {"erased": True}
        await device.type_text("four")
        assert heard(agent, "four") == []
        refused(await call("PUT", f"{path}/summary", {"summary": "x" * 2_001}), 422)
        assert device.violations == []


async def test_what_is_remembered_is_listed(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path, memory=KEPT, agent=PHRASES) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await editor(api)
        mac = device.config.device_id
        assert (await call("GET", "/memory")).body == {"total": 0, "memories": []}
        await call("PATCH", f"/devices/{mac}", {"name": "Kitchen"})
        await device.type_text("what time is it")
        await turns_saved(call, f"/devices/{mac}/memory", 1)
        await call("PUT", f"/devices/{mac}/memory/summary", {"summary": "Asked for the time."})
        anna = (await call("POST", "/people", {"name": "Anna"})).body["id"]
        for number in range(3):
            await call("POST", "/people/Anna/facts", {"text": f"fact {number}"})

        listed = (await call("GET", "/memory")).body
        assert listed["total"] == 2
        found = {each.pop("kind"): each for each in listed["memories"]}
        assert all(each.pop("seen") > 0 for each in found.values())
        assert found == {
            "device": {"id": mac, "name": "Kitchen", "facts": 0, "turns": 1, "summary": True},
            "person": {"id": anna, "name": "Anna", "facts": 3, "turns": 0, "summary": False},
        }
        for kind, whose in (("person", anna), ("device", mac)):
            some = (await call("GET", f"/memory?kind={kind}")).body
            assert (some["total"], [each["id"] for each in some["memories"]]) == (1, [whose])
        second = (await call("GET", "/memory?limit=1&offset=1")).body
        assert (second["total"], len(second["memories"])) == (2, 1)
        refused(await (await api.client(Scope.DEVICES_READ))("GET", "/memory"), 403)

        # What the registry has forgotten can still be seen, and erased.
        await device.disconnect()
        assert (await call("DELETE", f"/devices/{mac}")).status == 204
        unlisted = f"/devices/{mac.upper()}/memory"
        assert (await call("GET", unlisted)).body["summary"] == "Asked for the time."
        assert (await call("DELETE", unlisted)).body == {"erased": True}
        refused(await call("GET", unlisted), 404)


async def test_without_a_memory_nothing_is_edited(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.ADMIN)
        await call("POST", "/people", {"name": "Anna"})
        for method, path, body in (
            ("GET", "/memory", None),
            ("POST", "/people/Anna/facts", {"text": "has a dog"}),
            ("DELETE", f"/people/Anna/facts/{fact_id('x')}", None),
        ):
            refused(await call(method, path, body), 409, "memory.store is none")


async def test_rooms_hear_an_announcement(tmp_path: Path) -> None:
    names = [f"02:00:00:00:00:{number:02x}" for number in (1, 2, 3)]
    rooms = dict(zip(names, ("the Kitchen", "kitchen", "bath"), strict=True))
    async with api_server(
        tmp_path, devices={mac: {"place": place} for mac, place in rooms.items()}
    ) as api:
        call = await api.client(Scope.REMINDERS)
        owner = await api.client(Scope.DEVICES_WRITE)
        for mac in names:
            await owner("POST", "/devices", {"id": mac})
        async with SimulatedDevice(api.server.device(mode="manual", device_id=names[0])) as device:
            places = (await call("GET", "/places")).body["places"]
            assert [sorted(each["devices"]) for each in places] == [names[2:], names[:2]]
            told = await call(
                "POST", "/announcements", {"text": "Dinner is ready.", "places": ["kitchen"]}
            )
            assert told.status == 201, told.body
            assert {each["device_id"] for each in told.body["reminders"]} == set(names[:2])
            await device.wait_for(
                lambda: any(
                    "Dinner is ready." in reply.text and reply.ended for reply in device.replies
                ),
                what="the announcement",
            )
        both = {"text": "Now.", "places": ["Bath"], "devices": [names[2], names[0]]}
        told = await call("POST", "/announcements", both)
        assert {each["device_id"] for each in told.body["reminders"]} == {names[0], names[2]}
        series = told.body["reminders"][0]["series"]
        listed = (await call("GET", f"/reminders?series={series}&kind=announcement")).body
        assert len(listed["reminders"]) == 2
        wrong = await call("POST", "/announcements", {"text": "x", "places": ["kitchen", "attic"]})
        refused(wrong, 404, "bath")
        assert len((await call("GET", "/reminders?over=true")).body["reminders"]) == 4

        # What is over comes with the last first.
        ended: list[str] = []
        for each in listed["reminders"]:
            ended.insert(0, (await call("DELETE", f"/reminders/{each['id']}")).body["id"])
        past = (await call("GET", "/reminders?past=true&limit=2")).body["reminders"]
        assert [each["id"] for each in past] == ended
        rest = (await call("GET", "/reminders?past=true&offset=2")).body["reminders"]
        assert [each["device_id"] for each in rest] == [names[0]]
