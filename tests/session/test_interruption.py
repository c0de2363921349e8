"""Interrupting: nothing but ``tts stop`` follows, and the next turn starts clean."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, Chunk, ListenMode, ListenStart, TextInput
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem, UserMessage
from vixio.core.pacer import PacerSettings
from vixio.core.session.endings import CROSSING_S, HOLD_S
from vixio.core.session.settings import SessionSettings
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import ToolDefinition
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, ToolUse, silence, speech

LONG = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."


def chatty() -> Conversation:
    agent = ScriptedAgent(
        lambda text: ("Short.",) if text == "next" else (0.5, LONG, 0.5, " And a last sentence.")
    )
    return Conversation(
        asr=ScriptedASR(["talk", "next"], delay=0.5), agent=agent, tts=ScriptedTTS(delay=0.5)
    )


CAUSES: dict[str, Chunk] = {
    "abort": Abort("wake_word_detected"),
    "listen": ListenStart(ListenMode.AUTO),
    "manual listen": ListenStart(ListenMode.MANUAL),
    "text": TextInput("next"),
}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("after", [0.0, 0.06, 1.0, 4.0])
@on_virtual_time
async def test_a_speaking_reply_stops_at_once(cause: str, after: float) -> None:
    talk = chatty()
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("audio")
        await asyncio.sleep(after)
        at = now()
        talk.device.put(CAUSES[cause])
        await asyncio.sleep(HOLD_S + 0.09)
        assert not [sent for sent in talk.device.all("audio") if sent.at > at + 0.001]
        # Sooner after the start, the device may have sent it before it knew.
        knew = after >= CROSSING_S
        listens = knew and cause == "manual listen"
        held = HOLD_S if knew and cause == "abort" else 0.0
        stops = [stop.at - at for stop in talk.device.all("stop")]
        assert stops == ([] if listens else [pytest.approx(held, abs=0.001)])
        if cause != "text":
            await asyncio.sleep(10)
            assert talk.agent.running == 0
            assert talk.tts.running == 0
            talk.device.put(TextInput("next"))
        await talk.device.wait_for("stop", len(stops) + 1)
        assert talk.device.texts()[-1] == "Short."
        assert [request.text for request in talk.agent.requests] == ["talk", "next"]


@pytest.mark.parametrize("stage", ["asr", "model", "tts"])
@on_virtual_time
async def test_abort_while_thinking_ends_the_turn_unheard(stage: str) -> None:
    talk = chatty()
    async with talk.running():
        talk.listen()
        await talk.device.play(speech(0.6) + silence(0.56))
        await asyncio.sleep({"asr": 0.2, "model": 0.7, "tts": 1.0}[stage])
        talk.device.put(Abort())
        stop = await talk.device.wait_for("stop")
        await asyncio.sleep(10)
        assert [sent.kind for sent in talk.device.sent if sent.at >= stop.at] == ["stop"]
        assert not talk.device.all("start")
        talk.device.put(TextInput("next"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts() == ["Short."]


@pytest.mark.parametrize("after", [0.01, 0.05, 0.07, 0.97])
@on_virtual_time
async def test_the_next_reply_is_played_behind_the_packet_that_still_sounds(after: float) -> None:
    """Its ``tts stop`` waits for that, or its last word would be cut."""
    talk = chatty()
    talk.settings = SessionSettings(pacer=PacerSettings(start_lead_ms=0))
    talk.agent.script = lambda text: ("Short.",) if text == "next" else (LONG,)
    talk.tts.delay = 0.0
    async with talk.running():
        talk.device.put(TextInput("talk"))
        first = await talk.device.wait_for("audio")
        await asyncio.sleep(after)
        talk.device.put(TextInput("next"))
        stop = await talk.device.wait_for("stop", 2)
        again = talk.device.all("start")[1].at
        audio = [sent for sent in talk.device.all("audio") if sent.at >= again]
        packet = 0.06
        ends = first.at + packet * (int((again - first.at) / packet + 1e-6) + 1)
        played = ends + packet * len(audio)
        assert 0 <= stop.at - played <= packet


@on_virtual_time
async def test_the_history_keeps_what_was_heard() -> None:
    talk = chatty()
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("audio")
        await asyncio.sleep(1.0)
        talk.device.put(Abort())
        await talk.device.wait_for("stop")
        user, assistant = talk.history.items()
        assert user == UserMessage("talk")
        assert isinstance(assistant, AssistantMessage)
        assert LONG.startswith(assistant.text)
        assert abs(len(assistant.text) - 1.0 / 0.05) <= 2, "a second of speech at 50 ms a letter"


@on_virtual_time
async def test_the_history_keeps_what_was_heard_when_the_device_vanishes() -> None:
    talk = chatty()
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("audio")
        await asyncio.sleep(1.0)
    _, assistant = talk.history.items()
    assert isinstance(assistant, AssistantMessage)
    assert abs(len(assistant.text) - 1.0 / 0.05) <= 2, "a second of speech at 50 ms a letter"


@on_virtual_time
async def test_voice_interrupts_in_realtime_mode_and_only_there() -> None:
    for mode, expected in ((ListenMode.REALTIME, 3), (ListenMode.AUTO, 1)):
        talk = chatty()
        async with talk.running():
            talk.listen(mode)
            await talk.say()
            await talk.device.wait_for("audio")
            at = now()
            await talk.device.play(silence(0.3) + speech(0.8) + silence(1.0))
            await asyncio.sleep(10)
            assert len(talk.device.all("stop")) == expected
            if mode is ListenMode.REALTIME:
                kinds = [each.kind for each in talk.device.sent if each.kind in ("start", "stop")]
                assert kinds == ["start", "stop", "start", "stop", "start", "stop"]
                cut, silenced, _ = talk.device.all("stop")
                assert cut.at - at < 0.3 + 0.2
                assert silenced.at == pytest.approx(cut.at + HOLD_S)
                assert talk.device.texts()[-1] == "Short."


@pytest.mark.parametrize("after", [0.0, HOLD_S / 2])
@on_virtual_time
async def test_a_device_that_listens_on_the_first_stop_is_not_left_speaking(after: float) -> None:
    talk = chatty()
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say()
        await talk.device.wait_for("audio")
        speaking = asyncio.create_task(talk.device.play(silence(0.3) + speech(0.8) + silence(1.0)))
        await talk.device.wait_for("start", 2)
        await asyncio.sleep(after)
        talk.listen(ListenMode.REALTIME)
        await speaking
        await asyncio.sleep(10)
        kinds = [each.kind for each in talk.device.sent if each.kind in ("start", "stop")]
        assert kinds == ["start", "stop", "start", "stop", "start", "stop"]
        assert talk.device.texts()[-1] == "Short."


@pytest.mark.parametrize("within", [0.02, 0.1, 0.3])
@on_virtual_time
async def test_the_next_answer_is_not_stopped_by_the_end_of_the_one_before(within: float) -> None:
    talk = chatty()
    talk.asr, talk.tts = ScriptedASR(["talk", ""], delay=0.5), ScriptedTTS()
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say()
        await talk.device.wait_for("audio")
        speaking = asyncio.create_task(talk.device.play(silence(0.3) + speech(0.2) + silence(2.0)))
        await talk.device.wait_for("start", 2)
        await asyncio.sleep(within)
        talk.device.put(TextInput("next"))
        await speaking
        await asyncio.sleep(10)
        sent = talk.device.sent
        at = max(i for i, each in enumerate(sent) if each.text == "Short.")
        begun = [each.kind for each in sent[:at] if each.kind in ("start", "stop")]
        assert begun[-2:] == ["stop", "start"]
        rest = [each.kind for each in sent[at:] if each.kind in ("start", "stop", "audio")]
        assert rest == [*["audio"] * (len(rest) - 1), "stop"]
        assert len(rest) > 3


@on_virtual_time
async def test_a_repeated_listen_start_while_thinking_changes_nothing() -> None:
    talk = chatty()
    async with talk.running():
        talk.listen()
        await talk.device.play(speech(0.6) + silence(0.6))
        talk.listen()
        talk.listen()
        await talk.device.wait_for("stop")
        assert len(talk.agent.requests) == 1


@on_virtual_time
async def test_a_tool_call_that_was_interrupted_is_closed_in_the_history() -> None:
    async def slow() -> str:
        await asyncio.sleep(30)
        return "late"

    agent = ScriptedAgent(
        lambda text: ("Well.", ToolUse("slow", {}), "Done.") if text == "talk" else ("Short.",)
    )
    talk = Conversation(asr=ScriptedASR(["talk"]), agent=agent)
    talk.tools.replace("local", [ToolDefinition("slow", "", caller=FunctionCaller(slow))])
    await agent.initialize(talk.tools.definitions())
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("audio")
        await asyncio.sleep(2)
        talk.device.put(Abort())
        await talk.device.wait_for("stop")
        await asyncio.sleep(60)
        kinds = [type(item) for item in talk.history.items()]
        assert kinds == [UserMessage, AssistantMessage, ToolCallItem, ToolResultItem]


@pytest.mark.parametrize("delay", [0.1, 0.4, 0.9, 1.2, 1.6, 2.0, 2.4, 4.0, 6.0])
@on_virtual_time
async def test_a_device_may_vanish_at_any_moment(delay: float) -> None:
    talk = chatty()
    async with talk.running():
        talk.listen()
        speaking = asyncio.create_task(talk.say())
        await asyncio.sleep(delay)
        talk.device.vanish()
        await speaking
