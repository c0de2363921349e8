"""What the API says of a device that is always connected: said, shown, or left in peace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, Client, api_server
from tests.e2e.event_stream import streaming
from tests.e2e.test_mqtt import MQTT, NEWS, idle, session
from tests.e2e.test_reminders import KITCHEN, heard
from tests.support.waiting import until
from vixio.transports.xiaozhi import standing
from vixio.web.api.scopes import Scope

ONE = f"/devices/{KITCHEN}"


@asynccontextmanager
async def reached(
    folder: Path, *, speak_request: bool, **assistant: str
) -> AsyncIterator[tuple[ApiServer, Client, SimulatedDevice]]:
    """Give a server, a client that may do everything, and an idle device."""
    async with (
        api_server(folder, mqtt=MQTT, assistant={"time_zone": "UTC", **assistant}) as api,
        idle(api.server, speak_request=speak_request) as device,
    ):
        yield api, await api.client(Scope.ADMIN), device


async def reminders(call: Client, **query: str) -> list[Any]:
    """Return what is to be said."""
    found: list[Any] = (await call("GET", "/reminders", params=query)).body["reminders"]
    return found


def night() -> tuple[str, str]:
    """Return quiet hours around this moment, and when they end."""
    now = datetime.now(UTC)
    ends = f"{now + timedelta(hours=3):%H:%M}"
    return f"{now - timedelta(hours=3):%H:%M}-{ends}", ends


async def test_an_idle_device_is_left_in_peace_in_its_quiet_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.data.reminders.deliverer.LONGEST_S", 0.2)
    monkeypatch.setattr("vixio.data.reminders.deliverer.CONTACT_S", 0.2)
    hours, ends = night()
    async with reached(tmp_path, speak_request=True, quiet_hours=hours) as (api, call, device):
        for path, body in (
            ("say", {"text": NEWS}),
            ("say", {"text": NEWS, "wait": True, "priority": "low"}),
            ("ask", {"text": "what time is it"}),
        ):
            answer = await call("POST", f"{ONE}/{path}", body)
            assert answer.body == {"status": "quiet", "heard": "", "until": ends}
        announced = await call("POST", "/announcements", {"text": "Dinner.", "devices": [KITCHEN]})
        assert announced.status == 201
        await call("POST", "/reminders", {"device": KITCHEN, "text": "take the pill"})
        await heard(device, "take the pill")
        (waiting,) = await reminders(call)
        assert (waiting["kind"], waiting["state"]) == ("announcement", "pending")
        assert api.server.count("xiaozhi.speak_requests") == 1
        assert device.notices == []
        # Nobody answered; then the hours are others.
        awake = session(api.server)
        assert awake.connection.roused
        awake.reconfigure(replace(awake.profile, quiet_hours=""))
        await heard(device, "Dinner.")
        said = await call("POST", f"{ONE}/say", {"text": NEWS, "wait": True})
        assert said.body == {"status": "played", "heard": NEWS, "until": ""}


async def test_what_is_urgent_and_what_a_user_says_are_not_held(tmp_path: Path) -> None:
    hours, _ = night()
    async with reached(tmp_path, speak_request=True, quiet_hours=hours) as (_api, call, device):
        urgent = {"text": NEWS, "priority": "high", "wait": True}
        assert (await call("POST", f"{ONE}/say", urgent)).body["status"] == "played"
        await device.type_text("what time is it")
        normal = {"text": NEWS, "wait": True}
        assert (await call("POST", f"{ONE}/say", normal)).body["status"] == "played"


async def test_the_record_says_that_it_was_only_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "ROUSE_S", 0.3)
    monkeypatch.setattr("vixio.data.reminders.deliverer.CONTACT_S", 0.2)
    async with (
        reached(tmp_path, speak_request=False) as (api, call, device),
        streaming(api.http, api.server.http_url, call.token) as stream,
    ):
        for path in ("say", "ask"):
            answer = await call("POST", f"{ONE}/{path}", {"text": NEWS, "wait": True})
            assert answer.body == {"status": "shown", "heard": "", "until": ""}
            ended = (await stream.until_type("turn.ended"))[-1]
            assert ended["outcome"] == "interrupted:shown"
        before = api.server.app.reminders.service.clock()
        await call("POST", "/reminders", {"device": KITCHEN, "text": "take the pill"})
        shown = (await stream.until_type("reminder.shown"))[-1]
        assert (shown["kind"], shown["text"]) == ("reminder", "take the pill")
        (waiting,) = await reminders(call)
        assert waiting["state"] == "pending"
        assert before <= waiting["shown_at"] <= api.server.app.reminders.service.clock()
        number = len(device.notices)
        api.server.app.reminders.service.on_change()
        assert (await call("GET", ONE)).body["live"]["awake"] is False
        await device.toggle()
        await stream.until_type("conversation.opened")
        assert (await call("GET", ONE)).body["live"]["awake"] is True
        await heard(device, "take the pill")
        assert len(device.notices) == number, "it is not shown again"
        ended = (await stream.until_type("reminder.ended"))[-1]
        assert ended["state"] == "delivered"
        (over,) = await reminders(call, past="true")
        assert over["heard"]
        await device.disconnect()
        await stream.until_type("conversation.ended")
        await until(lambda: not session(api.server).connection.awake, what="idle")
        assert (await call("GET", ONE)).body["live"]["awake"] is False
