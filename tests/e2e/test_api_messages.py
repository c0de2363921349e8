"""The protocol's messages without an answer over the API: ``system reboot`` and ``custom``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import api_server
from vixio.web.api.scopes import Scope

ABSENT = "02:00:00:00:00:77"


@pytest.mark.parametrize("mcp", [True, False])
async def test_a_device_is_restarted(tmp_path: Path, mcp: bool) -> None:
    """By its tool, and without one by the message; either is in the audit trail."""
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual", mcp=mcp)) as device,
    ):
        admin = await api.client(Scope.ADMIN)
        one = f"/devices/{device.config.device_id}"
        done = await admin("POST", f"{one}/reboot")
        assert (done.status, done.body["success"]) == (200, True), done.body
        assert (done.body["text"] == "sent") is not mcp
        await device.wait_for(lambda: device.reboots == 1, what="the restart")
        (entry,) = [
            each
            for each in (await admin("GET", "/audit")).body["changes"]
            if each["action"] == "rebooted"
        ]
        assert entry["target"] == f"device:{device.config.device_id}"


async def test_who_may_restart_which(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        one = f"/devices/{device.config.device_id}"
        control = await api.client(Scope.CONTROL)
        assert (await control("POST", f"{one}/reboot")).status == 403
        user = await api.client(Scope.USER_TOOLS)
        assert (await user("POST", f"{one}/custom", {"payload": {}})).status == 403
        assert (await user("POST", f"/devices/{ABSENT}/reboot")).status == 404
        await api.server.app.registry.with_repository(
            lambda repository: repository.add(ABSENT, "test")
        )
        refused = await user("POST", f"/devices/{ABSENT}/reboot")
        assert (refused.status, "not connected" in refused.body["detail"]) == (409, True)
        admin = await api.client(Scope.ADMIN)
        noted = [each["action"] for each in (await admin("GET", "/audit")).body["changes"]]
        assert "rebooted" not in noted
        assert device.reboots == 0


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


PAYLOADS: dict[str, tuple[Any, int]] = {
    "nothing": ({}, 204),
    "words": ({"page": 2, "title": "你好 😀"}, 204),
    "a list": ({"items": [1, None, 1.5, {"deep": True}]}, 204),
    "a huge number": ({"n": 10**30}, 204),
    "NUL": ({"text": "a\0b"}, 204),
    "16,000 characters": ({"text": "x" * 16_000}, 204),
    "too long": ({"text": "x" * 17_000}, 422),
    "no object": ([1], 422),
    "a text": ("hello", 422),
    "null": (None, 422),
    "no number": ({"n": float("nan")}, 422),
    "many levels": (nested(60), 422),
}


async def test_a_custom_message(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        control = await api.client(Scope.CONTROL)
        one = f"/devices/{device.config.device_id}/custom"
        sent = []
        for name, (payload, status) in PAYLOADS.items():
            answer = await control("POST", one, {"payload": payload})
            assert answer.status == status, (name, answer.body)
            if status == 204:
                sent.append(payload)
        assert (await control("POST", one, {})).status == 422
        await device.wait_for(lambda: len(device.records.customs) == len(sent), what="the messages")
        assert [each["payload"] for each in device.records.customs] == sent
        assert (await control("POST", f"/devices/{ABSENT}/custom", {"payload": {}})).status == 404
