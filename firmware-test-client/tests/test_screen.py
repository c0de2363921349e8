"""How long an alert stands: Idle and a closed channel clear the screen."""

from __future__ import annotations

from typing import Literal

import pytest
from scripted_server import ScriptedServer

from firmware_test_client import SimulatedDevice

ALERT = {"type": "alert", "status": "Error", "message": "Blocked", "emotion": "sad"}
START, STOP = ({"type": "tts", "state": state} for state in ("start", "stop"))


@pytest.mark.parametrize(("mode", "clears"), [("auto", False), ("manual", True)])
async def test_a_stop_clears_it_with_push_to_talk(
    server: ScriptedServer, mode: Literal["auto", "manual"], clears: bool
) -> None:
    async with SimulatedDevice(server.device(mode=mode)) as device:
        if mode == "manual":
            await device.press()
            await device.release()
        await device.wait_for(lambda: device.screen_settled, what="a screen that stays")
        for message in (START, STOP, ALERT):
            await server.talk.send(message)
        await device.wait_for(lambda: device.caught_up and device.alerts, what="the alert")
        if clears:
            await device.wait_for(lambda: device.notices[0].cleared, what="an empty screen")
        await server.talk.send({"type": "stt", "text": "hello"})
        await device.wait_for(lambda: device.stt_texts, what="words")
        (notice,) = device.notices
        assert (notice.message, notice.cleared is None) == ("Blocked", False)
        words = next(frame.time for frame in device.frames if frame.type == "stt")
        assert (notice.cleared is not None and notice.cleared < words) is clears


async def test_a_close_clears_it(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        await device.wait_for(lambda: device.screen_settled, what="a screen that stays")
        await server.talk.send(ALERT)
        await device.wait_for(lambda: device.alerts, what="the alert")
        assert device.notices[0].cleared is None
        await device.disconnect()
        await device.wait_for(lambda: device.notices[0].cleared, what="an empty screen")
        assert device.notices[0].stood(device.now) < 30
