"""Devices that take glyphs, of a server without the extra `glyphs`: as before, and it says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.glyphs import TextFont
from tests.e2e.api_client import api_server
from vixio.transports.xiaozhi import glyphs
from vixio.web.api.scopes import Scope


async def test_without_the_extra_words_come_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glyphs, "is_installed", lambda: False)
    glyphs._usable.cache_clear()
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual", text_font=TextFont())) as device,
        SimulatedDevice(api.server.device(mode="manual")) as other,
    ):
        call = await api.client(Scope.DEVICES_READ)

        async def lacking() -> dict[str, bool]:
            found = (await call("GET", "/devices")).body["devices"]
            return {each["id"]: each["lacks_glyphs"] for each in found if each["features"]}

        async with asyncio.timeout(30):
            while len(found := await lacking()) < 2:  # noqa: ASYNC110 - it is written behind
                await asyncio.sleep(0.05)
        assert found == {device.config.device_id: True, other.config.device_id: False}
        session = api.server.session(device.config.device_id)
        assert session is not None
        handle = session.say("龘靐")
        reply = await device.wait_for_reply()
        await handle.played()
        assert "龘" in reply.text
        assert (device.records.glyphs, device.records.violations) == ([], [])
    glyphs._usable.cache_clear()
