"""Results that come after their turns, in a whole session: spoken in a pause, kept, never lost."""

from __future__ import annotations

import asyncio

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem, UserMessage
from vixio.core.session.events import TurnStarted
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, ToolUse
from vixio.tools import Deferred

BOOKED = "Your table is booked for eight o'clock."


def talking(after: float) -> Conversation:
    """Return a conversation whose agent can book a table; the work takes ``after`` seconds."""

    async def call_them() -> str:
        await asyncio.sleep(after)
        return BOOKED

    async def book() -> Deferred:
        """Book a table."""
        return Deferred(call_them(), "I am calling them.")

    def script(text: str) -> tuple[str | ToolUse, ...]:
        return (ToolUse("book", {}), "I call them.") if text == "book" else (f"You said {text}.",)

    source = FixedSource("here", [func_to_tool_definition(book)])
    return Conversation(agent=ScriptedAgent(script), runtime=ToolRuntime([source]))


@on_virtual_time
async def test_the_turn_ends_and_the_result_is_spoken_in_the_next_pause() -> None:
    talk = talking(after=30)
    async with talk.running():
        talk.device.put(TextInput("book"))
        first = await talk.device.wait_for("stop")
        second = await talk.device.wait_for("stop", 2)
        assert talk.device.texts() == ["I call them.", BOOKED]
        assert second.at - first.at > 25
        call, result, said = talk.history.items()[-3:]
        assert call == ToolCallItem("late_call-0", "book", "{}")
        assert result == ToolResultItem("late_call-0", BOOKED)
        assert said == AssistantMessage(BOOKED)
        acknowledged = talk.history.items()[2]
        assert isinstance(acknowledged, ToolResultItem)
        assert acknowledged.output == "I am calling them."
    assert talk.runtime is not None
    assert talk.runtime.counters.get("tool.late.delivered") == 1


@on_virtual_time
async def test_it_waits_for_a_reply_that_is_being_spoken() -> None:
    talk = talking(after=6)
    async with talk.running():
        talk.device.put(TextInput("book"))
        await talk.device.wait_for("stop")
        long = "and now for something that takes very long to say, " * 5
        talk.device.put(TextInput(long))
        await talk.device.wait_for("stop", 2)
        assert BOOKED not in talk.device.texts()
        await talk.device.wait_for("stop", 3)
        assert talk.device.texts()[-1] == BOOKED


@on_virtual_time
async def test_one_that_gave_way_to_the_user_stands_once_in_the_history() -> None:
    talk = talking(after=6)
    talk.asr = ScriptedASR(["hello"])
    talk.tts = ScriptedTTS(delay=1.5)
    async with talk.running():
        talk.device.put(TextInput("book"))
        await talk.device.wait_for("stop")
        talk.listen()
        with talk.events.subscribe() as events:
            await anext(event async for event in events if isinstance(event, TurnStarted))
        await talk.say()  # before anything of it is heard
        await talk.device.wait_for("stop", 3)
        assert talk.device.texts() == ["I call them.", "You said hello.", BOOKED]
        kept = [item for item in talk.history.items() if isinstance(item, ToolResultItem)]
        assert [item.output for item in kept] == ["I am calling them.", BOOKED]


@on_virtual_time
async def test_a_user_who_cuts_it_finds_the_whole_result_in_the_history() -> None:
    talk = talking(after=10)
    async with talk.running():
        talk.device.put(TextInput("book"))
        await talk.device.wait_for("stop")
        await talk.device.wait_for("sentence", 2)
        await asyncio.sleep(0.5)
        talk.device.put(TextInput("what"))
        await talk.device.wait_for("stop", 3)
        items = list(talk.history.items())
        at = items.index(ToolResultItem("late_call-0", BOOKED))
        heard, asked = items[at + 1 : at + 3]
        assert isinstance(heard, AssistantMessage)
        assert BOOKED.startswith(heard.text)
        assert heard.text != BOOKED
        assert asked == UserMessage("what")


@on_virtual_time
async def test_a_device_that_leaves_ends_the_work() -> None:
    talk = talking(after=60)
    async with talk.running():
        talk.device.put(TextInput("book"))
        await talk.device.wait_for("stop")
    assert talk.runtime is not None
    assert talk.runtime.counters.get("tool.late.lost") == 1
