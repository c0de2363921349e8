"""An agent that asks back, takes long, or is interrupted."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.a2a_agent import RemoteAgent, Work
from tests.support.waiting import until
from tests.unit.tools.a2a.talk import BOUND, Talk, talking
from tests.unit.tools.a2a.test_answers import ALL
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import ASKS_NOTE, SPOKEN_NOTE
from vixio.tools.a2a import conversation


async def book(work: Work) -> None:
    if work.earlier and work.earlier[-1].startswith("book"):
        await work.artifact(f"Booked for {work.text}.")
        await work.updater.complete()
    else:
        await work.updater.requires_input(work.say("For which day?"))


@pytest.fixture(params=[(spoken, streaming) for spoken in ALL for streaming in (True, False)])
def agent(request: pytest.FixtureRequest) -> RemoteAgent:
    spoken, streaming = request.param
    made = RemoteAgent(spoken, streaming)
    made.on("*", book)
    return made


async def test_the_users_answer_goes_to_the_task_that_waits(agent: RemoteAgent) -> None:
    async with talking(agent) as talk:
        asked = await talk.ask("book a table")
        assert talk.words == "For which day?"
        assert asked.for_model() == f"{SPOKEN_NOTE} {ASKS_NOTE} For which day?"
        done = await talk.ask("Monday")
        assert done.result == "Booked for Monday."
        assert not done.asks
        another = await talk.ask("book another one")
        assert another.asks
    first, second, third = agent.seen
    assert first.task_id == second.task_id != third.task_id
    assert first.context_id == second.context_id == third.context_id


async def test_a_question_can_be_left_to_the_model(agent: RemoteAgent) -> None:
    async with talking(agent, stream="result") as talk:
        asked = await talk.ask("book a table")
        assert asked.for_model() == f"{ASKS_NOTE} For which day?"
        assert talk.heard == []


async def test_a_question_is_for_one_session_only(agent: RemoteAgent) -> None:
    async with talking(agent) as talk:
        await talk.ask("book a table")
        other = Talk(talk.session.runtime.open("cc:dd", "2"), talk.source)
        await other.ask("Monday")
        assert agent.seen[1].task_id != agent.seen[0].task_id
        await other.session.close()


async def test_a_task_that_waits_is_cancelled_with_the_session(agent: RemoteAgent) -> None:
    async with talking(agent) as talk:
        await talk.ask("book a table")
        await talk.session.close()
        await until(lambda: agent.cancelled, what="the cancellation")
        assert agent.cancelled == [agent.seen[0].task_id]


async def test_a_task_that_waits_is_cancelled_with_the_server() -> None:
    agent = RemoteAgent()
    agent.on("*", book)
    async with talking(agent) as talk:
        await talk.ask("book a table")
        await talk.session.close()
        await talk.source.close()
        assert agent.cancelled == [agent.seen[0].task_id]


async def test_a_late_answer_to_a_question_is_a_new_matter(
    agent: RemoteAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "WAIT_S", -1.0)
    async with talking(agent) as talk:
        await talk.ask("book a table")
        await talk.ask("Monday")
        await until(lambda: agent.cancelled, what="the cancellation")
        assert agent.cancelled == [agent.seen[0].task_id]
        assert agent.seen[1].task_id != agent.seen[0].task_id


async def test_an_agent_that_forgot_the_task_gets_a_new_one(agent: RemoteAgent) -> None:
    async with talking(agent) as talk:
        await talk.ask("book a table")
        waiting = agent.seen[0]
        context = ToolContext(session=talk.session)
        instance = await context.instance(talk.source._converse)
        assert isinstance(instance, conversation.Conversation)
        assert instance._waiting is not None
        endpoint = instance._waiting.endpoint
        instance._waiting = conversation.Waiting(endpoint, "no-such-task", instance._waiting.at)
        assert (await talk.ask("book for Monday")).success
        assert agent.seen[1].task_id not in {waiting.task_id, "no-such-task"}


# ── long tasks ───────────────────────────────────────────────────────────────────────────────


class Long:
    """Says something, and the rest when the test lets it."""

    def __init__(self, *first: str) -> None:
        self.first = first
        self.go = asyncio.Event()

    async def __call__(self, work: Work) -> None:
        await work.updater.start_work()
        if self.first:
            await work.artifact(*self.first)
        await asyncio.wait_for(self.go.wait(), BOUND)
        if work.text.startswith("question"):
            await work.updater.requires_input(work.say("For which day?"))
            return
        if work.text.startswith("failing"):
            await work.updater.failed(work.say("No rain gauge."))
            return
        await work.artifact("It will rain.", append=bool(self.first))
        await work.updater.complete()


async def next_late(talk: Talk) -> str:
    async with asyncio.timeout(BOUND):
        return await talk.late.get()


async def test_a_long_task_is_delivered_later(agent: RemoteAgent) -> None:
    long = Long()
    agent.on("*", long)
    async with talking(agent, later=0.05) as talk:
        acknowledged = await talk.ask("weather?")
        assert acknowledged.result == "I am working on it and will tell you when it is done."
        long.go.set()
        assert await next_late(talk) == "It will rain."
        assert talk.heard == []


async def test_what_was_spoken_before_is_not_delivered_again() -> None:
    long = Long("Let me ", "see. ")
    agent = RemoteAgent()
    agent.on("*", long)
    async with talking(agent, later=0.5) as talk:
        asking = asyncio.create_task(talk.ask("weather?"))
        await asking
        assert talk.words in {"Let me see.", ""}  # a slow machine may defer before the first word
        long.go.set()
        said = f"{talk.words} {await next_late(talk)}".split()
        assert said == ["Let", "me", "see.", "It", "will", "rain."]


async def test_a_late_question_is_answered_like_another(agent: RemoteAgent) -> None:
    long = Long()
    agent.on("question", long)
    agent.on("*", book)
    async with talking(agent, later=0.05) as talk:
        await talk.ask("question please")
        long.go.set()
        assert await next_late(talk) == "For which day?"
        assert ASKS_NOTE in str(talk.late_items[-1])
        await until(lambda: not talk.session.late._working, what="the end of the delivery")
        await talk.ask("Monday")  # on a slow machine this is deferred before the agent is reached
        await until(lambda: len(agent.seen) > 1, what="the answer at the agent")
        assert agent.seen[1].task_id == agent.seen[0].task_id


async def test_a_late_failure_is_spoken_as_one(agent: RemoteAgent) -> None:
    long = Long()
    agent.on("*", long)
    async with talking(agent, later=0.05) as talk:
        await talk.ask("failing")
        long.go.set()
        assert await next_late(talk) == "Sorry, what you asked for earlier did not work."
        assert "No rain gauge." in str(talk.late_items[-1])


async def test_a_late_task_is_cancelled_with_the_session() -> None:
    agent = RemoteAgent()
    agent.on("*", Long())
    async with talking(agent, later=0.05) as talk:
        await talk.ask("weather?")
        await talk.session.close()
        await until(lambda: agent.cancelled, what="the cancellation")
    assert talk.late.empty()


async def test_without_later_a_long_task_times_out_and_is_cancelled() -> None:
    agent = RemoteAgent()
    agent.on("*", Long("Well, "))
    async with talking(agent, timeout=0.5) as talk:
        result = await talk.ask("weather?")
        assert result.error_type == "timeout"
        await until(lambda: agent.cancelled, what="the cancellation")


# ── interruptions ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spoken", ALL)
async def test_an_interruption_cancels_the_task_at_the_agent(spoken: str) -> None:
    agent = RemoteAgent(spoken)  # type: ignore[arg-type]  # one of ALL
    agent.on("*", Long("Let me see. "))
    async with talking(agent) as talk:
        asking = asyncio.create_task(talk.ask("weather?"))
        async with asyncio.timeout(BOUND):
            await talk.heard_more.wait()
        asking.cancel()
        await asyncio.wait((asking,))
        assert asking.cancelled()
        await until(lambda: agent.cancelled, what="the cancellation")
        assert agent.cancelled == [agent.seen[0].task_id]
        await until(lambda: not talk.source._exchanges, what="the end of its work")


async def test_an_interruption_before_the_first_answer_cancels_it_too() -> None:
    agent = RemoteAgent()
    agent.on("*", Long())
    async with talking(agent) as talk:
        asking = asyncio.create_task(talk.ask("weather?"))
        await until(lambda: "/rpc" in [path for path, _ in agent.requests], what="the message")
        asking.cancel()
        await asyncio.wait((asking,))
        await until(lambda: agent.cancelled, what="the cancellation")


async def test_an_interruption_while_it_continues_cancels_the_task_that_waited() -> None:
    agent = RemoteAgent()
    agent.on("book", book)
    agent.on("*", Long("Let me see. "))
    async with talking(agent) as talk:
        await talk.ask("book a table")
        talk.heard_more.clear()
        asking = asyncio.create_task(talk.ask("Monday"))
        async with asyncio.timeout(BOUND):
            await talk.heard_more.wait()
        asking.cancel()
        await until(lambda: agent.cancelled, what="the cancellation")
        assert agent.cancelled == [agent.seen[0].task_id]


async def test_a_call_that_is_given_up_while_it_waits_for_the_first_is_not_sent() -> None:
    agent = RemoteAgent(streaming=False)  # the context is known when the first one is done
    long = Long()
    agent.on("*", long)
    async with talking(agent) as talk:
        first = asyncio.create_task(talk.ask("one"))
        await until(lambda: agent.seen, what="the first message", seconds=BOUND)
        second = asyncio.create_task(talk.ask("two"))
        await until(lambda: len(talk.source._exchanges) == 2, what="the second", seconds=BOUND)
        second.cancel()
        await asyncio.wait((second,))
        long.go.set()
        assert (await first).result == "It will rain."
        await until(lambda: not talk.source._exchanges, what="the end", seconds=BOUND)
    assert [work.text for work in agent.seen] == ["one"]
