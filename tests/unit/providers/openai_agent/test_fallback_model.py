"""A list of models: the next one answers if one fails, and nothing is said or done twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support import llm_server, responses_api
from tests.support.llm_server import Answer, Call, Cut, LLMServer, Stall, failure, text
from tests.support.responses_api import Stream
from tests.support.waiting import until
from vixio.core.chunk import TextDelta, ToolReturned
from vixio.core.errors import ProviderError
from vixio.core.metrics import ModelUse
from vixio.providers.agent import AgentEvent, AgentProvider, AgentRequest
from vixio.providers.openai_agent.fallback_backend import (
    FallbackAgentBackend,
    FallbackAgentSettings,
)

LIMIT = 90.0


@asynccontextmanager
async def _fallback(
    *models: dict[str, Any],
    **options: Any,  # noqa: ANN401 - the fields of the settings
) -> AsyncIterator[FallbackAgentBackend]:
    settings = FallbackAgentSettings.model_validate({"models": models, **options})
    backend = FallbackAgentBackend(settings)
    await backend.start()
    try:
        yield backend
    finally:
        await backend.close()


def _model(server: LLMServer, name: str = "m", **options: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"name": "openai", "model": name, "base_url": server.base_url, **options}


@pytest.fixture
async def second() -> AsyncIterator[LLMServer]:
    async with LLMServer() as running:
        yield running


async def _turn(
    agent: AgentProvider, uses: list[ModelUse] | None = None, said: str = "hello"
) -> list[AgentEvent]:
    request = AgentRequest(1, said, note_model=uses.append if uses is not None else None)
    async with asyncio.timeout(LIMIT):
        return [event async for event in agent.reply(request)]


def _said(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def _due(backend: FallbackAgentBackend) -> None:
    """Wait until the first model's pause is over."""
    await until(lambda: backend.stats()[0]["state"] == "half_open", what="the end of the pause")


