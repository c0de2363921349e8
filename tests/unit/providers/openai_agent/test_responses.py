"""The Responses API over real HTTP: every way in which an answer can be split and can end."""

import asyncio
from typing import Any

import pytest

from tests.support.llm_server import Answer, Call, Cut, LLMServer, Stall, failure
from tests.support.responses_api import Stream, calls, refusal, text
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.metrics import ModelUse
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.provider import OpenAIAgentProvider

LIMIT = 90.0
WORDS = "Grüß Gott, 你好 🙂."


def _agent(
    server: LLMServer,
    **options: Any,  # noqa: ANN401 - the fields of the settings
) -> OpenAIAgentProvider:
    return OpenAIAgentProvider("sk-x", "stand-in", server.base_url, api="responses", **options)


async def _turn(agent: OpenAIAgentProvider, **fields: Any) -> list[AgentEvent]:  # noqa: ANN401 - of the request
    async with asyncio.timeout(LIMIT):
        return [event async for event in agent.reply(AgentRequest(1, "?", **fields))]


def _said(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def _multiply(a: int, b: int) -> int:
    """Multiply."""
    return a * b


@pytest.mark.parametrize("cut", range(1, len(WORDS)))
async def test_deltas_split_anywhere(server: LLMServer, cut: int) -> None:
    agent = _agent(server)
    server.script(text(WORDS[:cut], WORDS[cut:]))
    assert _said(await _turn(agent)) == WORDS
    assert server.paths == ["/v1/responses"]
    await agent.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_bytes_split_anywhere(server: LLMServer, size: int) -> None:
    agent = _agent(server)
    answer = text(*WORDS)
    answer.piece = size
    server.script(answer)
    assert _said(await _turn(agent)) == WORDS
    await agent.close()


@pytest.mark.parametrize("piece", range(1, 17))
async def test_calls_in_pieces_and_several_at_once(server: LLMServer, piece: int) -> None:
    agent = _agent(server)
    await agent.initialize([_multiply])
    server.script(
        calls(
            Call("c1", "_multiply", '{"a": 6, "b": 7}'),
            Call("c2", "_multiply", '{"a": 2, "b": 2}'),
            saying="Let me see. ",
            piece=piece,
        ),
        text("It is 42."),
    )
    uses: list[ModelUse] = []
    events = await _turn(agent, note_model=uses.append)
    assert _said(events) == "Let me see. It is 42."
    assert [e.call_id for e in events if isinstance(e, ToolCalled)] == ["c1", "c2"]
    assert [e.output for e in events if isinstance(e, ToolReturned)] == ["42", "4"]
    sent = {item["call_id"]: item for item in server.requests[1]["input"] if "output" in item}
    assert {call_id: item["output"] for call_id, item in sent.items()} == {"c1": "42", "c2": "4"}
    assert uses == [ModelUse("openai/stand-in", 13, 7, 4)] * 2
    await agent.close()


async def test_nothing_is_kept_at_the_service_unless_it_is_told(server: LLMServer) -> None:
    for options, kept in (({}, False), ({"store": True}, True)):
        agent = _agent(server, **options)
        server.script(text("."))
        await _turn(agent)
        assert server.requests[-1]["store"] is kept
        await agent.close()


@pytest.mark.parametrize("sealed", [None, "gAAA"])
async def test_reasoning_is_not_spoken_and_goes_back_only_sealed(
    server: LLMServer, sealed: str | None
) -> None:
    agent = _agent(server, reasoning_effort="low")
    await agent.initialize([_multiply])
    thinking = Stream()
    thinking.reasoning("I should ", "multiply.", sealed=sealed)
    thinking.calls(Call("c1", "_multiply", '{"a": 6, "b": 7}'))
    server.script(thinking.complete(), text("42."))
    assert _said(await _turn(agent)) == "42."
    assert server.requests[0]["include"] == ["reasoning.encrypted_content"]
    kinds = [item.get("type", item.get("role")) for item in server.requests[1]["input"]]
    thought = [] if sealed is None else ["reasoning"]
    assert kinds == ["user", *thought, "function_call", "function_call_output"]
    await agent.close()


async def test_a_refusal_is_spoken(server: LLMServer) -> None:
    agent = _agent(server)
    server.script(refusal("I ", "won't."))
    assert _said(await _turn(agent)) == "I won't."
    await agent.close()


async def test_an_answer_cut_by_the_token_limit_stands(server: LLMServer) -> None:
    agent = _agent(server, max_tokens=9)
    stream = Stream()
    stream.message("So far", end=False)
    server.script(stream.incomplete("max_output_tokens"))
    assert _said(await _turn(agent)) == "So far"
    assert server.requests[0]["max_output_tokens"] == 9
    await agent.close()


async def _fails(agent: OpenAIAgentProvider) -> tuple[ProviderError, str]:
    said: list[AgentEvent] = []

    async def listen() -> None:
        async for event in agent.reply(AgentRequest(1, "?")):
            said.append(event)  # noqa: PERF401 - a comprehension would lose them when it raises

    with pytest.raises(ProviderError) as caught:
        await asyncio.wait_for(listen(), LIMIT)
    await agent.close()
    return caught.value, _said(said)


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (failure(401, "no"), ProviderUnavailable, "no_key"),
        (failure(429, "wait", retry_after="30"), ProviderError, "busy"),
        (failure(429, "pay", "insufficient_quota"), ProviderUnavailable, "quota"),
        (failure(500, "oops"), ProviderError, "service"),
        (failure(400, "what?"), ProviderError, "request"),
        (Answer([], before_head=Cut()), ProviderError, "unreachable"),
        (Answer(["event: x\ndata: {not json\n\n"]), ProviderError, "service"),
        (Answer([]), ProviderError, "service"),
        (Stream().error("rate_limit_exceeded", "slow"), ProviderError, "busy"),
        (Stream().error("insufficient_quota", "pay"), ProviderUnavailable, "quota"),
        (
            Stream().fail("server_error", "broken sk-very-secret-0123456789"),
            ProviderError,
            "service",
        ),
        (Stream().fail("invalid_prompt", "no"), ProviderError, "request"),
    ],
)
async def test_a_failure_is_classified(
    server: LLMServer, answer: Answer, kind: type[ProviderError], reason: str
) -> None:
    server.script(answer)
    error, said = await _fails(_agent(server, retries=0))
    assert (type(error), error.reason, said) == (kind, reason, "")
    assert "secret" not in str(error)
    assert len(server.requests) == 1


