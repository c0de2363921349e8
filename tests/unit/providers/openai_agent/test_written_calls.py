"""Tool calls that a model writes as text are run; neither speech nor history has them as words."""

from __future__ import annotations

import pytest

from tests.support.llm_server import LLMServer, text
from tests.support.model_turns import error, made, outputs
from tests.support.tool_turns import FakeDevice, Talk, returned, spoken
from tests.unit.language.model_output.rows import LAMP, TOOLS, VOLUME
from vixio.core.device import DeviceProfile
from vixio.core.errors import ProviderError
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import DEVICE_SOURCE
from vixio.providers.openai_agent.backend import OpenAIAgentBackend
from vixio.providers.openai_agent.settings import OpenAIAgentSettings
from vixio.providers.openai_agent.turn_loop import UNREAD

REAL = {LAMP: "self.lamp.turn_on", VOLUME: "self.audio_speaker.set_volume"}
"""The names at the device of those that a model writes."""

_NAMED = f'<tool_call>{{"name": "{LAMP}", "arguments": {{}}}}</tool_call>'


def equipped(talk: Talk, *, confirm: bool = False) -> FakeDevice:
    device = FakeDevice()
    schemas = {real: TOOLS[name] for name, real in REAL.items()}
    tools = [device.tool(name, schema, confirm=confirm) for name, schema in schemas.items()]
    talk.tools.toolset.replace(DEVICE_SOURCE, tools)
    return device


async def test_the_history_has_a_call_and_no_words_of_it(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    async with made(ToolRuntime(), backend) as talk:
        equipped(talk)
        server.script(text(f"Sure. {_NAMED}"), text("It is on."), text("Yes."))
        assert spoken(await talk.turn("turn on the lamp")) == ["Sure.", "It is on."]
        within = server.requests[-1]["messages"][-2]
        assert within["content"] == "Sure."
        await talk.turn("is it on")
    last = server.requests[-1]["messages"]
    for messages in ([within], last):
        called = [call for each in messages for call in each.get("tool_calls", ())]
        assert [call["function"]["name"] for call in called] == [LAMP]
    assert all("<" not in (each["content"] or "") for each in last[1:])


async def test_a_call_that_cannot_be_read_is_told_once(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    async with made(ToolRuntime(), backend) as talk:
        device = equipped(talk)
        server.script(text("<tool_call>what?</tool_call>"), text("Sorry, I can only talk."))
        chunks = await talk.turn("do it")
        assert spoken(chunks) == ["Sorry, I can only talk."]
        assert server.requests[-1]["messages"][-1] == {"role": "user", "content": UNREAD}
        server.script(text("One moment. <tool_call>what?"), text("<tool_call>what?</tool_call>"))
        assert spoken(await talk.turn("do it")) == ["One moment."]
        assert len(server.requests) == 4
        assert not device.asked


async def test_a_tool_that_is_not_offered_is_told_once(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    async with made(ToolRuntime(), backend) as talk:
        device = equipped(talk)
        lasting = '<tool_call>{"name": "launch", "arguments": {}}</tool_call>'
        server.script(text(lasting), text(f"No. {lasting}"))
        assert spoken(await talk.turn("do it")) == ["No."]
        assert server.requests[-1]["messages"][-1] == {"role": "user", "content": UNREAD}
        assert (len(server.requests), device.asked) == (2, [])


async def test_wrong_arguments_are_explained(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    loud = f'<tool_call>{{"name": "{VOLUME}", "arguments": {{"volume": "loud"}}}}</tool_call>'
    async with made(ToolRuntime(), backend) as talk:
        device = equipped(talk)
        server.script(text(loud), text("Louder."))
        assert spoken(await talk.turn("louder")) == ["Louder."]
        assert error(outputs(server)[-1])["type"] == "invalid_arguments"
        assert not device.asked


async def test_the_same_rules_hold(server: LLMServer, backend: OpenAIAgentBackend) -> None:
    async with made(ToolRuntime(), backend) as talk:
        device = equipped(talk, confirm=True)
        server.script(text(_NAMED), text("Shall I turn it on?"))
        chunks = await talk.turn("turn on the lamp")
        assert error(outputs(server)[-1])["type"] == "confirmation_required"
        assert [result.success for result in returned(chunks)] == [False]
        assert not device.asked
        server.script(text(_NAMED), text("It is on."))
        assert spoken(await talk.turn("yes")) == ["It is on."]
        assert device.asked == [("self.lamp.turn_on", {})]


async def test_rounds_are_counted(server: LLMServer) -> None:
    settings = OpenAIAgentSettings(model="m", base_url=server.base_url, max_tool_rounds=2)
    backend = OpenAIAgentBackend(settings)
    async with made(ToolRuntime(), backend, profile=DeviceProfile()) as talk:
        device = equipped(talk)
        server.script(text(_NAMED), text(_NAMED))
        with pytest.raises(ProviderError, match="too many rounds"):
            await talk.turn("do it")
        assert device.asked == [("self.lamp.turn_on", {})]
        assert server.requests[-1]["tool_choice"] == "none"
    await backend.close()


async def test_reasoning_and_tokens_are_in_no_request(
    server: LLMServer, backend: OpenAIAgentBackend
) -> None:
    said = "<|channel|>analysis<|message|>They greet.<|end|><|start|>assistant<|channel|>final"
    async with made(ToolRuntime(), backend) as talk:
        server.script(text(f"{said}<|message|>Hello there.<|return|>"), text("Fine."))
        assert spoken(await talk.turn("hello")) == ["Hello there."]
        await talk.turn("how are you")
    answers = [each for each in server.requests[-1]["messages"] if each["role"] == "assistant"]
    assert answers == [{"role": "assistant", "content": "Hello there."}]


async def test_a_user_names_further_markers(server: LLMServer) -> None:
    settings = OpenAIAgentSettings(
        model="m",
        base_url=server.base_url,
        reasoning_markers=(("<ponder>", "</ponder>"),),
        removed_tokens=("<|zap|>",),
    )
    backend = OpenAIAgentBackend(settings)
    async with made(ToolRuntime(), backend) as talk:
        server.script(text("<ponder>hm</ponder>Hello<|zap|> there."))
        assert spoken(await talk.turn("hello")) == ["Hello there."]
    await backend.close()
