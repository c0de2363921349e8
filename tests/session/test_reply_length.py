"""An answer that is too long ends behind a sentence, and says so."""

from __future__ import annotations

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.messages import message
from vixio.core.session.settings import SessionSettings
from vixio.testing import ScriptedAgent, ScriptedTTS, ToolUse

SENTENCE = "This is a sentence of forty two characters."
LIMIT = 10.0
PER_CHARACTER = 0.1
TOO_LONG = message("too_long", "en")


def talking(*script: str | float | ToolUse, limit: float = LIMIT) -> Conversation:
    return Conversation(
        agent=ScriptedAgent(lambda text: script),
        tts=ScriptedTTS(seconds_per_char=PER_CHARACTER),
        settings=SessionSettings(timeouts=TIMEOUTS, max_reply=limit),
    )


def heard(talk: Conversation) -> str:
    return " ".join(talk.device.texts())


@on_virtual_time
async def test_it_ends_at_the_sentence_that_reaches_the_limit() -> None:
    talk = talking(*[f"{SENTENCE} "] * 50)
    async with talk.running():
        talk.device.put(TextInput("tell me all"))
        await talk.device.wait_for("stop")
        assert heard(talk) == f"{SENTENCE} {SENTENCE} {SENTENCE} {TOO_LONG}"
        assert len(talk.device.all("start")) == len(talk.device.all("stop")) == 1
        assert talk.agent.running == 0
        assert talk.tts.running == 0
        assert list(talk.history.items()) == [
            UserMessage("tell me all"),
            AssistantMessage(heard(talk)),
        ]
        assert talk.counters.get("turn.too_long") == 1
        (timeline,) = talk.ended
        assert timeline.outcome == "answered"
        # The conversation goes on.
        talk.agent.script = lambda text: ("And so on.",)
        talk.device.put(TextInput("go on"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "And so on."


@pytest.mark.parametrize(("limit", "sentences"), [(LIMIT, 3), (0.0, 6)])
@on_virtual_time
async def test_what_is_within_the_limit_is_said_to_its_end(limit: float, sentences: int) -> None:
    talk = talking(*[f"{SENTENCE} "] * sentences, limit=limit)
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        assert heard(talk) == " ".join([SENTENCE] * sentences)
        assert talk.counters.get("turn.too_long") == 0


@on_virtual_time
async def test_a_speech_on_command_is_said_as_it_is_and_an_answer_is_not() -> None:
    talk = talking(*[f"{SENTENCE} "] * 6)
    async with talk.running():
        assert talk.session is not None
        news = " ".join([SENTENCE] * 6)
        await talk.session.say(news).played()
        assert heard(talk) == news
        await talk.session.ask("what is new").played()
        assert heard(talk).endswith(f"{SENTENCE} {TOO_LONG}")


@on_virtual_time
async def test_an_interruption_is_no_end_by_length() -> None:
    talk = talking(*[f"{SENTENCE} "] * 50)
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("sentence", 3)
        talk.agent.script = lambda text: ("Fine.",)
        talk.device.put(TextInput("stop"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Fine."
        assert TOO_LONG not in heard(talk)
