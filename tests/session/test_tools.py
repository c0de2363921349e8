"""Tools in a whole session: what they say is heard in its order, and one of them ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, ListenStart, TextInput
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem, UserMessage
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, ToolUse
from vixio.tools import ToolContext
from vixio.tools.builtin import builtin_source


async def slow(context: ToolContext) -> str:
    """Take three seconds, and say so."""
    context.say("One moment.")
    context.show("42 %")
    await asyncio.sleep(3)
    context.say("Nearly done.")
    await asyncio.sleep(3)
    return "42"


def talking(agent: ScriptedAgent, *tools: Callable[..., Any]) -> Conversation:
    source = FixedSource("here", [func_to_tool_definition(each) for each in (slow, *tools)])
    return Conversation(agent=agent, runtime=ToolRuntime([builtin_source(), source]))


@on_virtual_time
async def test_what_a_tool_says_is_heard_while_it_works() -> None:
    agent = ScriptedAgent(lambda text: ("Let me think.", ToolUse("slow", {}), "It is 42."))
    talk = talking(agent)
    async with talk.running():
        talk.device.put(TextInput("how much"))
        await talk.device.wait_for("stop")
        sentences = talk.device.all("sentence")
        assert [sent.text for sent in sentences] == [
            *("Let me think.", "42 %", "One moment.", "Nearly done.", "It is 42."),
        ]
        first, shown, moment, nearly, last = (sent.at for sent in sentences)
        assert shown - first < 1.5, "shown at once, though words are still being spoken"
        assert moment - first < 3, "spoken before the tool is done"
        assert nearly - first >= 3
        assert last - first >= 6
        assert [type(item) for item in talk.history.items()] == [
            *(UserMessage, AssistantMessage, ToolCallItem, AssistantMessage),
            *(ToolResultItem, AssistantMessage),
        ]


@on_virtual_time
async def test_an_interruption_ends_the_tool_and_what_it_would_have_said() -> None:
    agent = ScriptedAgent(
        lambda text: (ToolUse("slow", {}),) if text == "first" else (f"You said {text}.",)
    )
    talk = talking(agent)
    async with talk.running():
        talk.device.put(TextInput("first"))
        await talk.device.wait_for("sentence", 2)
        talk.device.put(TextInput("second"))
        await talk.device.wait_for("stop", 2)
        await asyncio.sleep(10)
        assert "Nearly done." not in talk.device.texts()
        assert talk.device.texts()[-1] == "You said second."


@on_virtual_time
async def test_the_conversation_ends_after_the_last_word_was_heard() -> None:
    agent = ScriptedAgent(lambda text: (ToolUse("end_conversation", {}), "Good night, sleep well."))
    talk = talking(agent)
    async with talk.running():
        talk.device.put(TextInput("i am going to bed"))
        closed = await talk.device.wait_for("close")
        (stop,) = talk.device.all("stop")
        assert closed.at >= stop.at >= talk.device.all("audio")[-1].at
        assert talk.device.texts() == ["Good night, sleep well."]
        assert talk.counters.get("session.ended_by_assistant") == 1


@on_virtual_time
async def test_a_user_who_goes_on_keeps_the_conversation() -> None:
    agent = ScriptedAgent(
        lambda text: (
            (ToolUse("end_conversation", {}), "Good night, sleep well.")
            if text == "i am going to bed"
            else ("It is late.",)
        )
    )
    talk = talking(agent)
    async with talk.running():
        talk.device.put(ListenStart(ListenMode.AUTO), TextInput("i am going to bed"))
        await talk.device.wait_for("audio", 3)
        talk.device.put(TextInput("how late is it"))
        await talk.device.wait_for("stop", 2)
        await asyncio.sleep(5)
        assert talk.device.texts()[-1] == "It is late."
        assert not talk.device.all("close")


@on_virtual_time
async def test_a_call_that_was_run_is_not_made_again_though_the_voice_is_behind() -> None:
    orders: list[str] = []

    async def order() -> str:
        """Order tea."""
        orders.append("tea")
        return "ordered"

    words = "One. Two. Three. Four. Five. Six."
    agent = ScriptedAgent(
        lambda text: (words, ToolUse("order", {}), "Done.") if "tea" in text else ("All right.",)
    )
    talk = talking(agent, order)
    talk.asr = ScriptedASR(["order tea", "please"])
    talk.tts = ScriptedTTS(delay=1.8)
    async with talk.running():
        talk.listen()
        await talk.say(0.6, pause=0.7)
        await talk.say(0.6, pause=0.7)
        await talk.device.wait_for("stop")
        assert [request.text for request in agent.requests] == ["order tea", "please"]
    assert orders == ["tea"]
