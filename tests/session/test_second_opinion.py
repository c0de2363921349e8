"""A second opinion on the end of a turn: it may lengthen the wait, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.audio import LISTEN_RATE, pcm_seconds
from vixio.core.chunk import Completeness, ListenMode, ListenStop
from vixio.core.turns.endpointing import OPINION_S, AdaptiveSilence
from vixio.providers.asr import Recognition
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedASR, silence, speech

KNOWN = Recognition("turn on the lamp", completeness=Completeness.COMPLETE)


class ScriptedOpinion:
    """Gives one answer, ``delay`` seconds after the question."""

    def __init__(self, unfinished: bool | None = True, *, delay: float = 0.1) -> None:
        self.answer = unfinished
        self.delay = delay
        self.asked: list[bytes] = []
        self.running = 0

    async def __call__(self, pcm: bytes) -> bool | None:
        """Return the answer."""
        self.asked.append(pcm)
        self.running += 1
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.running -= 1
        return self.answer


def conversation(
    opinion: ScriptedOpinion,
    heard: Recognition | str = "it is late",
    *,
    usual_ms: int = 500,
    by_words: bool = True,
) -> Conversation:
    return Conversation(
        asr=ScriptedASR([heard]),
        endpointing=(lambda: AdaptiveSilence(usual_ms / 1000)) if by_words else None,
        opinion=opinion,
        turn=TurnSettings(end_silence_ms=usual_ms, think_ms=200),
    )


async def waited(talk: Conversation) -> float:
    """Return the seconds from the end of the voice to the end of the turn."""
    async with talk.running():
        talk.listen()
        await talk.say(1.2, pause=3.0)
        await talk.device.wait_for("stop")
        marks = talk.ended[-1].marks
    return marks["turn_end"] - marks["voice_end"]


def counted(talk: Conversation) -> tuple[int, int, int]:
    """Return how often it was asked, lengthened a pause, and was late."""
    asked, lengthened, late = (
        talk.counters.get(f"smart_turn.{what}") for what in ("asked", "lengthened", "late")
    )
    return asked, lengthened, late


@pytest.mark.parametrize(
    ("opinion", "heard", "seconds", "counts"),
    [
        (ScriptedOpinion(), "it is late", 1.0, (1, 1, 0)),
        (ScriptedOpinion(False), "it is late", 0.5, (1, 0, 0)),
        (ScriptedOpinion(delay=0.0), KNOWN, 0.225, (1, 0, 0)),
        (ScriptedOpinion(), "remind me to", 1.0, (1, 0, 0)),
        (ScriptedOpinion(False), "remind me to", 1.0, (1, 0, 0)),
        (ScriptedOpinion(delay=0.6), "it is late", 0.5, (1, 0, 1)),
        (ScriptedOpinion(None), "it is late", 0.5, (1, 0, 1)),
    ],
    ids=["goes on", "over", "known command", "beginning", "words say more", "late", "not known"],
)
@on_virtual_time
async def test_it_lengthens_a_pause_and_never_shortens_it(
    opinion: ScriptedOpinion,
    heard: Recognition | str,
    seconds: float,
    counts: tuple[int, int, int],
) -> None:
    talk = conversation(opinion, heard)
    assert seconds <= await waited(talk) <= seconds + 0.12
    assert counted(talk) == counts


@pytest.mark.parametrize(("usual_ms", "seconds"), [(300, 0.6), (500, 1.0), (800, 1.2), (1500, 1.5)])
@on_virtual_time
async def test_the_wait_is_twice_the_usual_one_and_1_2_s_at_most(
    usual_ms: int, seconds: float
) -> None:
    talk = conversation(ScriptedOpinion(delay=0.02), usual_ms=usual_ms)
    assert seconds <= await waited(talk) <= seconds + 0.12


@on_virtual_time
async def test_it_lengthens_a_fixed_silence_too() -> None:
    assert 1.0 <= await waited(conversation(ScriptedOpinion(), by_words=False)) <= 1.12


@on_virtual_time
async def test_it_is_asked_once_a_pause_with_the_whole_turn() -> None:
    opinion = ScriptedOpinion()
    talk = conversation(opinion)
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3) + speech(1.0) + silence(0.4))
        assert len(opinion.asked) == 1
        await talk.device.play(speech(0.8) + silence(3.0))
        await talk.device.wait_for("stop")
    first, second = opinion.asked
    assert second.startswith(first), "the turn from its first sound"
    assert not any(first[: LISTEN_RATE // 10]), "with the silence before the voice"
    assert pcm_seconds(first, LISTEN_RATE) == pytest.approx(0.3 + 1.0 + 0.2, abs=0.1)
    assert pcm_seconds(second, LISTEN_RATE) == pytest.approx(0.3 + 1.0 + 0.4 + 0.8 + 0.2, abs=0.1)


@on_virtual_time
async def test_of_a_long_turn_it_gets_the_end() -> None:
    opinion = ScriptedOpinion()
    talk = conversation(opinion)
    async with talk.running():
        talk.listen()
        await talk.say(10.0, pause=3.0)
        await talk.device.wait_for("stop")
    [asked] = opinion.asked
    assert pcm_seconds(asked, LISTEN_RATE) == OPINION_S
    assert not any(asked[-LISTEN_RATE // 10 :]), "up to the pause"


@on_virtual_time
async def test_an_answer_of_a_pause_that_is_over_counts_for_nothing() -> None:
    opinion = ScriptedOpinion(delay=0.5)
    talk = conversation(opinion)
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3) + speech(1.0) + silence(0.4))
        opinion.answer, opinion.delay = False, 0.1
        await talk.device.play(speech(0.8) + silence(3.0))
        await talk.device.wait_for("stop")
        marks = talk.ended[-1].marks
    assert marks["turn_end"] - marks["voice_end"] <= 0.62
    assert counted(talk) == (2, 0, 1)


@on_virtual_time
async def test_the_next_turn_begins_without_a_doubt() -> None:
    opinion = ScriptedOpinion()
    talk = conversation(opinion)
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say(1.2, pause=3.0)
        await talk.device.wait_for("stop")
        opinion.answer = False
        await talk.say(1.2, pause=3.0)
        await talk.device.wait_for("stop", 2)
        marks = talk.ended[-1].marks
    assert marks["turn_end"] - marks["voice_end"] <= 0.62
    lengths = [pcm_seconds(pcm, LISTEN_RATE) for pcm in opinion.asked]
    assert lengths == [pytest.approx(0.3 + 1.2 + 0.2, abs=0.15)] * 2, "nothing of the turn before"


@on_virtual_time
async def test_it_is_asked_although_no_packet_comes() -> None:
    opinion = ScriptedOpinion()
    talk = conversation(opinion)
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3) + speech(1.2) + silence(0.12))
        await talk.device.wait_for("stop")
        marks = talk.ended[-1].marks
    assert counted(talk) == (1, 1, 0)
    assert marks["turn_end"] - marks["voice_end"] >= 1.0


@on_virtual_time
async def test_with_push_to_talk_it_is_not_asked() -> None:
    opinion = ScriptedOpinion()
    talk = conversation(opinion)
    async with talk.running():
        talk.listen(ListenMode.MANUAL)
        await talk.say(1.2, pause=1.0)
        talk.device.put(ListenStop())
        await talk.device.wait_for("stop")
    assert opinion.asked == []


@on_virtual_time
async def test_a_question_ends_with_the_session() -> None:
    opinion = ScriptedOpinion(delay=60.0)
    talk = conversation(opinion)
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3) + speech(1.2) + silence(0.3))
        assert opinion.running == 1
    assert opinion.running == 0
