"""A tool's late result, from a real server to the simulated device."""

from __future__ import annotations

import asyncio

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.waiting import until
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import FixedSource
from vixio.testing import ScriptedTTS
from vixio.tools import Deferred

BOOKED = "Your table is booked for eight."


async def test_the_result_is_heard_later_and_the_model_knows_it() -> None:
    answered = asyncio.Event()

    async def call_them() -> str:
        await answered.wait()
        return BOOKED

    async def book_table(people: int) -> Deferred:
        """Book a table in the restaurant."""
        return Deferred(call_them())

    source = FixedSource("restaurant", [func_to_tool_definition(book_table)])
    async with LLMServer() as llm:
        llm.script(
            calls(Call("call_1", "book_table", '{"people": 4}')),
            text("I am ", "on it."),
            text("For eight."),
        )
        config = settings(agent={"name": "openai", "model": "m", "base_url": llm.base_url})
        voice = ScriptedTTS(seconds_per_char=0.01)
        async with (
            serving(config, asr=WaveformASR({}), tts=voice, tool_sources=[source]) as server,
            SimulatedDevice(server.device()) as device,
        ):
            assert (await device.type_text("a table for four, please")).text == "I am on it."
            told = llm.requests[1]["messages"][-1]
            assert "will tell you when it is done" in told["content"]
            answered.set()
            assert (await device.wait_for_reply(timeout=60)).text == BOOKED
            await until(lambda: server.count("tool.late.delivered"), what="its end", seconds=60)
            assert (await device.type_text("for when?")).text == "For eight."
            contents = [str(message.get("content")) for message in llm.requests[2]["messages"]]
            assert contents.count(BOOKED) == 2, "the tool's result, and what was heard of it"
            roles = [message["role"] for message in llm.requests[2]["messages"]]
            assert roles[-4:] == ["assistant", "tool", "assistant", "user"]
            assert_nothing_wrong(device)
