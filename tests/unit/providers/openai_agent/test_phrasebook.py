"""The phrase book as a model, in the agent's loop."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from vixio.core.chunk import TextDelta, ToolCalled
from vixio.core.errors import ToolError
from vixio.core.messages import message
from vixio.core.metrics import ModelUse
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.local import BUILTIN_LOCAL_TOOLS
from vixio.core.tools.types import ToolCallResult, ToolDefinition
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.backend import PhraseBookAgentBackend
from vixio.providers.openai_agent.model import Answer, ModelCall, ModelTool
from vixio.providers.openai_agent.phrasebook import MAX_LISTS, PhraseBookModel
from vixio.providers.openai_agent.provider import OpenAIAgentProvider
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings

APOLOGIES = ("not_understood", "not_understood_first", "tool_failed")
FIRST = {code: message("not_understood_first", code) for code in ("en", "zh", "de")}


async def _agent(language: str = "") -> OpenAIAgentProvider:
    provider = OpenAIAgentProvider(
        backend=PhraseBookAgentBackend(PhraseBookAgentSettings(language=language))
    )
    await provider.initialize(BUILTIN_LOCAL_TOOLS)
    return provider


@pytest.fixture
async def agent() -> AsyncIterator[OpenAIAgentProvider]:
    provider = await _agent()
    yield provider
    await provider.close()


async def _say(agent: OpenAIAgentProvider, said: str) -> tuple[str, list[str]]:
    """Return the words of the reply and the tools that were called."""
    words, called = "", []
    async with asyncio.timeout(60):
        async for event in agent.reply(AgentRequest(1, said)):
            if isinstance(event, TextDelta):
                words += event.text
            elif isinstance(event, ToolCalled):
                called.append(event.name)
    return words, called


def _lamp(name: str = "self.lamp.turn_on") -> ToolDefinition:
    async def execute() -> bool:
        return True

    return ToolDefinition(name, "", source="device", caller=FunctionCaller(execute))


@pytest.mark.parametrize(("said", "start"), [("what time is it", "It is "), ("现在几点了", "现在")])
async def test_both_languages_work_for_typed_text(
    agent: OpenAIAgentProvider, said: str, start: str
) -> None:
    words, called = await _say(agent, said)
    assert called == ["get_time"]
    assert words.startswith(start)


@pytest.mark.parametrize(("said", "language"), [("xyzzy plugh", "en"), ("量子纠缠是什么", "zh")])
async def test_what_is_not_in_the_book_is_declined_in_its_language(
    agent: OpenAIAgentProvider, said: str, language: str
) -> None:
    assert await _say(agent, said) == (FIRST[language], [])


async def test_the_configured_language_declines_and_english_still_works() -> None:
    agent = await _agent("zh-CN")
    assert await _say(agent, "xyzzy") == (FIRST["zh"], [])
    words, called = await _say(agent, "what time is it")
    assert called == ["get_time"]
    assert words.startswith("现在是"), "in the words of the voice's language"
    await agent.close()


async def test_phrases_follow_the_tools(agent: OpenAIAgentProvider) -> None:
    assert (await _say(agent, "turn on the lamp"))[1] == []
    await agent.update_tools([_lamp()])
    assert (await _say(agent, "turn on the lamp"))[1] == ["self_lamp_turn_on"]
    await agent.update_tools([])
    assert await _say(agent, "turn on the lamp") == (FIRST["en"], [])


@pytest.mark.parametrize(
    ("said", "answer", "apology"),
    [
        ("hello", True, ""),
        ("what is the capital of France", True, "not_understood"),
        ("turn on the lamp", True, ""),
        ("turn on the lamp", False, "tool_failed"),  # as devices say it
        ("turn on the lamp", ToolError("timeout", "no"), "tool_failed"),
        ("turn on the lamp", ToolError("not_found", "no"), "tool_failed"),  # no words for it
        ("turn on the lamp", ToolError("confirmation_required", "no"), ""),
        ("forget about cheese", ToolError("not_found", "no"), ""),  # "I did not remember that."
        ("forget about cheese", ToolError("failed", "no"), "tool_failed"),
    ],
)
async def test_an_apology_is_said_to_be_one(
    agent: OpenAIAgentProvider, said: str, answer: bool | ToolError, apology: str
) -> None:
    async def execute(**_: str) -> bool:
        if isinstance(answer, ToolError):
            raise answer
        return answer

    about = {"type": "object", "properties": {"about": {"type": "string"}}}
    tools = [
        ToolDefinition("self.lamp.turn_on", "", source="device", caller=FunctionCaller(execute)),
        ToolDefinition("forget_fact", "", about, caller=FunctionCaller(execute)),
    ]
    await agent.update_tools(tools)
    uses: list[ModelUse] = []
    words = ""
    async with asyncio.timeout(60):
        async for event in agent.reply(AgentRequest(1, said, note_model=uses.append)):
            words += event.text if isinstance(event, TextDelta) else ""
    assert uses[-1].apology == apology
    assert (words in {message(key, "en") for key in APOLOGIES}) == bool(apology), words


async def test_an_intent_may_need_two_calls(agent: OpenAIAgentProvider) -> None:
    volumes: list[int] = []

    async def status() -> dict[str, object]:
        return {"audio_speaker": {"volume": 50}}

    async def set_volume(volume: int) -> bool:
        volumes.append(volume)
        return True

    bounds = {"type": "integer", "minimum": 0, "maximum": 100}
    schema = {"type": "object", "properties": {"volume": bounds}, "required": ["volume"]}
    await agent.update_tools(
        [
            ToolDefinition("self.get_device_status", "", caller=FunctionCaller(status)),
            ToolDefinition(
                "self.audio_speaker.set_volume", "", schema, caller=FunctionCaller(set_volume)
            ),
        ]
    )
    words, called = await _say(agent, "turn up the volume")
    assert called == ["self_get_device_status", "self_audio_speaker_set_volume"]
    assert volumes[0] > 50
    assert str(volumes[0]) in words


async def test_a_tool_error_is_said_in_words(agent: OpenAIAgentProvider) -> None:
    async def broken() -> None:
        raise RuntimeError

    await agent.update_tools(
        [ToolDefinition("self.lamp.turn_on", "", caller=FunctionCaller(broken))]
    )
    words, called = await _say(agent, "turn on the lamp")
    assert called == ["self_lamp_turn_on"]
    assert words == message("tool_failed", "en")


async def test_the_cache_of_compiled_lists_is_bounded() -> None:
    model = PhraseBookModel()
    for number in range(MAX_LISTS + 2):
        name = f"self.thing_{chr(97 + number % 26)}{chr(97 + number // 26)}.turn_on"
        tool = ModelTool(name, "", {"type": "object", "properties": {}}, _lamp(name))
        call = ModelCall("", [{"role": "user", "content": "hello"}], [tool])
        *_, answer = [event async for event in model.stream(call)]
        assert isinstance(answer, Answer)
        assert not answer.calls
    assert len(model._compiled) == MAX_LISTS


async def test_what_a_tool_has_spoken_is_not_repeated(agent: OpenAIAgentProvider) -> None:
    async def execute() -> ToolCallResult:
        return ToolCallResult("", success=True, result="Rain.", spoken=True)

    tool = ToolDefinition("self.lamp.turn_on", "", source="web", caller=FunctionCaller(execute))
    await agent.update_tools([tool])
    assert await _say(agent, "turn on the lamp") == ("", ["self_lamp_turn_on"])
