"""A session that is to end: what is being said is heard, then the connection closes (1001)."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, TextInput
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.session.session import Session
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS

FIRST = "One two three four five six seven eight."
SECOND = "Nine ten eleven twelve thirteen fourteen."
PER_CHAR = 0.05
LENGTH_S = len(FIRST) * PER_CHAR
GOODBYE = ["1001 the server is stopping"]


def talking(*, delay: float = 0.0) -> Conversation:
    return Conversation(
        asr=ScriptedASR(["talk"], delay=0.2),
        agent=ScriptedAgent(lambda _: (delay, f"{FIRST} {SECOND}")),
        tts=ScriptedTTS(delay=0.1, seconds_per_char=PER_CHAR),
    )


def session(talk: Conversation) -> Session:
    assert talk.session is not None
    return talk.session


def goodbyes(talk: Conversation) -> list[str]:
    return [sent.text for sent in talk.device.all("close")]


@pytest.mark.parametrize("listening", [False, True])
@on_virtual_time
async def test_an_idle_device_goes_at_once(listening: bool) -> None:
    talk = talking()
    async with talk.running():
        if listening:
            talk.listen(ListenMode.REALTIME)
        await asyncio.sleep(3.0)
        asked_at = now()
        session(talk).leave()
        await talk.device.wait_for("close")
        assert now() - asked_at < 0.01
        assert goodbyes(talk) == GOODBYE


@pytest.mark.parametrize("after", [0.2, 1.5, 4.0])
@on_virtual_time
async def test_a_reply_is_heard_to_its_end(after: float) -> None:
    """Also one that is still being thought of."""
    talk = talking(delay=0.5)
    async with talk.running():
        talk.device.put(TextInput("talk"))
        await asyncio.sleep(after)
        session(talk).leave()
        await talk.device.wait_for("close")
        kinds = [sent.kind for sent in talk.device.sent]
        assert kinds[-2:] == ["stop", "close"]
        assert talk.device.texts() == [FIRST, SECOND]
        assert talk.ended[-1].outcome == "answered"
        assert goodbyes(talk) == GOODBYE


@on_virtual_time
async def test_a_user_who_speaks_is_answered() -> None:
    talk = talking()
    async with talk.running():
        talk.listen()
        saying = asyncio.create_task(talk.say(2.0))
        await asyncio.sleep(1.0)
        session(talk).leave()
        await talk.device.wait_for("close")
        assert talk.device.texts() == [FIRST, SECOND]
        await saying


@on_virtual_time
async def test_nothing_else_is_said() -> None:
    talk = talking()
    async with talk.running():
        talk.device.put(TextInput("talk"))
        await talk.device.wait_for("audio")
        waiting = session(talk).say("The washing machine is done.")
        session(talk).leave()
        await talk.device.wait_for("close")
        assert talk.device.texts() == [FIRST, SECOND]
    assert waiting.done


@pytest.mark.parametrize("into", [0.3, 1.0, LENGTH_S - 0.5])
@on_virtual_time
async def test_a_long_reply_ends_with_the_sentence_that_sounds(into: float) -> None:
    talk = talking()
    async with talk.running():
        talk.device.put(TextInput("talk"))
        began = (await talk.device.wait_for("audio")).at
        await asyncio.sleep(into)
        session(talk).leave(whole=False)
        await talk.device.wait_for("close")
        assert talk.device.texts() == [FIRST]
        assert [sent.kind for sent in talk.device.sent][-2:] == ["stop", "close"]
        (stop,) = talk.device.all("stop")
        assert LENGTH_S <= stop.at - began < LENGTH_S + 0.3
        assert len(talk.device.all("audio")) == round(LENGTH_S / 0.06 + 0.5)
        user, assistant = talk.history.items()
        assert user == UserMessage("talk")
        assert isinstance(assistant, AssistantMessage)
        assert assistant.text == FIRST
        assert talk.ended[-1].outcome == "interrupted:stopping"


@on_virtual_time
async def test_the_last_sentence_is_an_answer_as_any_other() -> None:
    talk = talking()
    async with talk.running():
        talk.device.put(TextInput("talk"))
        await talk.device.wait_for("sentence", 2)
        session(talk).leave(whole=False)
        await talk.device.wait_for("close")
        assert talk.device.texts() == [FIRST, SECOND]
        assert talk.ended[-1].outcome == "answered"


@on_virtual_time
async def test_a_reply_that_is_not_heard_yet_gets_one_sentence() -> None:
    talk = talking(delay=2.0)
    async with talk.running():
        talk.device.put(TextInput("talk"))
        await asyncio.sleep(1.0)
        session(talk).leave(whole=False)
        await talk.device.wait_for("close")
        assert talk.device.texts() == [FIRST]
