"""Summaries by the session's model, through the real client and the real protocol."""

from __future__ import annotations

import json

from tests.support.llm_server import LLMServer, failure, text
from tests.support.waiting import until
from tests.unit.data.memory.doubles import FlakyDatabase, Server, talk
from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    Summary,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.data.memory.summary import HEAD, MAX_RESULT_CHARS, model_summary, transcript
from vixio.providers.openai_agent.backend import OpenAIAgentBackend
from vixio.providers.openai_agent.history_items import SUMMARY_HEAD, to_input_items
from vixio.providers.openai_agent.settings import OpenAIAgentSettings
from vixio.testing import ScriptedAgentBackend

A = "02:00:00:00:00:0a"

SAID: list[HistoryItem] = [
    UserMessage("turn it on"),
    ToolCallItem("c", "lamp", '{"level": 3}'),
    ToolResultItem("c", "z" * 10_000),
    AssistantMessage("It is on."),
]


def test_what_the_model_is_given() -> None:
    given = transcript("Ada likes tea.", SAID)
    assert given.splitlines() == [
        "NOTES SO FAR: Ada likes tea.",
        "CONVERSATION:",
        "User: turn it on",
        '(the assistant calls lamp {"level": 3})',
        f"(it answers: {'z' * MAX_RESULT_CHARS})",
        "Assistant: It is on.",
    ]
    assert transcript("", []) == "CONVERSATION:"


def test_a_summary_is_no_message_of_the_systems() -> None:
    (first, _) = to_input_items([Summary("Ada likes tea.")], "hello")
    assert first == {"role": "user", "content": f"{SUMMARY_HEAD} Ada likes tea."}


async def test_the_model_sums_up_beside_the_conversation() -> None:
    async with LLMServer() as llm:
        llm.script(text("Here you are. ", HEAD, " Ada likes tea. "))
        backend = OpenAIAgentBackend(
            OpenAIAgentSettings.model_validate({"base_url": llm.base_url, "model": "m"})
        )
        store = FlakyDatabase()
        server = Server(store, max_turns=4, summarise=model_summary(lambda: backend))
        history = await server.connect(A)
        for number in range(4):
            talk(history, f"question {number}")
        await until(
            lambda: server.count("summed_up") == 1 and not server.memory._writing, seconds=60
        )
        assert history.items()[0] == Summary("Ada likes tea.")
        assert (await store.look(lambda memory: memory.load(A))).summary == "Ada likes tea."
        (asked,) = llm.requests
        assert asked.get("tools") in (None, [])
        assert "question 1" in json.dumps(asked["messages"])
        await server.stop()
        await backend.close()


async def test_a_model_that_fails_costs_only_the_summary() -> None:
    async with LLMServer() as llm:
        llm.script(*(failure(401, "no") for _ in range(5)))
        backend = OpenAIAgentBackend(
            OpenAIAgentSettings.model_validate({"base_url": llm.base_url, "model": "m"})
        )
        server = Server(FlakyDatabase(), max_turns=4, summarise=model_summary(lambda: backend))
        history = await server.connect(A)
        for number in range(4):
            talk(history, f"question {number}")
        await until(lambda: server.count("summary_failed") == 1, seconds=60)
        assert not history.summary
        assert len(history) == 4
        await server.stop()
        await backend.close()


async def test_what_is_no_summary_does_not_become_one() -> None:
    backend = ScriptedAgentBackend(lambda text: ("I did not understand.",))
    assert await model_summary(lambda: backend)("before", SAID) == ""
    (agent,) = backend.agents
    assert agent.closed
