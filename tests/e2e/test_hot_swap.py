"""Tools that come, go and change in mid-conversation are usable, or gone, in the very next turn."""

from __future__ import annotations

from firmware_test_client import Property, SimulatedDevice, Tool
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.stages import knows_tool
from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.waiting import until
from vixio.core.tools.types import ToolDefinition
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ToolUse

LAMP = "self.lamp.turn_on"
FAN = "self.fan.set_speed"
DECLINED = "did not understand"


def lamp() -> Tool:
    """Return a tool that no other device of these tests has."""
    return Tool(LAMP, "Turn on the lamp.", (), lambda: True)


def fan(most: int) -> Tool:
    """Return a tool whose range is ``0..most``."""
    speed = Property("speed", "integer", minimum=0, maximum=most)
    return Tool(FAN, "Set the speed of the fan.", (speed,), lambda speed: True)


def voice() -> ScriptedTTS:
    """Return a voice with short replies."""
    return ScriptedTTS(seconds_per_char=0.01)


def known(server: RunningServer, device: SimulatedDevice) -> dict[str, ToolDefinition]:
    """Return the tools of the device's session by name; each is there once."""
    session = server.session(device.config.device_id)
    assert session is not None
    definitions = session.context.tools.definitions()
    names = [tool.name for tool in definitions]
    aliases = [tool.alias for tool in definitions]
    assert len(set(names)) == len(names), names
    assert len(set(aliases)) == len(aliases), aliases
    return {tool.name: tool for tool in definitions}


def called(device: SimulatedDevice) -> list[str]:
    return [call.name for call in device.mcp.calls]


async def test_added_changed_and_removed_between_two_turns() -> None:
    async with (
        serving(asr=WaveformASR({}), tts=voice()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.type_text("turn on the lamp")
        assert DECLINED in reply.text
        device.add_tool(lamp())
        await knows_tool(server, device, LAMP)
        await device.type_text("turn on the lamp")
        assert called(device) == [LAMP]

        device.add_tool(fan(3))
        await knows_tool(server, device, FAN)
        reply = await device.type_text("set the fan speed to seven")
        assert called(device) == [LAMP]
        device.remove_tool(FAN, notify=False)
        device.add_tool(fan(10))
        await until(
            lambda: known(server, device)[FAN].parameters["properties"]["speed"]["maximum"] == 10,
            what="the new range",
        )
        await device.type_text("set the fan speed to seven")
        assert called(device) == [LAMP, FAN]
        assert device.mcp.calls[-1].arguments == {"speed": 7}

        device.remove_tool(LAMP)
        await until(lambda: LAMP not in known(server, device), what="the lamp's end")
        reply = await device.type_text("turn on the lamp")
        assert DECLINED in reply.text
        assert called(device) == [LAMP, FAN]
        assert_nothing_wrong(device)


async def test_announced_again_and_again_nothing_doubles() -> None:
    async with (
        serving(asr=WaveformASR({}), tts=voice()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await knows_tool(server, device, "self.audio_speaker.set_volume")
        session = server.session(device.config.device_id)
        assert session is not None
        tools, version = known(server, device), session.context.tools.version
        lists = _lists(device)
        for _ in range(20):
            device.misdeeds.mcp_payload(
                '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            )
        await device.flush()
        await until(lambda: _lists(device) > lists, what="another listing")
        await device.type_text("set the volume to twenty")
        assert device.volume == 20
        assert known(server, device) == tools
        assert session.context.tools.version == version
        assert _lists(device) <= lists + 3, "announcements that pile up are one"


def _lists(device: SimulatedDevice) -> int:
    return sum(
        frame.direction == "in"
        and frame.type == "mcp"
        and (frame.body or {})["payload"].get("method") == "tools/list"
        for frame in device.frames
    )


async def test_a_reconnect_replaces_the_tools() -> None:
    async with (
        serving(asr=WaveformASR({}), tts=voice()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        device.add_tool(lamp())
        await knows_tool(server, device, LAMP)
        before = known(server, device)
        await device.disconnect()
        device.remove_tool(LAMP)
        device.add_tool(fan(10))
        await device.connect()
        await knows_tool(server, device, FAN)
        after = known(server, device)
        assert after.keys() == before.keys() - {LAMP} | {FAN}
        await device.type_text("turn on the lamp")
        await device.type_text("set the fan speed to five")
        assert called(device) == [FAN]


async def test_a_long_list_is_read_to_its_last_page() -> None:
    async with serving(asr=WaveformASR({}), tts=voice()) as server:
        device = SimulatedDevice(server.device())
        for number in range(120):
            device.add_tool(
                Tool(f"self.shelf.slot_{number}.open", "Open a slot. " * 20, (), lambda: True),
                notify=False,
            )
        device.add_tool(lamp(), notify=False)
        async with device:
            await knows_tool(server, device, LAMP)
            names = known(server, device)
            own = {tool.name for tool in device.mcp.tools if not tool.user_only}
            assert own <= names.keys()
            assert not {tool.name for tool in device.mcp.tools if tool.user_only} & names.keys()
            assert _lists(device) >= 5
            await device.type_text("turn on the lamp")
            assert called(device) == [LAMP]


async def test_inside_a_running_turn() -> None:
    """The script waits; meanwhile the lamp comes, and is used."""
    agent = ScriptedAgentBackend(
        lambda said: ("Let me see. ", 1.5, ToolUse("self_lamp_turn_on", {}), "Done.")
    )
    async with (
        serving(asr=WaveformASR({}), agent=agent, tts=voice()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await device.send_json({"type": "listen", "state": "detect", "text": "light please"})
        await device.wait_for_frame("stt")
        device.add_tool(lamp())
        reply = await device.wait_for_reply()
        assert reply.text == "Let me see. Done."
        assert called(device) == [LAMP]


async def test_a_language_model_is_told_in_mid_turn() -> None:
    """Its second call of the same turn names the tool that came while the first was answered."""
    async with LLMServer() as llm:
        thinking = Stall()
        config = settings(agent={"name": "openai", "base_url": llm.base_url, "api_key": "test"})
        async with (
            serving(config, asr=WaveformASR({}), tts=voice()) as server,
            SimulatedDevice(server.device()) as device,
        ):
            await knows_tool(server, device, "self.audio_speaker.set_volume")
            volume = Call("call_1", "self_audio_speaker_set_volume", '{"volume": 40}')
            slow = calls(volume)
            slow.steps.insert(1, thinking)
            llm.script(slow, calls(Call("call_2", "self_lamp_turn_on", "{}")), text("It is on."))
            await device.send_json({"type": "listen", "state": "detect", "text": "light please"})
            await thinking.reached.wait()
            device.add_tool(lamp())
            await knows_tool(server, device, LAMP)
            thinking.go.set()
            reply = await device.wait_for_reply()
            assert reply.text == "It is on."
            assert device.volume == 40
            assert called(device) == ["self.audio_speaker.set_volume", LAMP]
            offered = [
                [tool["function"]["name"] for tool in request["tools"]] for request in llm.requests
            ]
            assert "self_lamp_turn_on" not in offered[0]
            assert offered[1].count("self_lamp_turn_on") == 1
