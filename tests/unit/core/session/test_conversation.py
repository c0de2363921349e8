"""A typed conversation: the rules of a device's session, without a device."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from tests.session.conversation import on_virtual_time
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed, ProviderError, ProviderTimeout, ToolError
from vixio.core.history import (
    INTERRUPTED,
    AssistantMessage,
    History,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.core.metrics import ModelUse, TurnTimeline
from vixio.core.session.conversation import Conversation, ConversationSettings
from vixio.core.session.emitter import Emitter
from vixio.core.session.events import (
    Event,
    EventBus,
    Failure,
    SpeechInterrupted,
    SpeechPlayed,
    TurnEnded,
)
from vixio.core.session.reply_record import ToolRecord
from vixio.core.session.written_reply import ToolRun, WrittenReply
from vixio.core.timeouts import Timeouts
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.testing import ScriptedAgent
from vixio.testing.providers import Step, ToolUse
from vixio.tools import ToolContext
from vixio.tools.builtin import builtin_source

USAGE = ModelUse("m", 3, 5)


class Kitchen:
    """A typed conversation with a few tools."""

    def __init__(self, script: Callable[[str], Sequence[Step]]) -> None:
        self.ordered = 0
        self.released = 0
        tools = [
            func_to_tool_definition(self.order, options=ToolOptions(confirm=True)),
            func_to_tool_definition(self.cook),
            func_to_tool_definition(self.find),
        ]
        runtime = ToolRuntime([FixedSource("own", tools), builtin_source()])
        self.agent = ScriptedAgent(script)
        self.history = History()
        self.events = EventBus()
        self.seen: list[Event] = []
        self.events.attach(self.seen.append)
        self.conversation = Conversation(
            "kitchen",
            self.agent,
            self.history,
            runtime.open("kitchen", "s1"),
            session_id="s1",
            events=self.events,
            settings=ConversationSettings(timeouts=Timeouts(turn=30.0)),
            release=self._release,
        )

    async def order(self, context: ToolContext) -> str:
        """Order groceries."""
        self.ordered += 1
        context.show("ordered")
        return "ordered"

    async def cook(self, seconds: float) -> str:
        """Cook for a while."""
        await asyncio.sleep(seconds)
        return "cooked"

    async def find(self, what: str) -> str:
        """Find something."""
        if what in {"not_found", "failed", "denied", "timeout"}:
            raise ToolError(what, "no")
        return "in the fridge"

    @property
    def outcomes(self) -> list[str]:
        return [event.timeline.outcome for event in self.seen if isinstance(event, TurnEnded)]

    @property
    def read(self) -> list[tuple[str, str]]:
        """What the user has read of the answers, and why they were cut."""
        return [
            (event.text, "") if isinstance(event, SpeechPlayed) else (event.heard, event.cause)
            for event in self.seen
            if isinstance(event, SpeechPlayed | SpeechInterrupted)
        ]

    async def _release(self) -> None:
        self.released += 1


def replies(answers: dict[str, Sequence[Step]]) -> Callable[[str], Sequence[Step]]:
    return lambda text: answers[text]


@on_virtual_time
async def test_a_question_is_answered_and_remembered() -> None:
    kitchen = Kitchen(replies({"hi": (USAGE, "Hello ", "there."), "and": ("Yes?",)}))
    async with kitchen.conversation as conversation:
        reply = await conversation.ask("hi")
        assert reply == WrittenReply("Hello there.", models=(USAGE,))
        assert (reply.outcome, reply.input_tokens, reply.output_tokens) == ("answered", 3, 5)
        assert (await conversation.ask("and")).text == "Yes?"
    assert kitchen.agent.requests[1].history == [
        UserMessage("hi"),
        AssistantMessage("Hello there."),
    ]
    assert kitchen.outcomes == ["answered", "answered"]
    assert kitchen.released == 1


@on_virtual_time
async def test_tools_run_and_their_calls_are_part_of_the_answer() -> None:
    kitchen = Kitchen(replies({"cook": (ToolUse("cook", {"seconds": 2}), "Done.")}))
    async with kitchen.conversation as conversation:
        reply = await conversation.ask("cook")
    assert reply.text == "Done."
    assert reply.tools == (ToolRun("cook", '{"seconds": 2}', "cooked", True, 2.0, "own"),)
    names = [type(event).__name__ for event in kitchen.seen]
    assert names == ["TurnStarted", "ToolStarted", "ToolEnded", "SpeechPlayed", "TurnEnded"]


@on_virtual_time
async def test_a_tool_that_needs_consent_asks_for_it_first() -> None:
    kitchen = Kitchen(
        lambda text: (ToolUse("order", {}), "Shall I?" if text == "order" else "Ordered.")
    )
    async with kitchen.conversation as conversation:
        first = await conversation.ask("order")
        assert not first.tools[0].success
        assert kitchen.ordered == 0
        second = await conversation.ask("yes")
        assert second.notices == ("ordered",)
        assert kitchen.ordered == 1


@on_virtual_time
async def test_a_goodbye_is_told() -> None:
    kitchen = Kitchen(lambda text: (ToolUse("end_conversation", {}), "Bye."))
    async with kitchen.conversation as conversation:
        assert (await conversation.ask("bye")).ended


@on_virtual_time
async def test_pieces_come_as_they_are_written() -> None:
    kitchen = Kitchen(lambda text: ("One, ", 5.0, "two.", ToolUse("cook", {"seconds": 1})))
    async with kitchen.conversation as conversation:
        came = [(now(), type(piece)) async for piece in conversation.stream("count")]
    assert came == [(0.0, TextDelta), (5.0, TextDelta), (5.0, ToolCalled), (6.0, ToolReturned)]


@on_virtual_time
async def test_a_second_question_waits_for_the_first() -> None:
    kitchen = Kitchen(lambda text: (5.0, f"{text}."))
    async with kitchen.conversation as conversation:
        both = await asyncio.gather(conversation.ask("one"), conversation.ask("two"))
    assert [reply.text for reply in both] == ["one.", "two."]
    assert now() == pytest.approx(10.0)
    assert kitchen.agent.requests[1].history == [UserMessage("one"), AssistantMessage("one.")]


@on_virtual_time
async def test_a_stream_that_is_left_is_cut_to_what_was_read() -> None:
    kitchen = Kitchen(lambda text: ("One, ", "two, ", 60.0, "three."))
    async with kitchen.conversation as conversation:
        async with aclosing(conversation.stream("count")) as pieces:
            assert await anext(pieces) == TextDelta(1, "One, ")
            await asyncio.sleep(1.0)
        assert kitchen.agent.running == 0
        assert kitchen.history.items() == [UserMessage("count"), AssistantMessage("One, ")]
        assert kitchen.outcomes == ["interrupted:cancelled"]
        assert kitchen.read == [("One, ", "cancelled")]
        await asyncio.wait_for(conversation.stream("again").__anext__(), 1.0)


@on_virtual_time
async def test_a_cancelled_question_leaves_its_calls_closed_and_no_text() -> None:
    kitchen = Kitchen(lambda text: ("Well, ", ToolUse("cook", {"seconds": 60}), "done."))
    async with kitchen.conversation as conversation:
        asking = asyncio.create_task(conversation.ask("cook"))
        await asyncio.sleep(1.0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert kitchen.agent.running == 0
    user, call, result = kitchen.history.items()
    assert user == UserMessage("cook")
    assert isinstance(call, ToolCallItem)
    assert result == ToolResultItem(call.call_id, INTERRUPTED)


@pytest.mark.parametrize(
    ("step", "error", "outcome"),
    [
        (ProviderError("scripted", "down", reason="service"), ProviderError, "failed:failed"),
        (100.0, ProviderTimeout, "failed:timeout"),
        (RuntimeError("a defect"), RuntimeError, "failed:failed"),
    ],
)
@on_virtual_time
async def test_a_failure_is_raised_and_the_conversation_goes_on(
    step: Step, error: type[Exception], outcome: str
) -> None:
    kitchen = Kitchen(replies({"bad": ("So ", step), "good": ("Fine.",)}))
    async with kitchen.conversation as conversation:
        with pytest.raises(error):
            await conversation.ask("bad")
        assert (await conversation.ask("good")).text == "Fine."
    assert kitchen.outcomes == [outcome, "answered"]
    assert kitchen.read == [("Fine.", "")], "of the other one the user has seen nothing"
    assert kitchen.history.items()[:2] == [UserMessage("bad"), UserMessage("good")]


@on_virtual_time
async def test_a_whole_reply_has_its_time() -> None:
    """Each wait is short enough, all of them together are not: a second of each does not count."""
    kitchen = Kitchen(lambda text: [step for _ in range(20) for step in ("and ", 4.0)])
    async with kitchen.conversation as conversation:
        with pytest.raises(ProviderTimeout):
            await conversation.ask("on and on")
    assert now() == pytest.approx(40.0)


@on_virtual_time
async def test_words_that_come_steadily_may_go_on_for_long() -> None:
    kitchen = Kitchen(lambda text: [step for _ in range(590) for step in ("and ", 0.5)])
    async with kitchen.conversation as conversation:
        assert (await conversation.ask("a long story")).text == "and " * 590
        kitchen.agent.script = lambda text: [step for _ in range(610) for step in ("and ", 0.5)]
        began = now()
        with pytest.raises(ProviderTimeout):
            await conversation.ask("an endless one")
        assert now() - began == pytest.approx(300.0)


@on_virtual_time
async def test_nothing_written_is_no_answer() -> None:
    kitchen = Kitchen(lambda text: ())
    async with kitchen.conversation as conversation:
        assert (await conversation.ask("hm")).outcome == "failed:no_answer"
    assert kitchen.outcomes == ["failed:no_answer"]
    assert kitchen.read == []
    (failure,) = (event for event in kitchen.seen if isinstance(event, Failure))
    assert (failure.stage, failure.reason) == ("reply", "no_answer")


def finds(what: str) -> ToolUse:
    return ToolUse("find", {"what": what})


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        (["Here it is.", USAGE], "answered"),
        (["Sorry.", replace(USAGE, apology="not_understood")], "not_understood"),
        ([replace(USAGE, apology="not_understood"), "Here it is.", USAGE], "answered"),
        ([finds("failed"), "It is gone.", USAGE], "tool_failed"),
        ([finds("timeout"), "It is gone.", USAGE], "tool_failed"),
        ([finds("denied"), "I must not."], "tool_failed"),
        ([finds("failed"), "Sorry.", replace(USAGE, apology="tool_failed")], "tool_failed"),
        ([finds("failed"), finds("butter"), "Here it is."], "answered"),
        ([finds("butter"), finds("failed"), "It is gone."], "tool_failed"),
        ([finds("not_found"), "There is none."], "answered"),
        ([ToolUse("order", {}), "Shall I?"], "answered"),  # it needs a yes
        ([ToolUse("order", {}), finds("failed"), "Hm."], "tool_failed"),
    ],
)
@on_virtual_time
async def test_what_became_of_a_turn(steps: Sequence[Step], outcome: str) -> None:
    kitchen = Kitchen(lambda text: steps)
    async with kitchen.conversation as conversation:
        reply = await conversation.ask("where is it")
        assert reply.outcome == outcome
    assert kitchen.outcomes == [outcome]
    assert kitchen.read == [(reply.text, "")], "an apology is an answer too"
    assert kitchen.history.items()[-1] == AssistantMessage(reply.text)


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        ([("lamp", ""), ("lamp", "")], "answered"),
        ([("lamp", "failed"), ("lamp", "")], "tool_failed"),
        ([("lamp", ""), ("lamp", "busy")], "tool_failed"),
        ([("lamp", "not_found"), ("lamp", "confirmation_required")], "answered"),
        ([("", "not_found"), ("lamp", "")], "tool_failed"),  # the model has invented it
    ],
)
async def test_of_calls_at_the_same_time_each_counts(
    results: list[tuple[str, str]], outcome: str
) -> None:
    timeline = TurnTimeline(1)
    record = ToolRecord(timeline, Emitter(EventBus(), "kitchen", "s"))
    for number, (source, _) in enumerate(results):
        record.note(ToolCalled(1, f"c{number}", "switch", "{}", source))
    for number, (_, error) in enumerate(results):
        record.note(ToolReturned(1, f"c{number}", "…", not error, 0.1, error))
    assert timeline.answer == outcome


@on_virtual_time
async def test_closing_ends_the_turn_under_way_and_those_that_wait() -> None:
    kitchen = Kitchen(lambda text: ("So ", 60.0, "late"))
    asking: list[asyncio.Task[Any]] = [
        asyncio.create_task(kitchen.conversation.ask(text)) for text in ("one", "two")
    ]
    await asyncio.sleep(1.0)
    await kitchen.conversation.close()
    await kitchen.conversation.close()
    errors = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(error) for error in errors] == [ConnectionClosed, ConnectionClosed]
    with pytest.raises(ConnectionClosed):
        await kitchen.conversation.ask("three")
    assert kitchen.outcomes == ["interrupted:closed"]
    assert kitchen.agent.running == 0
    assert kitchen.released == 1
