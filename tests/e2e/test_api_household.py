"""Profiles and reminders over the HTTP API, with connected devices."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Answer, Client, api_server
from tests.support.waiting import until
from vixio.web.api.scopes import Scope

ABSENT = "02:00:00:00:00:77"


def refused(answer: Answer, status: int, words: str = "") -> None:
    """Check that a request was refused, for this reason."""
    assert answer.status == status, answer.body
    assert words in answer.body["detail"]


async def delivered(call: Client, reminder: str) -> dict[str, Any]:
    """Wait until a reminder was said; return its record."""
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await call("GET", f"/reminders/{reminder}")).body
            if found["state"] == "delivered":
                return found
            assert found["state"] in ("pending", "claimed", "speaking"), found
            await asyncio.sleep(0.05)


async def test_a_profile_takes_effect_on_a_connected_device(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.PROFILES)
        content = {"wake_reply": "At your service.", "user": "${NOBODY:Ann}"}
        written = await call("PUT", "/profiles/butler", {"content": content})
        assert (written.status, written.body["content"]) == (200, content)
        assigned = await call(
            "PUT", f"/devices/{device.config.device_id}/profile", {"profile": "butler"}
        )
        assert assigned.body == {"device": device.config.device_id, "profile": "butler"}

        async def greeting() -> str:
            await device.send_json({"type": "listen", "state": "detect", "text": "Jarvis"})
            return (await device.wait_for_reply()).text

        async with asyncio.timeout(60):
            while await greeting() != "At your service.":
                pass
        listed = await call("GET", "/profiles")
        assert [each["name"] for each in listed.body["profiles"]] == ["butler"]
        assert (await call("GET", "/profiles/butler")).body["content"] == content

        refused(
            await call("PUT", "/profiles/butler", {"content": {"langage": "de"}}),
            422,
            "profile: langage: there is no such key",
        )
        refused(await call("GET", "/profiles/none"), 404, "no profile 'none'")
        refused(await call("PUT", f"/devices/{ABSENT}/profile", {"profile": "butler"}), 404, ABSENT)
        other = await api.client(Scope.DEVICES_READ)
        refused(await other("GET", "/profiles"), 403, "profiles")
        assert (await call("DELETE", "/profiles/butler")).status == 204
        refused(await call("DELETE", "/profiles/butler"), 404)


async def test_the_assistant_speaks_first(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as kitchen,
        SimulatedDevice(api.server.device(mode="manual")) as bath,
    ):
        call = await api.client(Scope.REMINDERS)
        owner = await api.client(Scope.DEVICES_WRITE)
        mac = kitchen.config.device_id
        assert (await owner("PATCH", f"/devices/{mac}", {"name": "Kitchen"})).status == 200
        added = await call("POST", "/reminders", {"device": "Kitchen", "text": "feed the cat"})
        assert added.status == 201, added.body
        assert (added.body["device_id"], added.body["online"]) == (mac, True)
        await kitchen.wait_for(
            lambda: any("feed the cat" in reply.text for reply in kitchen.replies),
            what="the reminder",
        )
        one = f"/reminders/{added.body['id']}"
        found = await delivered(call, added.body["id"])
        assert "feed the cat" in found["heard"]
        refused(await call("DELETE", one), 409, "delivered")

        told = await call("POST", "/announcements", {"text": "Dinner is ready."})
        assert len(told.body["reminders"]) == 2
        assert len({each["series"] for each in told.body["reminders"]}) == 1
        for each in told.body["reminders"]:
            assert "Dinner is ready." in (await delivered(call, each["id"]))["heard"]
        assert "Dinner is ready." in bath.replies[-1].text

        alarm = {"device": "Kitchen", "kind": "alarm", "at": "06:30", "days": ["weekdays"]}
        waits = await call("POST", "/reminders", alarm)
        assert waits.body["rule"]
        listed = await call("GET", "/reminders?device=Kitchen")
        assert [each["id"] for each in listed.body["reminders"]] == [waits.body["id"]]
        cancelled = await call("DELETE", f"/reminders/{waits.body['id']}")
        assert cancelled.body["state"] == "cancelled"
        assert (await call("GET", "/reminders")).body["reminders"] == []
        assert len((await call("GET", "/reminders?over=true")).body["reminders"]) == 4

        wrong = {**alarm, "in_seconds": 5}
        refused(await call("POST", "/reminders", wrong), 422, "not both")
        refused(await call("POST", "/reminders", {**alarm, "at": "29:00"}), 422, "HH:MM")
        refused(await call("POST", "/reminders", {"device": "Kitchen", "days": ["mon"]}), 422)
        refused(await call("POST", "/reminders", {"device": ABSENT, "text": "x"}), 404)
        refused(await call("GET", "/reminders/000000000000"), 404)
        refused(await owner("GET", "/reminders"), 403, "reminders")
        assert kitchen.violations == bath.violations == []


async def test_a_conversation_is_read_and_erased(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.CONVERSATIONS_READ)
        ended = api.server.ended_turns()
        reply = await device.type_text("set the volume to thirty percent")
        await until(lambda: ended, what="the turn's end")
        listed = (await call("GET", "/conversations")).body["conversations"]
        assert (listed[0]["device_id"], listed[0]["turns"]) == (device.config.device_id, 1)
        shown = await call("GET", f"/conversations/{listed[0]['session_id']}")
        (turn,) = shown.body["turns"]
        assert (turn["heard"], turn["said"]) == ("set the volume to thirty percent", reply.text)
        assert turn["outcome"] == "answered"
        (tool,) = turn["tools"]
        assert "set_volume" in tool["name"]
        assert (tool["source"], tool["success"]) == ("device", True)
        order = [turn["stages"][name] for name in ("first_token", "first_audio", "playout_end")]
        assert order == sorted(order)

        one = f"/devices/{device.config.device_id}/turns"
        assert (await call("GET", one)).body["turns"] == [turn]
        refused(await call("DELETE", one), 403, "conversations:write")
        owner = await api.client(Scope.CONVERSATIONS_WRITE)
        assert (await owner("DELETE", one)).body == {"turns": 1}
        assert (await call("GET", "/conversations")).body["conversations"] == []
        refused(await call("GET", f"/conversations/{listed[0]['session_id']}"), 404)
