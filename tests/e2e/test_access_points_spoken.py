"""A spoken conversation in which a tool of a user's own server appears, is called, and goes."""

from __future__ import annotations

from firmware_test_client import SimulatedDevice
from tests.e2e.access import BOUND_S, KITCHEN, address
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving
from tests.support.access_server import server_at, tool
from tests.support.waiting import until

DEVICE = "02:00:00:00:00:01"


async def test_a_tool_appears_is_called_by_voice_and_goes() -> None:
    async with serving() as server:
        registry = server.app.registry
        url = await address(server, KITCHEN)
        await registry.with_repository(lambda each: each.add(DEVICE, "me"))
        await registry.with_repository(lambda each: each.assign(DEVICE, "kitchen", "me"))
        async with (
            SimulatedDevice(server.device(mode="manual", device_id=DEVICE)) as device,
            SimulatedDevice(server.device(mode="manual")) as other,
        ):
            reply = await device.press_to_talk("turn on the lamp")
            assert "did not understand" in reply.text
            async with server_at(url, "Home", tool("lamp.turn_on", "Turn on the lamp")) as home:

                def known() -> bool:
                    session = server.session(DEVICE)
                    assert session is not None
                    return session.context.tools.find("lamp_turn_on") is not None

                await until(known, what="the tool", seconds=BOUND_S)
                reply = await device.press_to_talk("turn on the lamp")
                assert reply.stt == "turn on the lamp"
                assert [each["name"] for each in home.calls] == ["lamp.turn_on"]
                assert_played_well(reply)
                reply = await other.press_to_talk("turn on the lamp")
                assert "did not understand" in reply.text, "it is another profile's"
                assert len(home.calls) == 1
            await until(lambda: not known(), what="the end of the tool", seconds=BOUND_S)
            reply = await device.press_to_talk("turn on the lamp")
            assert "did not understand" in reply.text
            assert_played_well(reply)
            assert_nothing_wrong(device)
