"""A session under an endpointing policy of its own."""

from __future__ import annotations

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Completeness
from vixio.core.clock import now
from vixio.core.errors import ProviderError
from vixio.core.turns.endpointing import AdaptiveSilence, TurnProgress
from vixio.providers.asr import Recognition
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedASR, silence, speech


class WaitsForMore:
    """Waits longer after a word that does not end a sentence."""

    def required_silence(self, progress: TurnProgress) -> float:
        """Return 1.5 s after "and", else 0.3 s."""
        return 1.5 if progress.partial.endswith("and") else 0.3


async def answered_after(talk: Conversation) -> float:
    """Return the seconds from the end of speech to the transcript."""
    async with talk.running():
        talk.listen()
        began = now()
        await talk.say(1.2, pause=3.0)
        transcript = await talk.device.wait_for("transcript")
        return transcript.at - (began + 0.3 + 1.2)


@on_virtual_time
async def test_an_unfinished_sentence_is_given_more_time() -> None:
    asr = ScriptedASR(["turn on the lamp and"], words_per_second=4.0)
    waited = await answered_after(Conversation(asr=asr, endpointing=WaitsForMore))
    assert 1.5 <= waited <= 1.62


@on_virtual_time
async def test_a_finished_one_is_answered_sooner_than_by_default() -> None:
    asr = ScriptedASR(["turn on the big lamp"], words_per_second=4.0)
    waited = await answered_after(Conversation(asr=asr, endpointing=WaitsForMore))
    assert 0.3 <= waited <= 0.42


@on_virtual_time
async def test_the_words_of_the_pause_decide_how_long_it_may_last() -> None:
    known = Recognition("turn on the lamp", completeness=Completeness.COMPLETE)
    begun = Recognition("", rejected=True, completeness=Completeness.INCOMPLETE)
    cases: dict[str, tuple[Recognition | str, float]] = {
        "a command that is known": (known, 0.225),
        "anything": ("it is late", 0.5),
        "words that only begin something": ("remind me to", 1.0),
        "the beginning of a known command": (begun, 1.0),
    }
    for case, (heard, seconds) in cases.items():
        talk = Conversation(
            asr=ScriptedASR([heard]),
            endpointing=AdaptiveSilence,
            turn=TurnSettings(think_ms=200),
        )
        async with talk.running():
            talk.listen()
            await talk.say(1.2, pause=3.0)
            await talk.device.wait_for("stop")
            marks = talk.ended[-1].marks
        assert seconds <= marks["turn_end"] - marks["voice_end"] <= seconds + 0.12, case


@on_virtual_time
async def test_a_known_command_ends_a_turn_although_no_packet_comes() -> None:
    known = Recognition("turn on the lamp", completeness=Completeness.COMPLETE)
    talk = Conversation(
        asr=ScriptedASR([known], delay=0.1),
        endpointing=AdaptiveSilence,
        turn=TurnSettings(think_ms=200),
    )
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3) + speech(1.2) + silence(0.3))
        stopped = now()
        await talk.device.wait_for("transcript")
        assert now() - stopped <= 0.06


@on_virtual_time
async def test_the_end_waits_for_words_that_are_on_their_way_but_not_for_long() -> None:
    """The answer cannot begin before them; if they only begin something, nobody is cut off."""
    begun = Recognition("", rejected=True, completeness=Completeness.INCOMPLETE)
    known = Recognition("turn on the lamp", completeness=Completeness.COMPLETE)
    busy = ProviderError("asr", "busy")
    cases: dict[str, tuple[Recognition | str | Exception, float, float]] = {
        "anything": ("it is late", 0.45, 0.65),
        "a command that is known": (known, 0.45, 0.65),
        "words that only begin something": ("remind me to", 0.45, 1.0),
        "the beginning of a known command": (begun, 0.45, 1.0),
        "words that take very long": ("it is late", 3.0, 1.0),
        "a recogniser that fails in the pause": (busy, 0.45, 0.65),
    }
    for case, (heard, delay, seconds) in cases.items():
        talk = Conversation(
            asr=ScriptedASR([heard, "it is late"], delay=delay),
            endpointing=AdaptiveSilence,
            turn=TurnSettings(think_ms=200),
        )
        async with talk.running():
            talk.listen()
            await talk.say(1.2, pause=5.0)
            await talk.device.wait_for("stop")
            marks = talk.ended[-1].marks
        waited = marks["turn_end"] - marks["voice_end"]
        assert seconds - 0.05 <= waited <= seconds + 0.12, (case, waited)
        if seconds < 1.0 and heard is not busy:
            assert marks["transcript"] == marks["turn_end"], case


@on_virtual_time
async def test_who_goes_on_before_the_words_are_known_is_not_cut_off() -> None:
    talk = Conversation(
        asr=ScriptedASR(["remind me to", "remind me to buy milk"], delay=0.45),
        endpointing=AdaptiveSilence,
        turn=TurnSettings(think_ms=200),
    )
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3) + speech(0.8) + silence(0.56))
        await talk.say(0.8, pause=3.0)
        await talk.device.wait_for("stop")
        assert [sent.text for sent in talk.device.all("transcript")] == ["remind me to buy milk"]


@on_virtual_time
async def test_a_policy_serves_one_session() -> None:
    made: list[WaitsForMore] = []

    def make() -> WaitsForMore:
        made.append(WaitsForMore())
        return made[-1]

    for _ in range(2):
        await answered_after(Conversation(endpointing=make))
    assert len(made) == 2


@on_virtual_time
async def test_partial_results_change_nothing_for_the_device() -> None:
    sent = []
    for words_per_second in (0.0, 5.0):
        talk = Conversation(asr=ScriptedASR(["turn on"], words_per_second=words_per_second))
        async with talk.running():
            talk.listen()
            began = now()
            await talk.say()
            await talk.device.wait_for("stop")
            sent.append(
                [(each.kind, round(each.at - began, 3), each.text) for each in talk.device.sent]
            )
    assert sent[0] == sent[1]
