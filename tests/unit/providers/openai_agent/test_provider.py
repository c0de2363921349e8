"""Turns against a real HTTP server that speaks the Chat Completions protocol."""

import asyncio
import json
import subprocess
import sys
import threading

import pytest
from agents import function_tool

from tests.support.llm_server import Answer, Call, LLMServer, Stall, calls, refusal, text
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ProviderError
from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.provider import OpenAIAgentProvider

LIMIT = 90.0


async def _turn(agent: OpenAIAgentProvider, request: AgentRequest) -> list[AgentEvent]:
    async with asyncio.timeout(LIMIT):
        return [event async for event in agent.reply(request)]


def _said(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _offered(request: JsonObject) -> list[str]:
    return [tool["function"]["name"] for tool in request.get("tools", [])]


def _tool(name: str, answer: str = "done", description: str = "") -> ToolDefinition:
    async def execute() -> str:
        return answer

    return ToolDefinition(name, description, caller=FunctionCaller(execute))


@pytest.mark.slow
def test_importing_the_provider_is_cheap() -> None:
    code = (
        "import sys; import vixio.providers.openai_agent.provider; "
        "sys.exit(any(name in sys.modules for name in ('agents', 'openai', 'litellm')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_text_comes_as_the_model_writes_it(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    stall = Stall()
    server.script(text("你", "好", stall, ", world"))
    reply = agent.reply(AgentRequest(7, "hi"))
    async with asyncio.timeout(LIMIT):
        assert await anext(reply) == TextDelta(7, "你")
        assert await anext(reply) == TextDelta(7, "好")
        await stall.reached.wait()
        stall.go.set()
        assert [event async for event in reply] == [TextDelta(7, ", world")]
    assert server.keys == ["bearer sk-very-secret"]
    assert [message["role"] for message in server.requests[0]["messages"]] == ["system", "user"]


async def test_calls_in_pieces_and_several_at_once(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    async def multiply(a: int, b: int) -> int:
        """Multiply."""
        return a * b

    await agent.initialize([multiply])
    server.script(
        calls(
            Call("c1", "multiply", '{"a": 6, "b": 7}'),
            Call("c2", "multiply", '{"a": 2, "b": "x"}'),
            saying="Let me see. ",
        ),
        text("It is 42."),
    )
    events = await _turn(agent, AgentRequest(1, "?"))
    assert _said(events) == "Let me see. It is 42."
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [(call.call_id, call.name, call.arguments) for call in called] == [
        ("c1", "multiply", '{"a": 6, "b": 7}'),
        ("c2", "multiply", '{"a": 2, "b": "x"}'),
    ]
    good, bad = [event for event in events if isinstance(event, ToolReturned)]
    assert (good.call_id, good.output, good.success) == ("c1", "42", True)
    assert (bad.call_id, bad.success) == ("c2", False)
    assert json.loads(bad.output)["error"]["type"] == "invalid_arguments"
    answers = [m for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert [(m["tool_call_id"], m["content"]) for m in answers] == [
        ("c1", "42"),
        ("c2", bad.output),
    ]


async def test_each_call_has_its_own_time(server: LLMServer, agent: OpenAIAgentProvider) -> None:
    go = asyncio.Event()

    async def quick() -> str:
        return "quick"

    async def slow() -> str:
        asyncio.get_running_loop().call_later(0.05, go.set)
        await go.wait()
        return "slow"

    await agent.initialize([quick, slow])
    server.script(calls(Call("q", "quick", "{}"), Call("s", "slow", "{}")), text("."))
    events = await _turn(agent, AgentRequest(1, "?"))
    seconds = {event.call_id: event.seconds for event in events if isinstance(event, ToolReturned)}
    assert seconds["q"] < seconds["s"]
    assert seconds["s"] >= 0.048  # the loop's timer may fire a clock tick early


async def test_a_new_list_holds_at_the_next_model_call_of_the_running_turn(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    async def swap() -> str:
        await agent.update_tools([_tool("late", "I am new")])
        return "swapped"

    await agent.initialize([swap])
    await agent.update_tools([_tool("early")])
    server.script(
        calls(Call("c1", "swap", "{}")),
        calls(Call("c2", "late", "{}"), Call("c3", "early", "{}")),
        text("done"),
    )
    events = await _turn(agent, AgentRequest(1, "?"))
    assert [_offered(request) for request in server.requests] == [
        ["swap", "early"],
        ["swap", "late"],
        ["swap", "late"],
    ]
    late, early = [event for event in events if isinstance(event, ToolReturned)][1:]
    assert (late.output, late.success) == ("I am new", True)
    assert json.loads(early.output)["error"]["type"] == "not_found"
    assert not early.success
    assert _said(events) == "done"


async def test_the_same_list_again_converts_nothing(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    first, second = _tool("a"), _tool("b")
    await agent.update_tools([first, second])
    server.script(text("."), text("."))
    await _turn(agent, AgentRequest(1, "?"))
    before = dict(agent._converted)
    await agent.update_tools([first, second])
    assert agent._listed is not None
    await agent.update_tools([first, _tool("b", description="other")])
    await _turn(agent, AgentRequest(2, "?"))
    assert agent._converted["a"][1] is before["a"][1]
    assert agent._converted["b"][1] is not before["b"][1]


async def test_a_tool_that_cannot_be_described_is_left_out(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    broken = ToolDefinition("broken", "", {"properties": {"a": {"type": "colour"}}})
    await agent.update_tools([broken, _tool("good")])
    server.script(text("fine"))
    assert _said(await _turn(agent, AgentRequest(1, "?"))) == "fine"
    assert _offered(server.requests[0]) == ["good"]


async def test_a_name_that_is_taken_gets_its_source_in_front(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    await agent.initialize([_tool("get_time", "mine")])
    await agent.update_tools([_tool("get_time", "theirs")])
    server.script(calls(Call("c", "local_get_time", "{}")), text("."))
    events = await _turn(agent, AgentRequest(1, "?"))
    assert _offered(server.requests[0]) == ["get_time", "local_get_time"]
    assert [event.output for event in events if isinstance(event, ToolReturned)] == ["theirs"]


async def test_history_goes_before_the_question(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    history: list[HistoryItem] = [
        UserMessage("time?"),
        ToolCallItem("c1", "get_time", "{}"),
        ToolResultItem("c1", "12:00"),
        AssistantMessage("Noon."),
    ]
    server.script(text("ok"))
    await _turn(agent, AgentRequest(1, "thanks", history))
    sent = server.requests[0]["messages"][1:]
    assert [message["role"] for message in sent] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c1"


async def test_ids_that_the_server_repeats_are_told_apart(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    runs = 0

    async def count() -> int:
        nonlocal runs
        runs += 1
        return runs

    await agent.initialize([count])
    same = Call("call_0", "count", "{}")
    server.script(calls(same), calls(same, Call("", "count", "{}")), text("done"))
    events = await _turn(agent, AgentRequest(1, "?"))
    assert runs == 3
    ids = [event.call_id for event in events if isinstance(event, ToolCalled)]
    assert len(set(ids)) == 3
    assert "" not in ids


async def test_refusals_are_spoken_and_reasoning_is_not(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    server.script(refusal("I ", "won't."), text("<th", "ink>why", "?</think>\n", "Because."))
    assert _said(await _turn(agent, AgentRequest(1, "?"))) == "I won't."
    assert _said(await _turn(agent, AgentRequest(2, "?"))) == "Because."


async def test_the_last_round_has_to_answer_in_words(server: LLMServer) -> None:
    agent = OpenAIAgentProvider("k", "m", server.base_url, max_tool_rounds=2)
    await agent.initialize([_tool("again")])
    again = calls(Call("a", "again", "{}"))
    server.script(again, text("Enough."), again, again, text("never"))
    assert _said(await _turn(agent, AgentRequest(1, "?"))) == "Enough."
    assert [request.get("tool_choice") for request in server.requests] == [None, "none"]
    with pytest.raises(ProviderError, match="too many rounds") as caught:
        await _turn(agent, AgentRequest(2, "?"))
    assert not caught.value.retryable
    assert len(server.requests) == 4
    await agent.close()


async def test_a_tool_of_the_framework_that_raises_is_explained_too(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    @function_tool
    async def native(number: int) -> str:
        raise RuntimeError(number)

    await agent.initialize([native])
    server.script(
        calls(Call("a", "native", '{"number": 1}'), Call("b", "native", "{}")), text("Sorry.")
    )
    events = await _turn(agent, AgentRequest(1, "?"))
    returned = [event for event in events if isinstance(event, ToolReturned)]
    kinds = [json.loads(event.output)["error"]["type"] for event in returned]
    assert kinds == ["failed", "invalid_arguments"]
    assert not any(event.success for event in returned)
    assert _said(events) == "Sorry."


async def test_the_schema_reaches_the_model_whole(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "$comment": "x", "default": 3}},
        "additionalProperties": False,
        "$defs": {"b": {"const": 1}},
    }
    await agent.update_tools([ToolDefinition("t", "Do\nit.", schema)])
    server.script(text("."))
    await _turn(agent, AgentRequest(1, "?"))
    (sent,) = server.requests[0]["tools"]
    assert sent["function"] == {
        "name": "t",
        "description": "Do\nit.",
        "parameters": schema,
        "strict": False,
    }


async def test_cancelling_while_the_server_thinks_hangs_up(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    stall = Stall()
    server.script(Answer([], before_head=stall))
    task = asyncio.ensure_future(_turn(agent, AgentRequest(1, "?")))
    async with asyncio.timeout(LIMIT):
        await stall.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.hung_up.wait()


async def test_closing_the_reply_ends_the_http_stream_and_every_task(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    stall = Stall()
    server.script(text("one ", stall))
    reply = agent.reply(AgentRequest(1, "?"))
    assert await anext(reply) == TextDelta(1, "one ")
    await asyncio.wait_for(stall.reached.wait(), LIMIT)
    ours = asyncio.all_tasks() - server._tasks
    async with asyncio.timeout(LIMIT):
        await reply.aclose()  # type: ignore[attr-defined]  # an async generator behind the interface
        assert asyncio.all_tasks() - server._tasks <= ours
        assert not any("run_loop" in repr(task) for task in asyncio.all_tasks())
        await server.hung_up.wait()
    server.script(text("two"))
    assert _said(await _turn(agent, AgentRequest(2, "?"))) == "two"


async def test_cancelling_the_listener_cancels_the_tool(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    running, ended = asyncio.Event(), asyncio.Event()

    async def forever() -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    await agent.initialize([forever])
    server.script(calls(Call("c", "forever", "{}")))
    task = asyncio.ensure_future(_turn(agent, AgentRequest(1, "?")))
    await asyncio.wait_for(running.wait(), LIMIT)
    before = asyncio.all_tasks()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert len(asyncio.all_tasks()) < len(before)


async def test_turns_of_one_agent_may_overlap(
    server: LLMServer, agent: OpenAIAgentProvider
) -> None:
    stall = Stall()
    server.script(text("old", stall), text("new"))
    old = agent.reply(AgentRequest(1, "?"))
    assert await anext(old) == TextDelta(1, "old")
    await agent.update_tools([_tool("fresh")])
    assert _said(await _turn(agent, AgentRequest(2, "?"))) == "new"
    assert _offered(server.requests[1]) == ["fresh"]
    await old.aclose()  # type: ignore[attr-defined]  # an async generator behind the interface


async def test_no_thread_of_a_trace_exporter(server: LLMServer, agent: OpenAIAgentProvider) -> None:
    before = set(threading.enumerate())
    server.script(text("."))
    await _turn(agent, AgentRequest(1, "?"))
    names = [thread.name for thread in threading.enumerate() if thread not in before]
    assert all(name.startswith("asyncio_") for name in names), names


async def test_a_closed_agent_says_so(agent: OpenAIAgentProvider) -> None:
    await agent.close()
    with pytest.raises(ProviderError, match="closed"):
        await _turn(agent, AgentRequest(1, "?"))


@pytest.mark.slow
def test_a_turn_needs_no_sdk() -> None:
    """The SDK takes seconds to import, and 50 MB."""
    code = """
import asyncio, sys
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.backend import OpenAIAgentBackend, PhraseBookAgentBackend
from vixio.providers.openai_agent.settings import OpenAIAgentSettings, PhraseBookAgentSettings

async def turns():
    book = PhraseBookAgentBackend(PhraseBookAgentSettings())
    assert [event async for event in book.create().reply(AgentRequest(1, "hello"))]
    chat = OpenAIAgentBackend(OpenAIAgentSettings(base_url="http://127.0.0.1:9/v1"))
    await chat.start()
    await chat.close()

asyncio.run(turns())
print([name for name in ("agents", "openai", "mcp", "litellm") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
