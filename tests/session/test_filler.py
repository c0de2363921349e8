"""A few words while the answer takes long: once, before the answer, and no part of it."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, TextInput
from vixio.core.device import DeviceProfile
from vixio.core.errors import ProviderError
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.messages import FILLERS, message
from vixio.core.session.events import SpeechPlayed
from vixio.core.session.settings import SessionSettings
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS

AFTER = 2.0
WORDS = {message(key, "en") for key in FILLERS}


def slow(*script: object, language: str = "en", **parts: object) -> Conversation:
    """Return a conversation whose agent follows ``script``, with fillers."""
    agent = ScriptedAgent(lambda text: script)  # type: ignore[arg-type,return-value]  # scripts are steps
    settings = SessionSettings(timeouts=TIMEOUTS, filler_after=AFTER)
    profile = DeviceProfile(language=language)
    return Conversation(agent=agent, settings=settings, profile=profile, **parts)  # type: ignore[arg-type]  # passed on


@on_virtual_time
async def test_the_answer_follows_the_filler() -> None:
    talk = slow(3.5, "Here it is. ", "And more.")
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        first, *answer = talk.device.texts()
        assert first in WORDS
        assert answer == ["Here it is.", "And more."]
        assert len(talk.device.all("start")) == len(talk.device.all("stop")) == 1
        (timeline,) = talk.ended
        after = timeline.since_turn_end()
        assert AFTER * 1000 <= after["filler"] < 2_500
        assert after["first_sentence"] >= 3_500
        assert after["first_audio"] >= 3_500
        assert timeline.outcome == "answered"
        assert talk.history.items() == [
            UserMessage("tell me"),
            AssistantMessage("Here it is. And more."),
        ]
        (played,) = [each for each in talk.happened if isinstance(each, SpeechPlayed)]
        assert played.text == "Here it is. And more."


@on_virtual_time
async def test_no_gap_and_no_overlap_when_the_answer_comes_during_the_filler() -> None:
    talk = slow(2.3, "Here it is.", tts=ScriptedTTS(seconds_per_char=0.1))
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        filler, answer = talk.device.texts()
        assert filler in WORDS
        assert answer == "Here it is."
        assert talk.counters.get("pacer.starved") == 0
        spoken = 0.1 * (len(filler) + len(answer))
        (start,), (stop,) = talk.device.all("start"), talk.device.all("stop")
        assert spoken <= stop.at - start.at < spoken + 0.5


@pytest.mark.parametrize("script", [(1.0, "Quick."), (AFTER + 0.05, "Quick.")])
@on_virtual_time
async def test_an_answer_in_time_is_all_that_is_said(script: tuple[object, ...]) -> None:
    """Also one that comes while the filler is being made."""
    talk = slow(*script, tts=ScriptedTTS(delay=0.2))
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Quick."]


@on_virtual_time
async def test_it_is_said_once_and_not_behind_words() -> None:
    talk = slow(3.0, "One. ", 5.0, "Two.")
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        assert talk.device.texts()[1:] == ["One.", "Two."]
    talk = slow("Let me look. ", 5.0, "Two.")
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Let me look.", "Two."]


@on_virtual_time
async def test_a_model_that_is_out_gives_its_reason_behind_the_filler() -> None:
    for language, words in (
        ("en", "Sorry, I can't reach the language model."),
        ("zh-CN", "抱歉，现在连接不上语言模型。"),
    ):
        error = ProviderError("scripted", "gone", reason="unreachable")
        talk = slow(3.0, error, language=language)
        async with talk.running():
            talk.device.put(TextInput("tell me"))
            await talk.device.wait_for("stop")
            filler, apology = talk.device.texts()
            assert filler in {message(key, language) for key in FILLERS}
            assert apology == words
            assert not [each for each in talk.history.items() if filler in str(each)]


@on_virtual_time
async def test_a_model_that_says_nothing_has_no_answer() -> None:
    talk = slow(3.0)
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        assert talk.device.texts()[1:] == [message("no_answer", "en")]


@on_virtual_time
async def test_a_voice_that_fails_costs_the_filler_alone() -> None:
    tts = ScriptedTTS(error=ProviderError("scripted", "no"))
    talk = slow(3.0, "Here it is.", tts=tts)
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await asyncio.sleep(2.5)
        assert tts.spoken[0] in WORDS
        tts.error = None
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Here it is."]


@on_virtual_time
async def test_a_user_who_goes_on_is_not_talked_over() -> None:
    asr = ScriptedASR(["turn on", "the kitchen light"])
    talk = slow(2.4, "It is on.", asr=asr)
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say(0.6, pause=1.2)
        await talk.say(3.0, pause=0.8)
        await talk.device.wait_for("stop")
        assert [request.text for request in talk.agent.requests] == [
            "turn on",
            "turn on the kitchen light",
        ]
        filler, answer = talk.device.texts()
        assert filler in WORDS
        assert answer == "It is on."
        assert talk.counters.get("turn.outcome.answered") == 1


@on_virtual_time
async def test_an_interruption_takes_the_filler_with_it() -> None:
    talk = slow(20.0, "Never.")
    async with talk.running():
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("audio")
        talk.agent.script = lambda text: ("Fine.",)
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[1:] == ["Fine."]
        assert AssistantMessage("Fine.") in talk.history.items()
        assert not any(filler in str(talk.history.items()) for filler in WORDS)


@on_virtual_time
async def test_it_can_be_off_and_commands_have_none() -> None:
    agent = ScriptedAgent(lambda text: (3.5, "Here."))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("tell me"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Here."]
    talk = slow(3.5, "Here.")
    async with talk.running() as running:
        assert running.session is not None
        running.session.ask("what is new")
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Here."]
