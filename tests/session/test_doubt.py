"""Two sentences that may have been said: the user is asked which, and the answer is carried out."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Alternative, TextInput
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.messages import message
from vixio.core.tools.runtime import ToolRuntime
from vixio.providers.asr import Recognition
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS

TWO = Alternative("Set a timer for two minutes.", "two minutes", ("2", "two"))
THIRTY = Alternative("set the timer of thirty minutes", "thirty minutes", ("30", "thirty"))
EITHER = Recognition(TWO.text, alternatives=(TWO, THIRTY))
ONE = Recognition(THIRTY.text, alternatives=(Alternative(THIRTY.text, THIRTY.text),))
WHICH = "Two or thirty minutes?"


def talking(*heard: Recognition | str) -> Conversation:
    """Return a conversation that also thinks ahead, whose agent says what it got."""
    return Conversation(
        asr=ScriptedASR(heard),
        agent=ScriptedAgent(lambda text: (f"Got {text}.",)),
        turn=TurnSettings(think_ms=200),
        runtime=ToolRuntime([]),
    )


async def says(talk: Conversation) -> str:
    """Have the user say the next thing; return what is answered."""
    before = len(talk.device.texts())
    talk.listen()
    await talk.say()
    await talk.device.wait_for("stop", len(talk.device.all("stop")) + 1)
    return " ".join(talk.device.texts()[before:])


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("Two.", TWO.text),
        ("2", TWO.text),
        ("I said two minutes, please.", TWO.text),
        ("thirty", THIRTY.text),
        ("Thirty minutes!", THIRTY.text),
        (EITHER, TWO.text),  # the same again, heard as before
        (
            "Set a timer for two minutes today, please.",
            "Set a timer for two minutes today, please.",
        ),
        ("What time is it?", "What time is it?"),
        ("Two or thirty?", "Two or thirty?"),
        ("two of the minutes that I have spent here were wasted", None),
    ],
)
def test_the_answer_is_carried_out(answer: Recognition | str, meant: str | None) -> None:
    @on_virtual_time
    async def asked() -> None:
        talk = talking(EITHER, answer)
        async with talk.running():
            assert await says(talk) == WHICH
            assert talk.device.all("transcript")[-1].text == TWO.text, "what was heard is shown"
            assert talk.counters.get("turn.asked_which") == 1
            assert talk.counters.get("turn.ahead") == 0, "nothing is done before"
            assert talk.history.items() == [UserMessage(TWO.text), AssistantMessage(WHICH)]
            expected = answer if meant is None else meant
            assert await says(talk) == f"Got {expected}."
            assert talk.counters.get("turn.asked_which") == 1

    asked()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Yes, please.", f"Got {THIRTY.text}."),
        ("No.", message("cancelled", "en")),
        ("two minutes", "Got two minutes."),
    ],
)
def test_one_that_may_have_been_said(answer: str, said: str) -> None:
    @on_virtual_time
    async def asked() -> None:
        talk = talking(ONE, answer)
        async with talk.running():
            assert await says(talk) == f"Did you say: {THIRTY.text}?"
            assert await says(talk) == said
            assert await says(talk) == f"Did you say: {THIRTY.text}?", "that was all of it"

    asked()


@on_virtual_time
async def test_another_doubt_is_asked_about() -> None:
    five = Alternative("five", "five", ("5", "five"))
    talk = talking(EITHER, Recognition("five", alternatives=(five, THIRTY)), "five")
    async with talk.running():
        assert await says(talk) == WHICH
        assert await says(talk) == "Five or thirty minutes?"
        assert await says(talk) == "Got five."


@on_virtual_time
async def test_what_is_typed_settles_it() -> None:
    talk = talking(EITHER)
    async with talk.running():
        assert await says(talk) == WHICH
        talk.device.put(TextInput("thirty"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == f"Got {THIRTY.text}."


@on_virtual_time
async def test_a_question_that_was_not_heard_yet_is_not_asked_any_more() -> None:
    talk = talking(EITHER, "what time is it")
    talk.tts = ScriptedTTS(delay=1.5)
    async with talk.running():
        talk.listen()
        await talk.say()
        assert talk.counters.get("turn.asked_which") == 1
        assert talk.device.texts() == []
        await talk.say()
        await talk.device.wait_for("stop")
        await asyncio.sleep(20)
        (said,) = [each for each in talk.device.texts() if each]
        assert said.endswith("what time is it.")
        assert WHICH not in talk.device.texts()
