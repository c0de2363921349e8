"""The real LiteLLM against the stand-in server; needs the extra (`make test-litellm`)."""

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from tests.support.llm_server import (
    Answer,
    Call,
    Cut,
    LLMServer,
    Stall,
    calls,
    chunk,
    failure,
    refusal,
    text,
)
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.metrics import ModelUse
from vixio.providers.agent import AgentBackend, AgentEvent, AgentProvider, AgentRequest
from vixio.providers.openai_agent.backend import LiteLLMAgentBackend
from vixio.providers.openai_agent.fallback_backend import (
    FallbackAgentBackend,
    FallbackAgentSettings,
)
from vixio.providers.openai_agent.settings import LiteLLMAgentSettings

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs the extra litellm"),
    pytest.mark.filterwarnings("ignore"),  # the warnings of LiteLLM itself
]

LIMIT = 90.0
WORDS = "Grüß Gott, 你好 🙂."


def _backend(
    server: LLMServer,
    **options: Any,  # noqa: ANN401 - the fields of the settings
) -> LiteLLMAgentBackend:
    fields = {"model": "openai/stand-in", "base_url": server.base_url, "api_key": "sk-secret"}
    return LiteLLMAgentBackend(LiteLLMAgentSettings.model_validate(fields | options))


async def _turn(agent: AgentProvider, uses: list[ModelUse] | None = None) -> list[AgentEvent]:
    request = AgentRequest(1, "?", note_model=uses.append if uses is not None else None)
    async with asyncio.timeout(LIMIT):
        return [event async for event in agent.reply(request)]


def _said(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def _multiply(a: int, b: int) -> int:
    """Multiply."""
    return a * b


async def test_deltas_split_anywhere(server: LLMServer) -> None:
    backend = _backend(server)
    for cut in range(1, len(WORDS)):
        server.script(text(WORDS[:cut], WORDS[cut:]))
        uses: list[ModelUse] = []
        assert _said(await _turn(backend.create(), uses)) == WORDS
        assert uses == [ModelUse("litellm/openai/stand-in", 3, 5)]
    assert set(server.keys) == {"bearer sk-secret"}
    await backend.close()


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 16])
async def test_calls_in_pieces_and_several_at_once(server: LLMServer, piece: int) -> None:
    backend = _backend(server)
    agent = backend.create()
    await agent.initialize([_multiply])
    made = [
        Call("c1", "_multiply", '{"a": 6, "b": 7}'),
        Call("c2", "_multiply", '{"a": 2, "b": 2}'),
    ]
    server.script(calls(*made, saying="Let me see. ", piece=piece), text("It is 42."))
    events = await _turn(agent)
    assert _said(events) == "Let me see. It is 42."
    assert [event.call_id for event in events if isinstance(event, ToolCalled)] == ["c1", "c2"]
    assert [event.output for event in events if isinstance(event, ToolReturned)] == ["42", "4"]
    await backend.close()


async def test_reasoning_is_not_spoken_and_a_refusal_is(server: LLMServer) -> None:
    backend = _backend(server)
    thinking = text("Because.")
    thinking.steps.insert(1, chunk({"reasoning_content": "hm"}))
    server.script(thinking, text("<think>hm</think>Yes."), refusal("I won't."))
    assert _said(await _turn(backend.create())) == "Because."
    assert _said(await _turn(backend.create())) == "Yes."
    assert _said(await _turn(backend.create())) in {"I won't.", ""}  # LiteLLM 1.83 drops it
    await backend.close()


async def _fails(backend: AgentBackend) -> tuple[ProviderError, str]:
    said: list[AgentEvent] = []

    async def listen() -> None:
        async for event in backend.create().reply(AgentRequest(1, "?")):
            said.append(event)  # noqa: PERF401 - a comprehension would lose them when it raises

    with pytest.raises(ProviderError) as caught:
        await asyncio.wait_for(listen(), LIMIT)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    await backend.close()
    return caught.value, _said(said)


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (failure(401, "no key sk-secret"), ProviderUnavailable, "no_key"),
        (failure(404, "no model"), ProviderUnavailable, "no_model"),
        (failure(429, "wait", retry_after="30"), ProviderError, "busy"),
        (failure(429, "pay", "insufficient_quota"), ProviderUnavailable, "quota"),
        (failure(500, "oops"), ProviderError, "service"),
        (failure(503, "oops"), ProviderError, "service"),
        (failure(400, "what?"), ProviderError, "request"),
        (Answer(["data: {not json\n\n"]), ProviderError, "service"),
    ],
)
async def test_a_failure_is_classified(
    server: LLMServer, answer: Answer, kind: type[ProviderError], reason: str
) -> None:
    server.script(answer)
    error, said = await _fails(_backend(server, retries=0))
    assert (type(error), error.reason, said) == (kind, reason, "")
    assert len(server.requests) == 1  # its own retries are off


async def test_a_connection_that_is_cut(server: LLMServer) -> None:
    server.script(Answer([], before_head=Cut()), text("there"))
    backend = _backend(server, retries=1)
    assert _said(await _turn(backend.create())) == "there"
    # LiteLLM 1.83 treats the cut as the end. In any case nothing is said twice.
    server.script(text("I was", Cut()), text("never"))
    assert _said(await _turn(backend.create())) == "I was"
    assert len(server.requests) == 3
    await backend.close()


async def test_the_pause_that_the_server_asks_for_is_known(server: LLMServer) -> None:
    server.script(failure(429, "wait", retry_after="30"))
    error, _ = await _fails(_backend(server, retries=0))
    assert error.retry_after == 30


@pytest.mark.parametrize("said", ["", "well"])
async def test_a_stall(server: LLMServer, said: str) -> None:
    server.script(text(said, Stall()) if said else Answer([], before_head=Stall()))
    limits = {"stall_timeout": 0.2} if said else {"first_token_timeout": 1.0}
    error, heard = await _fails(_backend(server, **limits))
    assert isinstance(error, ProviderTimeout)
    assert heard == said


async def test_it_stands_in_a_fallback_list(server: LLMServer) -> None:
    entry = {"base_url": server.base_url, "api_key": "k"}
    settings = FallbackAgentSettings.model_validate(
        {
            "models": [
                {"name": "litellm", "model": "openai/a", **entry},
                {"name": "openai", "model": "b", **entry},
            ]
        }
    )
    backend = FallbackAgentBackend(settings)
    agent = backend.create()
    await agent.initialize([_multiply])
    server.script(
        calls(Call("c1", "_multiply", '{"a": 6, "b": 7}')), failure(500, "oops"), text("42.")
    )
    uses: list[ModelUse] = []
    assert _said(await _turn(agent, uses)) == "42."
    assert [use.model for use in uses] == ["litellm/openai/a", "openai/b"]
    await backend.close()
