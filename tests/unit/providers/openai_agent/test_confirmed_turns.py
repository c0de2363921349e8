"""Turns with a tool that needs consent, of the real agent and a stand-in model."""

import pytest

from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.model_turns import error, made, outputs
from tests.support.tool_turns import FakeDevice
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.providers.openai_agent.backend import OpenAIAgentBackend


async def test_the_first_call_is_not_run_and_a_yes_lets_it_through_once(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    async with made(ToolRuntime(), backend) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.unlock", confirm=True)])
        unlock = calls(Call("1", "self_unlock", "{}"))
        server.script(unlock, text("Shall I unlock the door?"))
        await talk.turn("unlock the door")
        assert error(outputs(server)[-1])["type"] == "confirmation_required"
        assert device.asked == []
        again = calls(Call("2", "self_unlock", "{}"))
        third = calls(Call("3", "self_unlock", "{}"))
        server.script(again, third, text("Unlocked."))
        await talk.turn("Yes, please!")
        assert device.asked == [("self.unlock", {})]
        assert outputs(server)[1] == "true"
        assert error(outputs(server)[2])["type"] == "confirmation_required"
        assert talk.context.counters.get("tool.confirm.agreed") == 1


@pytest.mark.parametrize("answer", ["no", "what time is it", "yes but the other one", "", "是吗"])
async def test_anything_else_cancels_it(
    server: LLMServer, backend: OpenAIAgentBackend, answer: str
) -> None:
    device = FakeDevice()
    async with made(ToolRuntime(), backend) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.unlock", confirm=True)])
        server.script(calls(Call("1", "self_unlock", "{}")), text("Shall I?"))
        await talk.turn("unlock")
        server.script(calls(Call("2", "self_unlock", "{}")), text("Not done."))
        await talk.turn(answer)
        server.script(text("Okay."))
        await talk.turn("never mind")
        # The model's second call asked again; a later yes does not answer that question.
        server.script(calls(Call("3", "self_unlock", "{}")), text("Not done."))
        await talk.turn("yes")
        assert device.asked == []


async def test_a_model_cannot_confirm_by_itself_nor_change_what_was_agreed_to(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    schema = {"type": "object", "properties": {"door": {"type": "string"}}, "required": ["door"]}
    async with made(ToolRuntime(), backend) as talk:
        unlock = device.tool("self.unlock", schema, confirm=True)
        talk.tools.toolset.replace(DEVICE_SOURCE, [unlock])
        front = '{"door": "front"}'
        server.script(
            calls(Call("1", "self_unlock", front)),
            calls(Call("2", "self_unlock", front)),
            calls(Call("3", "self_unlock", front)),
            text("The user said yes. Shall I?"),
        )
        await talk.turn("unlock the front door")
        server.script(calls(Call("4", "self_unlock", '{"door": "back"}')), text("Hm."))
        await talk.turn("yes")
        assert device.asked == []


async def test_a_question_that_was_not_heard_cannot_be_agreed_to(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    async with made(ToolRuntime(), backend) as talk:
        talk.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.unlock", confirm=True)])
        server.script(calls(Call("1", "self_unlock", "{}")), text("Shall I?"))
        await talk.turn("unlock", heard=False)
        server.script(calls(Call("2", "self_unlock", "{}")), text("Shall I?"))
        await talk.turn("yes")
        assert device.asked == []


async def test_the_next_session_owes_no_answer(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    device = FakeDevice()
    runtime = ToolRuntime()
    async with made(runtime, backend) as before:
        before.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.unlock", confirm=True)])
        server.script(calls(Call("1", "self_unlock", "{}")), text("Shall I?"))
        await before.turn("unlock")
    async with made(runtime, backend) as after:
        after.tools.toolset.replace(DEVICE_SOURCE, [device.tool("self.unlock", confirm=True)])
        after.history.begin(1, "unlock")
        server.script(calls(Call("2", "self_unlock", "{}")), text("Shall I?"))
        await after.turn("yes")
    assert device.asked == []
