"""The figures of the last days, in the days of a zone."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import api_server
from tests.e2e.test_api import refused
from tests.support.waiting import until
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.web.api.scopes import Scope

BERLIN = ZoneInfo("Europe/Berlin")


async def test_a_turn_is_in_the_figures_at_once(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.CONVERSATIONS_READ)
        owner = await api.client(Scope.ADMIN)
        mac = device.config.device_id
        empty = (await call("GET", "/statistics")).body
        assert [each["turns"] for each in empty["days"]] == [0] * 7
        assert (empty["slow"], empty["tokens"]) == ([], [])
        await owner("PUT", "/profiles/family", {"content": {}})
        await owner("PUT", f"/devices/{mac}/profile", {"profile": "family"})
        assert (await owner("PATCH", f"/devices/{mac}", {"name": "Kitchen"})).status == 200
        ended = api.server.ended_turns()
        await device.type_text("what time is it")
        await until(lambda: ended, what="the turn's end")
        found = (await call("GET", "/statistics", params={"days": "1"})).body
        (day,) = found["days"]
        assert (day["turns"], day["answered"]) == (1, 1)
        (slow,) = found["slow"]
        assert (slow["device_id"], slow["device_name"]) == (mac, "Kitchen")
        assert (slow["text"], slow["turn"]) == ("what time is it", 1)
        assert slow["wait_ms"] // 10 * 10 == day["wait_p50_ms"] == day["wait_p95_ms"]
        assert 0 <= slow["part_ms"] <= slow["wait_ms"]
        assert [each["profile"] for each in found["tokens"]] == ["family"]
        assert found["tokens"][0]["turns"] == 1

        refused(await call("GET", "/statistics", params={"zone": "Mars/Base"}), 422, "time zone")
        refused(await call("GET", "/statistics", params={"zone": "../../etc"}), 422, "time zone")
        refused(await call("GET", "/statistics", params={"zone": "Europe"}), 422, "time zone")
        refused(await call("GET", "/statistics", params={"days": "32"}), 422, "days")
        other = await api.client(Scope.DEVICES_READ)
        refused(await other("GET", "/statistics"), 403, "conversations:read")


async def test_days_are_those_of_the_zone(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.CONVERSATIONS_READ)
        today = datetime.fromtimestamp(now_ms() / 1000, BERLIN).date()
        midnight = datetime.combine(today, datetime.min.time(), BERLIN)
        times = {
            "first of three days": midnight - timedelta(days=2),
            "before midnight": midnight - timedelta(milliseconds=1),
            "midnight": midnight,
            "too early": midnight - timedelta(days=2, milliseconds=1),
        }
        turns = [
            TurnRecord("d", "s", number, round(at.timestamp() * 1000), heard=name, outcome="x")
            for number, (name, at) in enumerate(times.items())
        ]
        await api.server.app.registry.use(
            lambda database: ConversationRepository(database).write(turns)
        )
        asked = {"days": "3", "zone": "Europe/Berlin"}
        days = (await call("GET", "/statistics", params=asked)).body["days"]
        assert [(each["day"], each["turns"]) for each in days] == [
            ((today - timedelta(days=2)).isoformat(), 1),
            ((today - timedelta(days=1)).isoformat(), 1),
            (today.isoformat(), 1),
        ]
        assert {each["wait_p50_ms"] for each in days} == {None}
