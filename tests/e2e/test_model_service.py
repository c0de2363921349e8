"""A whole server with a model's service that is as strict, and as odd, as the large ones are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.stages import knows_tool
from tests.quirks.quirk import VOLUME, done, streamed
from tests.quirks.service import Service, functions_of, offered
from tests.quirks.streams import piece
from tests.support.llm_server import failure, text
from vixio.testing import ScriptedTTS

LAMP = "self.lamp.turn_on"


@asynccontextmanager
async def talking(
    service: Service, *tools: Tool
) -> AsyncIterator[tuple[RunningServer, SimulatedDevice]]:
    """A server whose model is ``service``, and a device whose last tool is the lamp."""
    voice = ScriptedTTS(seconds_per_char=0.002)
    options = {"name": "openai", "model": "m", "base_url": service.base_url}
    async with (
        serving(settings(agent=options), asr=WaveformASR({}), tts=voice) as server,
        SimulatedDevice(server.device()) as device,
    ):
        for tool in (*tools, Tool(LAMP, "Turn on the lamp.", (), lambda: True)):
            device.add_tool(tool)
        await knows_tool(server, device, LAMP)
        yield server, device
        assert_nothing_wrong(device)


def odd(name: str, schema: dict[str, object] | None = None) -> Tool:
    return Tool(name, "probe", (), lambda **given: True, input_schema=schema)


@pytest.mark.parametrize(
    "tools",
    [
        [odd(f"self.many.number_{number}") for number in range(150)],
        [
            odd("self.x.probe", {"type": "object", "properties": {"a": {"type": "array"}}}),
            odd("self.y.probe", {"anyOf": [{"type": "object"}]}),
            odd(
                "self.z.probe",
                {"type": "object", "properties": {"q": {"$ref": "#/$defs/M"}}},
            ),
            odd("打开灯"),
            odd("a" * 100),
        ],
    ],
    ids=["many", "odd"],
)
async def test_no_tool_of_a_device_silences_it(tools: Sequence[Tool]) -> None:
    async with Service() as service, talking(service, *tools) as (_, device):
        for _ in range(2):
            service.script(text("It is nine."))
            assert (await device.type_text("what time is it")).text == "It is nine."
        assert service.refused == []
        names = offered(service.requests[-1])
        assert {"get_time", "self_audio_speaker_set_volume"} <= set(names)
        assert len(names) <= 128
        described = [function["description"] for function in functions_of(service.requests[-1])]
        if len(tools) < 128:
            assert {"打开灯: probe", f"{'a' * 100}: probe"} <= set(described)
            # Each of them can be called, by its alias or by its real name.
            service.script(streamed([piece(0, "打开灯", "{}", "a")]), done())
            await device.type_text("light, please")
            assert device.mcp.calls[-1].name == "打开灯"


async def test_a_tool_that_the_service_names_is_left_out_from_then_on() -> None:
    refusal = failure(400, "Invalid schema for function 'self_x_probe': it is odd.")
    async with Service("none") as service, talking(service, odd("self.x.probe")) as (_, device):
        for before in ((refusal,), ()):
            service.script(*before, text("It is nine."))
            assert (await device.type_text("what time is it")).text == "It is nine."
        asked = ["self_x_probe" in offered(request) for request in service.requests]
        assert asked == [True, False, False]


async def test_a_call_in_odd_pieces_by_another_name_reaches_the_device() -> None:
    async with Service() as service, talking(service) as (server, device):
        service.script(
            streamed(
                [
                    piece(None, "functions.self.audio_", "", "a"),
                    piece(None, "speaker.set_volume", "```json\n{'volume': "),
                    piece(None, None, "'40',}\n```"),
                ]
            ),
            done(),
        )
        assert (await device.type_text("forty percent")).text == "It is done."
        call = device.mcp.calls[-1]
        assert (call.name, call.arguments) == (VOLUME, {"volume": 40})
        assert server.app.tools.counters.get("tool.device.repaired") == 1
        service.script(streamed([piece(None, "set_volume", {"volume": 40})]), done())
        assert (await device.type_text("forty percent")).text == "It is done."
        told = service.requests[-1]["messages"][-1]["content"]
        assert "did you mean self_audio_speaker_set_volume, change_volume, " in told
