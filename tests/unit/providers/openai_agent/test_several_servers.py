"""One model on several servers: they share the work, and each can be missed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.llm_server import Answer, Call, Cut, LLMServer, Stall, calls, failure, text
from tests.support.waiting import until
from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError
from vixio.core.metrics import ModelUse
from vixio.providers.agent import AgentBackend, AgentProvider, AgentRequest
from vixio.settings.provider import AgentSection

LIMIT = 90.0


@pytest.fixture
async def second() -> AsyncIterator[LLMServer]:
    async with LLMServer() as running:
        yield running


@asynccontextmanager
async def _backend(section: dict[str, Any]) -> AsyncIterator[AgentBackend]:
    backend = AgentSection.model_validate(section).create()
    await backend.start()
    try:
        yield backend
    finally:
        await backend.close()


def _model(*servers: LLMServer, **options: object) -> dict[str, Any]:
    return {"name": "openai", "model": "m", "base_url": [s.base_url for s in servers], **options}


async def _said(agent: AgentProvider, uses: list[ModelUse] | None = None) -> str:
    request = AgentRequest(1, "hello", note_model=uses.append if uses is not None else None)
    async with asyncio.timeout(LIMIT):
        events = [event async for event in agent.reply(request)]
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_turns_go_where_there_is_least_to_do(server: LLMServer, second: LLMServer) -> None:
    async with _backend(_model(server, second)) as backend:
        server.script(Answer([], before_head=Stall()), *(text("one") for _ in range(3)))
        second.script(*(text("two") for _ in range(3)))
        held = asyncio.create_task(_said(backend.create()))
        await until(lambda: len(server.requests) == 1)
        # The first one is at work, so the second has less to do each time.
        assert [await _said(backend.create()) for _ in range(3)] == ["two"] * 3
        assert [(each["state"], each["pending"]) for each in backend.stats()] == [
            ("ready", 1),
            ("ready", 0),
        ]
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
        await until(lambda: backend.stats()[0]["pending"] == 0)
        assert await _said(backend.create()) == "one"


BROKEN = {
    "503": failure(503, "too much"),
    "401": failure(401, "no"),
    "cut": Answer([], before_head=Cut()),
    "malformed": Answer(["data: {not json\n\n"]),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_the_other_takes_the_turn_at_once(
    server: LLMServer, second: LLMServer, answer: Answer
) -> None:
    async with _backend(_model(server, second)) as backend:
        uses: list[ModelUse] = []
        server.script(answer)
        second.script(text("two"), text("two again"))
        assert await _said(backend.create(), uses) == "two"
        assert await _said(backend.create(), uses) == "two again"
        assert len(server.requests) == 1  # it is not asked twice, and then it is left alone
        assert [(use.model, use.passed_over) for use in uses] == [("openai/m", ())] * 2
        assert [each["state"] for each in backend.stats()] == ["open", "ready"]


@pytest.mark.slow
async def test_one_that_hangs_costs_half_of_the_time(server: LLMServer, second: LLMServer) -> None:
    section = _model(server, second, first_token_timeout=3.0)
    async with _backend(section) as backend:
        server.script(Answer([], before_head=Stall()))
        second.script(text("two"))
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await _said(backend.create()) == "two"
        assert loop.time() - began > 1.45


async def test_a_turn_stays_where_it_began_and_goes_on_elsewhere_if_that_fails(
    server: LLMServer, second: LLMServer
) -> None:
    called: list[str] = []

    async def look(where: str) -> str:
        """Look somewhere."""
        called.append(where)
        return "nothing"

    async with _backend(_model(server, second)) as backend:
        agent = backend.create()
        await agent.initialize([look])
        server.script(calls(Call("c1", "look", '{"where": "up"}')), failure(500, "oops"))
        second.script(calls(Call("c2", "look", '{"where": "down"}')), text("Nothing."))
        assert await _said(agent) == "Nothing."
        assert called == ["up", "down"]
        assert [len(each.requests) for each in (server, second)] == [2, 2]
        results = [m for m in second.requests[-1]["messages"] if m["role"] == "tool"]
        assert len(results) == 2


async def test_none_answers(server: LLMServer, second: LLMServer) -> None:
    async with _backend(_model(server, second)) as backend:
        server.script(failure(503, "one"))
        second.script(failure(503, "two"))
        with pytest.raises(ProviderError, match="503: one"):
            await _said(backend.create())


async def test_in_a_list_the_next_model_comes_behind_all_servers(
    server: LLMServer, second: LLMServer
) -> None:
    models = [_model(server, second), {"name": "phrasebook"}]
    async with _backend({"name": "fallback", "models": models, "pause": 100}) as backend:
        second.script(text("two"))
        server.script(failure(500, "oops"))
        uses: list[ModelUse] = []
        assert await _said(backend.create(), uses) == "two"
        assert list(uses[-1].passed_over) == []
        second.script(failure(500, "oops"))
        assert await _said(backend.create(), uses)
        assert (uses[-1].model, list(uses[-1].passed_over)) == ("phrasebook", ["openai/m"])
        states = [(each.get("server"), each["state"]) for each in backend.stats()]
        hosts = [each.base_url.split("/")[2] for each in (server, second)]
        assert states == [(hosts[0], "open"), (hosts[1], "open"), (None, "ready")]
