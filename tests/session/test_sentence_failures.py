"""A text that the voice fails at costs one sentence, and the history does not claim it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.errors import REQUEST, ProviderError
from vixio.core.history import AssistantMessage
from vixio.core.session.events import Failure, SpeechPlayed
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.testing import ScriptedAgent, ScriptedTTS
from vixio.testing.providers import Step, ToolUse

CRASH = ProviderError("scripted", "its process crashed on this text", reason=REQUEST)
STORY = ("Here is one. ", "Here is **two**. ", "Here is three. ", "Here is four.")
REST = "Here is one. Here is three. Here is four."


class Crashing(ScriptedTTS):
    """Fails at texts that contain one of ``words``, after ``chunks`` of their audio."""

    def __init__(self, *words: str, chunks: int = 0) -> None:
        super().__init__()
        self.words = words
        self.chunks = chunks

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield silence, up to the crash."""
        left = self.chunks if any(word in text for word in self.words) else -1
        async for pcm in super().synthesize(text, language=language):
            if not left:
                raise CRASH
            left -= 1
            yield pcm


def telling(*steps: Step) -> ScriptedAgent:
    return ScriptedAgent(lambda text: steps if text == "tell" else ("Fine.",))


def shown(talk: Conversation) -> str:
    return " ".join(sent.text for sent in talk.device.all("sentence"))


def said(talk: Conversation) -> list[str]:
    return [item.text for item in talk.history.items() if isinstance(item, AssistantMessage)]


def failures(talk: Conversation) -> list[Failure]:
    return [event for event in talk.happened if isinstance(event, Failure)]


@on_virtual_time
async def test_the_reply_goes_on_without_the_sentence(caplog: pytest.LogCaptureFixture) -> None:
    talk = Conversation(agent=telling(*STORY), tts=Crashing("two"))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert shown(talk) == REST
        assert said(talk) == [REST]
        (played,) = (each for each in talk.happened if isinstance(each, SpeechPlayed))
        assert played.text == REST
        (failure,) = failures(talk)
        assert (failure.stage, failure.reason, failure.partial) == ("tts", REQUEST, True)
        assert "two" not in failure.detail
        assert talk.counters.get("turn.sentence_failed") == 1
        assert talk.counters.get("turn.outcome.answered") == 1
        assert not talk.device.all("alert")
        talk.device.put(TextInput("again"))
        await talk.device.wait_for("stop", 2)
        assert said(talk) == [REST, "Fine."]
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "sentence not spoken"
    ]


@pytest.mark.parametrize("number", ["one", "four"])
@on_virtual_time
async def test_the_first_or_last_sentence(number: str) -> None:
    talk = Conversation(agent=telling(*STORY), tts=Crashing(number))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert f"Here is {number}." not in shown(talk)
        (text,) = said(talk)
        assert text.replace("*", "").strip() == shown(talk)


@on_virtual_time
async def test_a_sentence_that_breaks_off_was_not_said() -> None:
    talk = Conversation(agent=telling(*STORY), tts=Crashing("two", chunks=3))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert shown(talk) == "Here is one. Here is two. Here is three. Here is four."
        assert said(talk) == [REST]
        assert talk.tts.spoken[-1] == "Here is four."


@on_virtual_time
async def test_an_interruption_behind_it_cuts_what_was_said() -> None:
    talk = Conversation(agent=telling(*STORY), tts=Crashing("two"))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("sentence", 2)
        await talk.device.wait_for("audio", len(talk.device.all("audio")) + 5)
        talk.device.put(TextInput("again"))
        await talk.device.wait_for("stop", 2)
        first, second = said(talk)
        assert REST.startswith(first)
        assert second == "Fine."


@on_virtual_time
async def test_a_sentence_that_the_history_cannot_find() -> None:
    """The text has a link's address in the middle: what was shown takes its place."""
    steps = ("Here is one. ", "See [page](https://example.com/two) two. ", "Here is *three*.")
    talk = Conversation(agent=telling(*steps), tts=Crashing("page"))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert said(talk) == ["Here is one. Here is three."]


@on_virtual_time
async def test_words_before_a_tool_call() -> None:
    async def look() -> str:
        """Look at the clock."""
        return "noon"

    talk = Conversation(
        agent=telling("Let me see. ", "Here is two.", ToolUse("look", {}), "It is noon."),
        tts=Crashing("two"),
        runtime=ToolRuntime([FixedSource("here", [func_to_tool_definition(look)])]),
    )
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert said(talk) == ["Let me see. ", "It is noon."]


@on_virtual_time
async def test_if_nothing_can_be_spoken_the_user_is_told() -> None:
    talk = Conversation(agent=telling(*STORY[:2]), tts=Crashing("Here"))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert "the speech output refused this request" in shown(talk)
        assert [alert.text for alert in talk.device.all("alert")] == ["Request refused"]
        assert talk.counters.get("turn.sentence_failed") == 2
        assert talk.counters.get("turn.outcome.failed") == 1
        assert not any("Here" in text for text in said(talk))


@on_virtual_time
async def test_a_voice_that_fails_again_and_again_ends_the_reply() -> None:
    talk = Conversation(agent=telling(*STORY, *STORY), tts=Crashing("two", "three", "four"))
    async with talk.running():
        talk.device.put(TextInput("tell"))
        await talk.device.wait_for("stop")
        assert shown(talk).startswith("Here is one. Sorry, the speech output refused this request.")
        assert len(talk.tts.spoken) < 8
        assert talk.counters.get("turn.sentence_failed") == 2
