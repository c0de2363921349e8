"""The end of a conversation: nobody speaks for long, or the user says goodbye."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStart, ListenStop, TextInput
from vixio.core.clock import now
from vixio.core.device import DeviceProfile
from vixio.core.errors import ProviderError, ToolError
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.messages import message
from vixio.core.session.settings import SessionSettings
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.core.turns.interruption import PauseAtVoice
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, ToolUse, silence
from vixio.tools import Deferred
from vixio.tools.builtin import builtin_source

IDLE = 20.0
REST = message("goodbye_idle", "en")
BYE = message("goodbye", "en")


def idle(limit: float | None = IDLE, **parts: object) -> Conversation:
    """Return a conversation with an idle time."""
    parts.setdefault("profile", DeviceProfile(idle_timeout=limit))
    return Conversation(**parts)  # type: ignore[arg-type]  # passed on


async def quiet(talk: Conversation, seconds: float) -> None:
    """Have the room be silent; a device that listens sends that too."""
    for _ in range(round(seconds / 0.6)):
        await talk.device.play(silence(0.6))


def said(talk: Conversation) -> str:
    """Return all that was shown as spoken: it may be in several sentences."""
    return " ".join(talk.device.texts())


def closed(talk: Conversation) -> bool:
    return bool(talk.device.all("close"))


# ── nobody speaks ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.REALTIME])
@pytest.mark.parametrize("silent", [False, True])
@on_virtual_time
async def test_a_device_that_hears_nobody_is_told_goodbye(mode: ListenMode, silent: bool) -> None:
    """Whether it sends the silence or nothing at all."""
    talk = idle()
    async with talk.running():
        talk.listen(mode)
        began = now()
        if silent:
            await quiet(talk, IDLE + 5)
        gone = await talk.device.wait_for("close")
        (start,), (stop,) = talk.device.all("start"), talk.device.all("stop")
        assert IDLE <= start.at - began < IDLE + 1
        assert said(talk) == REST
        assert gone.at >= stop.at >= talk.device.all("audio")[-1].at
        assert talk.agent.requests == []
        assert list(talk.history.items()) == []
        assert talk.counters.get("session.ended_by_idle") == 1


@on_virtual_time
async def test_the_language_of_the_device() -> None:
    talk = idle(profile=DeviceProfile(language="zh-CN", idle_timeout=IDLE))
    async with talk.running():
        talk.listen()
        await talk.device.wait_for("close")
        assert "".join(talk.device.texts()) == message("goodbye_idle", "zh")


@pytest.mark.parametrize("limit", [0.0, None])
@on_virtual_time
async def test_it_can_be_off(limit: float | None) -> None:
    talk = idle(limit)
    async with talk.running():
        talk.listen()
        await asyncio.sleep(3_600)
        assert not closed(talk)


@on_virtual_time
async def test_a_device_that_does_not_listen_stays_connected() -> None:
    """Nobody is heard there, and it can be spoken to only as long as it is connected."""
    talk = idle()
    async with talk.running():
        await asyncio.sleep(10 * IDLE)
        talk.listen(ListenMode.MANUAL)
        await talk.say()
        talk.device.put(ListenStop())
        await talk.device.wait_for("stop")
        await asyncio.sleep(10 * IDLE)
        assert not closed(talk)
        assert talk.device.texts() == ["You said hello."]


@on_virtual_time
async def test_whatever_the_user_does_begins_the_time_anew() -> None:
    talk = idle(tts=ScriptedTTS(seconds_per_char=0.01))
    async with talk.running():
        talk.listen()
        began = now()
        for chunk in (
            TextInput("hello"),
            Abort(),
            TextInput("hey vixio", wake_word=True),
            ListenStart(ListenMode.AUTO),
        ):
            await asyncio.sleep(IDLE - 2)
            assert not closed(talk)
            talk.device.put(chunk)
        await talk.say()
        await talk.device.wait_for("stop", 3)
        heard = now()
        gone = await talk.device.wait_for("close")
        assert heard - began > 3 * IDLE
        assert gone.at - heard >= IDLE


@on_virtual_time
async def test_noise_that_is_no_utterance_does_not_keep_it_listening() -> None:
    talk = idle(asr=ScriptedASR([""] * 20))
    async with talk.running():
        talk.listen()
        began = now()
        while not closed(talk) and now() < began + 2 * IDLE:
            await talk.say(0.2, pause=2.0)
        assert closed(talk)
        assert said(talk) == REST


@on_virtual_time
async def test_a_user_who_speaks_is_not_told_goodbye() -> None:
    talk = idle()
    async with talk.running():
        talk.listen()
        await asyncio.sleep(IDLE - 3)
        await talk.say(6.0)
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["You said hello."]
        assert not closed(talk)


@on_virtual_time
async def test_a_reply_that_takes_long_is_waited_for() -> None:
    agent = ScriptedAgent(lambda text: (3.9, "One. ", 5.9, "Two. ", 5.9, "Three."))
    talk = idle(5.0, agent=agent)
    async with talk.running():
        talk.listen()
        talk.device.put(TextInput("count"))
        await talk.device.wait_for("close")
        assert said(talk) == " ".join(["One.", "Two.", "Three.", REST])


@on_virtual_time
async def test_work_that_goes_on_is_waited_for() -> None:
    async def call_them() -> str:
        await asyncio.sleep(3 * IDLE)
        return "It is booked."

    async def book() -> Deferred:
        """Book a table."""
        return Deferred(call_them(), "I am calling them.")

    source = FixedSource("here", [func_to_tool_definition(book)])
    agent = ScriptedAgent(lambda text: (ToolUse("book", {}), "I call them."))
    talk = idle(agent=agent, runtime=ToolRuntime([source]))
    async with talk.running():
        talk.listen()
        talk.device.put(TextInput("book"))
        told = await talk.device.wait_for("stop", 2, seconds=200)
        gone = await talk.device.wait_for("close")
        assert said(talk) == " ".join(["I call them.", "It is booked.", REST])
        assert gone.at - told.at >= IDLE


@on_virtual_time
async def test_a_question_is_left_open_for_as_long_as_a_yes_counts() -> None:
    from vixio.core.tools.confirm import CONFIRM_WITHIN

    async def unlock() -> str:
        """Unlock the door."""
        return "open"

    tool = func_to_tool_definition(unlock, options=ToolOptions(confirm=True))
    agent = ScriptedAgent(lambda text: (ToolUse("unlock", {}), "Shall I?"))
    talk = idle(agent=agent, runtime=ToolRuntime([FixedSource("here", [tool])]))
    async with talk.running():
        assert talk.session is not None
        tools = talk.session.context.session_tools
        talk.listen()
        talk.device.put(TextInput("unlock"))
        await talk.device.wait_for("stop")
        assert tools is not None
        assert tools.awaits_consent
        await asyncio.sleep(2 * IDLE)
        assert not closed(talk)
        assert CONFIRM_WITHIN > 2 * IDLE
        tools.withdraw()
        await talk.device.wait_for("close")
        assert said(talk) == " ".join(["Shall I?", REST])


@on_virtual_time
async def test_a_speech_that_waits_comes_first() -> None:
    talk = idle()
    async with talk.running():
        assert talk.session is not None
        talk.listen()
        await asyncio.sleep(IDLE - 0.5)
        handle = talk.session.say("The washing machine is done.")
        await handle.played()
        assert not closed(talk)
        await talk.device.wait_for("close")
        assert said(talk) == " ".join(["The washing machine is done.", REST])


@on_virtual_time
async def test_a_voice_over_the_goodbye_keeps_the_conversation() -> None:
    talk = idle(tts=ScriptedTTS(seconds_per_char=0.1), interruption=PauseAtVoice)
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.device.wait_for("start")
        await talk.say()
        await talk.device.wait_for("stop", 2)
        assert said(talk).endswith("You said hello.")
        assert talk.device.texts()[0] in REST
        assert not closed(talk)


@on_virtual_time
async def test_a_goodbye_ends_it_although_a_tool_has_failed() -> None:
    async def save() -> str:
        """Save what was said."""
        raise ToolError("failed", "the disk is full")

    sources = [FixedSource("here", [func_to_tool_definition(save)]), builtin_source()]
    script = (ToolUse("end_conversation", {}), ToolUse("save", {}), "It is lost. Bye.")
    talk = Conversation(agent=ScriptedAgent(lambda text: script), runtime=ToolRuntime(sources))
    async with talk.running():
        talk.device.put(TextInput("save it, and that is all"))
        await talk.device.wait_for("close")
        assert [each.outcome for each in talk.ended] == ["tool_failed"]


@on_virtual_time
async def test_a_goodbye_that_cannot_be_spoken_still_ends_it() -> None:
    talk = idle(tts=ScriptedTTS(error=ProviderError("scripted", "no")))
    async with talk.running():
        talk.listen()
        await talk.device.wait_for("close")
        assert talk.device.all("stop") or not talk.device.all("start")


# ── the user says goodbye ────────────────────────────────────────────────────────────────────


@on_virtual_time
async def test_a_goodbye_is_answered_before_the_model_and_ends_it() -> None:
    talk = Conversation(asr=ScriptedASR(["Okay, thank you. Goodbye!"]))
    async with talk.running():
        talk.listen()
        await talk.say()
        gone = await talk.device.wait_for("close")
        (stop,) = talk.device.all("stop")
        assert gone.at >= stop.at >= talk.device.all("audio")[-1].at
        assert said(talk) == BYE
        assert talk.agent.requests == []
        assert list(talk.history.items()) == [
            UserMessage("Okay, thank you. Goodbye!"),
            AssistantMessage(BYE),
        ]
        assert talk.counters.get("session.ended_by_user") == 1
        (timeline,) = talk.ended
        assert timeline.outcome == "answered"
        assert {"turn_end", "transcript", "first_frame"} <= timeline.marks.keys()


@pytest.mark.parametrize(
    ("profile", "words", "ends"),
    [
        (DeviceProfile(), "Say goodbye to Ann.", False),
        (DeviceProfile(language="zh-CN"), "好的，再见。", True),
        (DeviceProfile(language="zh-CN"), "跟妈妈说再见", False),
        (DeviceProfile(exit_phrases=("over and out",)), "Over and out, please.", True),
        (DeviceProfile(exit_phrases=("over and out",)), "goodbye", False),
        (DeviceProfile(exit_phrases=()), "goodbye", False),
        (DeviceProfile(name="Kitchen"), "Goodbye, kitchen!", True),
    ],
)
@on_virtual_time
async def test_what_ends_a_conversation(profile: DeviceProfile, words: str, ends: bool) -> None:
    talk = Conversation(profile=profile)
    async with talk.running():
        talk.device.put(TextInput(words))
        await talk.device.wait_for("stop")
        await asyncio.sleep(1)
        assert closed(talk) == ends
        assert len(talk.agent.requests) == (not ends)


@on_virtual_time
async def test_what_was_asked_just_before_is_answered_first() -> None:
    """It is not joined with the goodbye, nor dropped: it may have switched off the light."""
    agent = ScriptedAgent(lambda text: (3.0, "The light is off."))
    talk = Conversation(agent=agent, asr=ScriptedASR(["the light off", "bye", "bye bye"]))
    async with talk.running():
        talk.listen()
        for _ in range(3):
            await talk.say(0.5, pause=0.6)
        await talk.device.wait_for("close")
        assert [request.text for request in agent.requests] == ["the light off"]
        assert said(talk) == " ".join(["The light is off.", BYE])


@on_virtual_time
async def test_words_behind_a_goodbye_do_not_undo_it() -> None:
    talk = Conversation(
        asr=ScriptedASR(["goodbye", "one thing more"], delay=0.3), tts=ScriptedTTS(delay=1.5)
    )
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say(0.5, pause=1.0)
        await talk.say(1.0, pause=0.8)
        await talk.device.wait_for("close")
        assert [request.text for request in talk.agent.requests] == ["one thing more"]
        assert said(talk) == " ".join(["You said one thing more.", BYE])


@on_virtual_time
async def test_a_goodbye_over_a_speech_cuts_it() -> None:
    story = "One two three four five six seven eight nine ten eleven twelve thirteen."
    agent = ScriptedAgent(lambda text: (story,))
    talk = Conversation(agent=agent, asr=ScriptedASR(["tell me", "goodbye"]))
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say()
        await talk.device.wait_for("audio", 5)
        await talk.say()
        await talk.device.wait_for("close")
        assert talk.device.texts()[-1] == BYE
        assert len(agent.requests) == 1


@on_virtual_time
async def test_a_goodbye_over_a_speech_that_may_not_be_cut_waits_for_its_end() -> None:
    news = "There is water in the cellar, please look at once."
    talk = Conversation(asr=ScriptedASR(["goodbye"]), settings=SessionSettings(timeouts=TIMEOUTS))
    async with talk.running():
        assert talk.session is not None
        talk.listen(ListenMode.REALTIME)
        talk.session.say(news, interruptible=False)
        await talk.device.wait_for("audio")
        await talk.say(0.5)
        await talk.device.wait_for("close")
        assert said(talk) == " ".join([news, BYE])


@on_virtual_time
async def test_a_command_cannot_say_goodbye() -> None:
    talk = Conversation()
    async with talk.running():
        assert talk.session is not None
        await talk.session.ask("goodbye").played()
        await asyncio.sleep(1)
        assert not closed(talk)
        assert [request.text for request in talk.agent.requests] == ["goodbye"]