BROKEN = {
    "401": failure(401, "no"),
    "429": failure(429, "wait", retry_after="1"),
    "500": failure(500, "oops"),
    "cut": Answer([], before_head=Cut()),
    "malformed": Answer(["data: {not json\n\n"]),
    "empty role, then cut": Answer([text().steps[0], Cut()]),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_the_next_takes_the_turn(
    server: LLMServer, second: LLMServer, answer: Answer
) -> None:
    async with _fallback(_model(server, "a"), _model(second, "b")) as backend:
        uses: list[ModelUse] = []
        server.script(answer)
        second.script(text("I am ", "b."))
        assert _said(await _turn(backend.create(), uses)) == "I am b."
        assert [(use.model, use.passed_over) for use in uses] == [("openai/b", ("openai/a",))]
        assert len(server.requests) == 1


@pytest.mark.slow
async def test_a_stall_costs_only_its_share(server: LLMServer, second: LLMServer) -> None:
    async with _fallback(_model(server), _model(second), first_token_timeout=4.8) as backend:
        server.script(Answer([], before_head=Stall()))
        second.script(text("Here."))
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert _said(await _turn(backend.create())) == "Here."
        assert loop.time() - began > 2.35
        await asyncio.wait_for(server.hung_up.wait(), LIMIT)


async def test_the_one_that_failed_is_left_alone_by_all_sessions(
    server: LLMServer, second: LLMServer
) -> None:
    async with _fallback(_model(server, "a"), _model(second, "b"), pause=100) as backend:
        server.script(failure(500, "oops"))
        second.script(*(text("b") for _ in range(3)))
        for _ in range(3):
            assert _said(await _turn(backend.create())) == "b"
        assert len(server.requests) == 1
        first, other = backend.stats()
        assert (first["state"], first["failures"], first["reason"]) == ("open", 1, "service")
        assert first["model"] == "openai/a"
        assert 79 < first["retry_in_s"] <= 120
        assert other == {"model": "openai/b", "state": "ready"}


async def test_it_is_tried_again_by_one_call_and_comes_back(
    server: LLMServer, second: LLMServer
) -> None:
    async with _fallback(_model(server, "a"), _model(second, "b"), pause=0.001) as backend:
        server.script(failure(500, "oops"))
        second.script(text("b"), text("b"))
        assert _said(await _turn(backend.create())) == "b"
        await _due(backend)
        stall = Stall()
        server.script(Answer([stall, *text("a").steps]), text("a"))
        trial = asyncio.ensure_future(_turn(backend.create()))
        await asyncio.wait_for(stall.reached.wait(), LIMIT)
        assert backend.stats()[0]["state"] == "half_open"
        assert _said(await _turn(backend.create())) == "b"  # other turns still pass it over
        stall.go.set()
        assert _said(await trial) == "a"
        assert backend.stats()[0] == {"model": "openai/a", "state": "ready"}
        assert _said(await _turn(backend.create())) == "a"


async def test_a_trial_that_the_user_interrupts_decides_nothing(
    server: LLMServer, second: LLMServer
) -> None:
    async with _fallback(_model(server), _model(second), pause=0.001) as backend:
        server.script(failure(500, "oops"))
        second.script(text("b"))
        await _turn(backend.create())
        await _due(backend)
        stall = Stall()
        server.script(Answer([], before_head=stall), text("a"))
        trial = asyncio.ensure_future(_turn(backend.create()))
        await asyncio.wait_for(stall.reached.wait(), LIMIT)
        trial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trial
        assert backend.stats()[0]["state"] == "half_open"
        assert _said(await _turn(backend.create())) == "a"


async def test_nothing_is_said_twice(server: LLMServer, second: LLMServer) -> None:
    async with _fallback(_model(server), _model(second)) as backend:
        server.script(text("I was ", Cut()))
        second.script(text("never"))
        heard: list[AgentEvent] = []

        async def listen() -> None:
            async for event in backend.create().reply(AgentRequest(1, "?")):
                heard.append(event)  # noqa: PERF401 - a comprehension would lose them

        with pytest.raises(ProviderError):
            await asyncio.wait_for(listen(), LIMIT)
        assert _said(heard) == "I was "
        assert second.requests == []
        assert backend.stats()[0]["state"] == "open"


@pytest.mark.parametrize("order", [("chat", "responses"), ("responses", "chat")])
async def test_the_next_goes_on_behind_a_tool_call(
    server: LLMServer, second: LLMServer, order: tuple[str, str]
) -> None:
    runs = 0

    async def count() -> str:
        nonlocal runs
        runs += 1
        return f"run {runs}"

    apis: dict[str, Any] = {"chat": llm_server, "responses": responses_api}
    options = {"chat": {}, "responses": {"api": "responses", "reasoning_effort": "low"}}
    models = [_model(server, "a", **options[order[0]]), _model(second, "b", **options[order[1]])]
    async with _fallback(*models) as backend:
        agent = backend.create()
        await agent.initialize([count])
        made = Call("call_0", "count", "{}")
        first = apis[order[0]].calls(made)
        if order[0] == "responses":
            thinking = Stream()
            thinking.reasoning("private", sealed="gAAA")
            thinking.calls(made)
            first = thinking.complete()
        server.script(first, failure(500, "oops"))
        second.script(apis[order[1]].calls(Call("x", "count", "{}")), apis[order[1]].text("Two."))
        uses: list[ModelUse] = []
        events = await _turn(agent, uses)
        assert _said(events) == "Two."
        assert [e.output for e in events if isinstance(e, ToolReturned)] == ["run 1", "run 2"]
        served = [use.model for use in uses]
        assert served == ["openai/a", "openai/b", "openai/b"]
        sent = str(second.requests[0])
        assert "run 1" in sent
        assert "private" not in sent
        assert "gAAA" not in sent
        assert "fc_0" not in sent


async def test_a_request_that_is_refused_says_nothing_of_the_models_health(
    server: LLMServer, second: LLMServer
) -> None:
    async with _fallback(_model(server, "a"), _model(second, "b")) as backend:
        server.script(failure(400, "too long"), text("a"))
        second.script(text("b"))
        assert _said(await _turn(backend.create())) == "b"
        assert _said(await _turn(backend.create())) == "a"


async def test_when_all_fail_the_first_one_says_why(server: LLMServer, second: LLMServer) -> None:
    async with _fallback(_model(server), _model(second), pause=100) as backend:
        server.script(failure(401, "no"))
        second.script(failure(400, "no"))
        with pytest.raises(ProviderError) as caught:
            await _turn(backend.create())
        assert caught.value.reason == "no_key"
        second.script(failure(400, "no"))
        with pytest.raises(ProviderError, match="400"):
            await _turn(backend.create())  # opens the first one's circuit
        second.script(failure(401, "no"))
        with pytest.raises(ProviderError, match="401"):
            await _turn(backend.create())
        assert len(server.requests) == 1
        server.script(text("a"))  # all circuits are open: all are asked
        assert _said(await _turn(backend.create())) == "a"


async def test_fifty_failures_at_once_are_one(server: LLMServer) -> None:
    async with _fallback(_model(server), {"name": "phrasebook"}, pause=100) as backend:
        go = [Stall() for _ in range(50)]
        server.script(*(Answer([], 500, before_head=each) for each in go))
        turns = [asyncio.ensure_future(_turn(backend.create())) for _ in go]
        async with asyncio.timeout(LIMIT):
            for each in go:
                await each.reached.wait()
        for each in go:
            each.go.set()
        for events in await asyncio.gather(*turns):
            assert _said(events)
        assert backend.stats()[0]["failures"] == 1


async def test_the_phrase_book_is_the_last_resort(server: LLMServer) -> None:
    async with _fallback(_model(server), {"name": "phrasebook"}) as backend:
        uses: list[ModelUse] = []
        server.script(failure(503, "down"))
        assert _said(await _turn(backend.create(), uses, "hello"))
        assert [use.model for use in uses] == ["phrasebook"]


def test_settings_are_checked() -> None:
    def refused(words: str, **fields: object) -> None:
        with pytest.raises(ValidationError, match=words):
            FallbackAgentSettings.model_validate(fields)

    refused("at least one", models=[])
    refused("name is missing", models=[{}])
    refused("did you mean 'openai'", models=[{"name": "opnai"}])
    for name in ("fallback", "chain"):
        refused("cannot contain another one", models=[{"name": name, "models": []}])
    refused("modle", models=[{"name": "openai", "modle": "x"}])
    refused("applies to all", models=[{"name": "phrasebook", "turn_timeout": 3}])
    slow = {"name": "phrasebook", "first_token_timeout": 9}
    refused("for all models together, and theirs need 18 s", models=[slow, slow])
    refused("longest_pause", models=[{"name": "phrasebook"}], pause=9, longest_pause=8)
