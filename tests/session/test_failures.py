"""A provider that raises, hangs or returns nothing costs one turn, and the user is told."""

from __future__ import annotations

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, ScriptedVAD

BROKEN = ProviderError("scripted", "out of order")
FOREVER = 100_000.0


async def answered(talk: Conversation, number: int) -> str:
    """Wait for the ``number``-th reply's end; return what was said or shown in it."""
    await talk.device.wait_for("stop", number)
    replies: list[list[str]] = [[]]
    for sent in talk.device.sent:
        if sent.kind in {"sentence", "alert"}:
            replies[-1].append(sent.text)
        elif sent.kind == "stop":
            replies.append([])
    return " ".join(replies[number - 1])


@pytest.mark.parametrize("error", [BROKEN, ProviderUnavailable("scripted", "no key"), ValueError()])
@on_virtual_time
async def test_an_agent_that_raises(error: Exception) -> None:
    agent = ScriptedAgent(lambda text: (error,) if text == "one" else ("Fine.",))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        assert "went wrong" in await answered(talk, 1)
        talk.device.put(TextInput("two"))
        assert await answered(talk, 2) == "Fine."


@on_virtual_time
async def test_an_agent_that_raises_in_mid_sentence() -> None:
    agent = ScriptedAgent(lambda text: ("This is half of it, ", 0.2, BROKEN))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        assert "went wrong" in await answered(talk, 1)


@on_virtual_time
async def test_an_agent_that_hangs() -> None:
    agent = ScriptedAgent(lambda text: (FOREVER,) if text == "one" else ("Fine.",))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        assert "too long" in await answered(talk, 1)
        assert talk.agent.running == 0
        talk.device.put(TextInput("two"))
        assert await answered(talk, 2) == "Fine."


@on_virtual_time
async def test_an_agent_that_trickles_is_bounded() -> None:
    agent = ScriptedAgent(lambda text: [step for _ in range(100) for step in ("a ", 5.0)])
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        await answered(talk, 1)
        assert talk.counters.get("turn.timeout") == 1


@on_virtual_time
async def test_an_agent_that_says_nothing() -> None:
    talk = Conversation(agent=ScriptedAgent(lambda text: ()))
    async with talk.running():
        talk.device.put(TextInput("one"))
        assert "no answer" in await answered(talk, 1)


@pytest.mark.parametrize("delay", [0.0, FOREVER])
@on_virtual_time
async def test_a_recogniser_that_fails_or_hangs(delay: float) -> None:
    talk = Conversation(asr=ScriptedASR([BROKEN, "hello"], delay=delay))
    async with talk.running():
        talk.listen()
        await talk.say()
        expected = "too long" if delay else "went wrong"
        assert expected in await answered(talk, 1)
        talk.asr.delay = 0.0
        await talk.say()
        assert await answered(talk, 2) == "You said hello."


@on_virtual_time
async def test_a_voice_that_fails_for_one_sentence_says_so_in_its_own_voice() -> None:
    talk = Conversation(tts=ScriptedTTS(error=BROKEN, error_on="one"))
    async with talk.running():
        talk.device.put(TextInput("one"))
        assert "went wrong" in await answered(talk, 1)
        assert talk.device.all("alert") == []


@pytest.mark.parametrize("hangs", [False, True])
@on_virtual_time
async def test_a_voice_that_always_fails_is_replaced_by_the_screen(hangs: bool) -> None:
    talk = Conversation(tts=ScriptedTTS(error=BROKEN, delay=FOREVER if hangs else 0.0))
    async with talk.running():
        talk.device.put(TextInput("one"))
        shown = await answered(talk, 1)
        assert ("too long" if hangs else "went wrong") in shown
        assert len(talk.device.all("alert")) == 1
        talk.tts.error = None
        talk.tts.delay = 0.0
        talk.device.put(TextInput("two"))
        assert await answered(talk, 2) == "You said two."


@on_virtual_time
async def test_a_voice_that_makes_no_sound() -> None:
    talk = Conversation(tts=ScriptedTTS(seconds_per_char=0.0))
    async with talk.running():
        talk.device.put(TextInput("one"))
        await answered(talk, 1)
        assert len(talk.device.all("alert")) == 1


@pytest.mark.parametrize("hangs", [False, True])
@on_virtual_time
async def test_a_detector_that_fails_or_hangs(hangs: bool) -> None:
    talk = Conversation(vad=ScriptedVAD(delay=FOREVER if hangs else 0.0, error=BROKEN))
    async with talk.running():
        talk.listen()
        await talk.say()
        assert ("too long" if hangs else "went wrong") in await answered(talk, 1)
        talk.vad.delay, talk.vad.error = 0.0, None
        await talk.say()
        assert await answered(talk, 2) == "You said hello."


@on_virtual_time
async def test_a_slow_recogniser_does_not_hold_up_the_microphone() -> None:
    talk = Conversation(asr=ScriptedASR(["one", "two"], delay=2.0))
    async with talk.running():
        talk.listen()
        await talk.say(0.5, pause=0.7)
        await talk.say(0.5, pause=0.7)
        assert await answered(talk, 1) == "You said one two."
