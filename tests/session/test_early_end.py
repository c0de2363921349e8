"""What becomes of a user who goes on after a turn that ended too early.

docs/engineering/performance.md says what such an end costs; these are its cases.
"""

from __future__ import annotations

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode
from vixio.core.history import UserMessage
from vixio.core.session.events import FinalTranscript
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

FIRST, REST = "set a timer", "for ten minutes"


def talk(answers_after: float) -> Conversation:
    """Return a conversation in which a pause of 0.6 s ends the turn."""
    return Conversation(
        asr=ScriptedASR([FIRST, REST]),
        agent=ScriptedAgent(lambda text: (answers_after, f"You said {text}.")),
        tts=ScriptedTTS(seconds_per_char=0.1),
        turn=TurnSettings(end_silence_ms=300),
    )


async def say_both(conversation: Conversation, mode: ListenMode) -> None:
    conversation.listen(mode)
    utterance = speech(0.8) + silence(0.6) + speech(0.8) + silence(0.7)
    await conversation.device.play(silence(0.3) + utterance)


def asked(conversation: Conversation) -> list[str]:
    return [item.text for item in conversation.history.items() if isinstance(item, UserMessage)]


@on_virtual_time
async def test_before_the_answer_is_heard_both_parts_are_one_turn() -> None:
    for mode in (ListenMode.AUTO, ListenMode.REALTIME):
        conversation = talk(answers_after=1.0)
        async with conversation.running():
            await say_both(conversation, mode)
            await conversation.device.wait_for("stop")
            assert asked(conversation) == [f"{FIRST} {REST}"]
            assert conversation.device.texts() == [f"You said {FIRST} {REST}."]
            # The model was asked for the first part as well.
            assert len(conversation.agent.requests) == 2


@on_virtual_time
async def test_in_auto_mode_the_rest_is_lost_once_the_answer_is_heard() -> None:
    conversation = talk(answers_after=0.0)
    async with conversation.running():
        await say_both(conversation, ListenMode.AUTO)
        await conversation.device.wait_for("stop")
        heard = [each.text for each in conversation.happened if isinstance(each, FinalTranscript)]
        assert heard == [FIRST]
        assert asked(conversation) == [FIRST]
        assert conversation.device.texts() == [f"You said {FIRST}."]


@on_virtual_time
async def test_in_realtime_mode_the_rest_cuts_the_answer_and_is_a_turn_of_its_own() -> None:
    conversation = talk(answers_after=0.0)
    async with conversation.running():
        await say_both(conversation, ListenMode.REALTIME)
        await conversation.device.wait_for("stop", 3)
        assert asked(conversation) == [FIRST, REST]
        assert conversation.device.texts() == [f"You said {FIRST}.", f"You said {REST}."]
        outcomes = [timeline.outcome for timeline in conversation.ended]
        assert outcomes == ["interrupted:voice", "answered"]