async def test_a_stream_that_fails_before_its_first_token_is_tried_again(
    server: LLMServer,
) -> None:
    agent = _agent(server, retries=1)
    thinking = Stream()
    thinking.reasoning("hm")
    server.script(thinking.fail("server_error", "broken"), text("There."))
    assert _said(await _turn(agent)) == "There."
    await agent.close()


async def test_a_call_that_was_cut_in_its_arguments_is_made_once(server: LLMServer) -> None:
    agent = _agent(server, retries=1)
    await agent.initialize([_multiply])
    whole = calls(Call("c1", "_multiply", '{"a": 6, "b": 7}'))
    done = next(i for i, step in enumerate(whole.steps) if "arguments.done" in str(step))
    server.script(Answer([*whole.steps[:done], Cut()]), whole, text("42."))
    events = await _turn(agent)
    assert len([event for event in events if isinstance(event, ToolCalled)]) == 1
    assert _said(events) == "42."
    await agent.close()


async def test_a_stream_that_fails_behind_its_first_token_is_not(server: LLMServer) -> None:
    stream = Stream()
    stream.message("I was", end=False)
    server.script(stream.fail("server_error", "broken"), text("never"))
    error, said = await _fails(_agent(server, retries=3))
    assert (error.reason, said, len(server.requests)) == ("service", "I was", 1)


@pytest.mark.parametrize("said", ["", "well"])
async def test_a_stall(server: LLMServer, said: str) -> None:
    stream = Stream()
    if said:
        stream.message(said, end=False)
    server.script(Answer([*stream.steps, Stall()]))
    limits = {"stall_timeout": 0.1} if said else {"first_token_timeout": 0.5}
    error, heard = await _fails(_agent(server, **limits))
    assert isinstance(error, ProviderTimeout)
    assert heard == said
    assert ("further" if said else "first") in str(error)
    await asyncio.wait_for(server.hung_up.wait(), LIMIT)


async def test_a_connection_that_is_cut_behind_the_first_token(server: LLMServer) -> None:
    server.script(text("I was", Cut()), text("never"))
    error, said = await _fails(_agent(server, retries=3))
    assert (said, len(server.requests)) == ("I was", 1)
    assert error.retryable
