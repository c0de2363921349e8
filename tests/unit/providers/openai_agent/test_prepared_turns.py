"""Turns that are prepared first, of the real agent against a stand-in model."""

import asyncio
from contextlib import aclosing

from agents import function_tool

from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.model_turns import made, outputs
from tests.support.tool_turns import FakeDevice, Talk, written
from tests.support.waiting import until
from vixio.core.chunk import Chunk, UserTurn
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.core.turns.runner import PreparedTurn, TurnRunner
from vixio.providers.openai_agent.backend import OpenAIAgentBackend

LIMIT = 90.0


def prepare(talk: Talk, words: str, turn_id: int = 1) -> PreparedTurn:
    runner = TurnRunner(talk.agent, talk.context, follow_tools=True)
    return runner.prepare(UserTurn(turn_id, words))


async def all_of(turn: PreparedTurn) -> list[Chunk]:
    async with asyncio.timeout(LIMIT):
        return [chunk async for chunk in turn.events()]


async def call_waits(turn: PreparedTurn) -> None:
    """Wait until a tool call waits for the commit of ``turn``, which has no reader yet."""
    await until(lambda: turn._decision._waiting)


async def test_a_tool_with_effects_waits_for_the_commit(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    async with made(ToolRuntime(), backend) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.lamp.turn_on")])
        server.script(calls(Call("1", "self_lamp_turn_on", "{}"), saying="One moment. "))
        async with aclosing(prepare(talk, "turn on the lamp")) as turn:
            await call_waits(turn)
            assert device.asked == []
            assert talk.history.items() == []
            assert len(server.requests) == 1
            server.script(text("It is on."))
            turn.commit()
            chunks = await all_of(turn)
        assert device.asked == [("self.lamp.turn_on", {})]
        assert written(chunks) == "One moment. It is on."
        assert outputs(server) == ["true"]
        assert [use.output_tokens for use in talk.context.timeline(1).models] == [5, 5]


async def test_a_turn_that_is_given_up_leaves_nothing_and_closes_the_models_stream(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    stall = Stall()
    async with made(ToolRuntime(), backend) as talk:
        server.script(text("I was ", stall))
        async with aclosing(prepare(talk, "tell me a story")):
            await asyncio.wait_for(stall.reached.wait(), LIMIT)
        await asyncio.wait_for(server.hung_up.wait(), LIMIT)
        assert talk.history.items() == []
        assert talk.context.timelines == {}
        server.script(text("Hello."))
        await talk.turn("hello")
        told = [message["content"] for message in server.requests[-1]["messages"]]
        assert told == ["hello"]


async def test_a_call_that_waits_is_cancelled_when_the_turn_is_given_up(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    async with made(ToolRuntime(), backend) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.unlock", confirm=True)])
        server.script(calls(Call("1", "self_unlock", "{}")))
        async with aclosing(prepare(talk, "unlock")) as turn:
            await call_waits(turn)
        counters = talk.context.counters
        assert device.asked == []
        assert counters.get("model.tokens.output") == 5
        assert counters.get("tool.device.confirmation_required") == 0
        # No question is open, so a yes agrees to nothing.
        server.script(calls(Call("2", "self_unlock", "{}")), text("Shall I?"))
        await talk.turn("yes")
        assert device.asked == []


async def test_a_tool_of_the_sdk_itself_waits_as_well(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    called: list[str] = []

    @function_tool
    async def ring() -> str:
        """Ring the bell."""
        called.append("ring")
        return "rung"

    async with made(ToolRuntime(), backend) as talk:
        await talk.agent.initialize([ring])
        server.script(calls(Call("1", "ring", "{}")), text("Done."))
        async with aclosing(prepare(talk, "ring the bell")) as turn:
            await call_waits(turn)
            assert called == []
            turn.commit()
            assert written(await all_of(turn)) == "Done."
        assert called == ["ring"]
