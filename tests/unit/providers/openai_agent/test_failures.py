"""Failures of the model's server end a turn with one classified error, without a secret."""

import asyncio
from typing import Any

import pytest

from tests.support.llm_server import Answer, Cut, LLMServer, Stall, Step, failure, text
from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.provider import OpenAIAgentProvider

KEY = "sk-very-secret-0123456789"
REQUEST = AgentRequest(1, "hello")

LIMIT = 90.0
"""Seconds."""


def _agent(
    server: LLMServer,
    **options: Any,  # noqa: ANN401 - the fields of the settings
) -> OpenAIAgentProvider:
    return OpenAIAgentProvider(KEY, "stand-in", server.base_url, **options)


async def _fails(agent: OpenAIAgentProvider) -> tuple[ProviderError, str]:
    """Return the error that ends the turn, and the text before it."""
    said: list[AgentEvent] = []

    async def listen() -> None:
        async for event in agent.reply(REQUEST):
            said.append(event)  # noqa: PERF401 - a comprehension would lose them when it raises

    with pytest.raises(ProviderError) as caught:
        await asyncio.wait_for(listen(), LIMIT)
    await agent.close()
    message = str(caught.value)
    assert "\n" not in message
    assert "secret" not in message
    return caught.value, "".join(event.text for event in said if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("status", "code", "kind", "retryable"),
    [
        (400, None, ProviderError, False),
        (401, None, ProviderUnavailable, False),
        (403, None, ProviderUnavailable, False),
        (404, None, ProviderUnavailable, False),
        (429, None, ProviderError, True),
        (429, "insufficient_quota", ProviderUnavailable, False),
        (500, None, ProviderError, True),
        (503, None, ProviderError, True),
    ],
)
async def test_a_status_is_classified(
    server: LLMServer, status: int, code: str | None, kind: type[ProviderError], retryable: bool
) -> None:
    server.script(failure(status, f"wrong\nkey: {KEY}", code))
    error, _ = await _fails(_agent(server, retries=0))
    assert type(error) is kind
    assert error.retryable is retryable
    assert str(status) in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [failure(500, "oops"), Answer([], before_head=Cut())])
async def test_a_passing_failure_is_tried_again(server: LLMServer, answer: Answer) -> None:
    server.script(answer, text("there"))
    agent = _agent(server, retries=1)
    async with asyncio.timeout(LIMIT):
        events = [event async for event in agent.reply(REQUEST)]
    assert events == [TextDelta(1, "there")]
    await agent.close()


async def test_a_long_pause_is_not_waited_for(server: LLMServer) -> None:
    server.script(failure(429, "slow down", retry_after="30"), text("too late"))
    error, _ = await _fails(_agent(server, retries=3))
    assert error.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry_after": "30"}, 30, 30),
        ({"retry_after_ms": "2500", "retry_after": "3"}, 2.5, 2.5),
        ({"retry_after": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0, 0),
        ({"retry_after": "Sun, 31 Dec 2499 23:59:59 GMT"}, 1e9, 1e12),
        ({"retry_after": "soon"}, None, None),
        ({}, None, None),
    ],
)
async def test_how_long_the_server_wants_to_be_left_alone(
    server: LLMServer, headers: dict[str, str], least: float | None, most: float | None
) -> None:
    server.script(failure(503, "busy", **headers))
    error, _ = await _fails(_agent(server, retries=0))
    if least is None or most is None:
        assert error.retry_after is None
    else:
        assert error.retry_after is not None
        assert least <= error.retry_after <= most


async def test_a_short_pause_is_waited_for(server: LLMServer) -> None:
    server.script(failure(429, "slow down", retry_after_ms="400"), text("there"))
    agent = _agent(server, retries=1)
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(LIMIT):
        assert [event async for event in agent.reply(REQUEST)] == [TextDelta(1, "there")]
    assert loop.time() - began >= 0.39  # the loop's timer may fire a clock tick early
    await agent.close()


async def test_tries_share_the_time_to_the_first_token(server: LLMServer) -> None:
    server.script(*(failure(500, "oops") for _ in range(5)))
    await _fails(_agent(server, retries=5, first_token_timeout=0.8))
    assert 1 <= len(server.requests) <= 2  # a third one would be later than 0.8 s


async def test_a_cut_after_the_first_token_is_not_tried_again(server: LLMServer) -> None:
    server.script(text("I was", Cut()), text("never"))
    error, said = await _fails(_agent(server, retries=3))
    assert (said, error.retryable, len(server.requests)) == ("I was", True, 1)


@pytest.mark.parametrize(
    "step", ["data: {not json\n\n", 'data: {"error": {"message": "overloaded"}}\n\n']
)
async def test_a_broken_stream_is_an_error(server: LLMServer, step: Step) -> None:
    server.script(Answer([step]))
    error, _ = await _fails(_agent(server, retries=0))
    assert error.retryable


LIMITS = (0.05, 0.5, 5.0)
"""Seconds. A longer one is tried if a slow machine has not even sent the request in the time."""


@pytest.mark.parametrize("before_head", [True, False])
async def test_silence_before_the_first_token(server: LLMServer, before_head: bool) -> None:
    for limit in LIMITS:
        stall = Stall()
        server.script(Answer([], before_head=stall) if before_head else Answer([stall]))
        error, _ = await _fails(_agent(server, first_token_timeout=limit))
        assert isinstance(error, ProviderTimeout)
        assert "first token" in str(error)
        if server.requests:  # the request has reached the server in time
            break
    assert len(server.requests) == 1
    await asyncio.wait_for(server.hung_up.wait(), LIMIT)


async def test_silence_after_the_first_token(server: LLMServer) -> None:
    server.script(text("well", Stall()))
    error, said = await _fails(_agent(server, stall_timeout=0.05))
    assert isinstance(error, ProviderTimeout)
    assert said == "well"
    await asyncio.wait_for(server.hung_up.wait(), LIMIT)


async def test_the_whole_turn_is_limited(server: LLMServer) -> None:
    for limit in LIMITS:
        server.script(text("well", Stall()))
        error, _ = await _fails(_agent(server, turn_timeout=limit))
        assert isinstance(error, ProviderTimeout)
        assert "whole answer" in str(error)
        if server.requests:  # the request has reached the server in time
            break
    await asyncio.wait_for(server.hung_up.wait(), LIMIT)


@pytest.mark.slow
async def test_the_listeners_time_is_not_the_agents(server: LLMServer) -> None:
    loop = asyncio.get_running_loop()

    async def listen(limit: float) -> int:
        server.script(text("One.", " Two."))
        agent = _agent(server, turn_timeout=limit)
        heard = 0
        try:
            async for _ in agent.reply(REQUEST):
                heard += 1
                later: asyncio.Future[None] = loop.create_future()
                loop.call_later(1.2 * limit, later.set_result, None)
                await later
        except ProviderTimeout:
            pass  # the agent itself needed longer, on a machine that is this slow
        await agent.close()
        return heard

    assert await listen(0.5) == 2 or await listen(5.0) == 2


async def test_connection_refused() -> None:
    async with LLMServer() as server:
        url = server.base_url
    error, _ = await _fails(OpenAIAgentProvider(KEY, "m", url, retries=0))
    assert error.retryable
    assert "cannot be reached" in str(error)


def test_without_a_key_openai_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderUnavailable, match="OPENAI_API_KEY"):
        OpenAIAgentProvider()
