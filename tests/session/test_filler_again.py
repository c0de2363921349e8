"""A speech that falls silent while a tool works: a few words again, at growing intervals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import Abort, Chunk, ListenMode, ListenStart, TextInput
from vixio.core.clock import now
from vixio.core.errors import ProviderError
from vixio.core.history import AssistantMessage
from vixio.core.messages import FILLERS, FILLERS_AGAIN, message
from vixio.core.session.events import Failure, SpeechPlayed
from vixio.core.session.filler import SILENT_S
from vixio.core.session.settings import SessionSettings
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.core.turns.interruption import Decision, InterruptionFactory, Overlap, PauseAtVoice
from vixio.testing import (
    ManualConnection,
    ScriptedAgent,
    ScriptedASR,
    ScriptedTTS,
    ToolUse,
    silence,
    speech,
)
from vixio.tools.builtin import builtin_source

AFTER = 2.0
A_CHAR_S = 0.05
FIRST = {message(key, "en") for key in FILLERS}
AGAIN = [message(key, "en") for key in FILLERS_AGAIN]
MOMENT = "One moment."
DONE = "Done."


async def work(seconds: float) -> str:
    """Take ``seconds``."""
    await asyncio.sleep(seconds)
    return "42"


def working(seconds: float, *words: str, after: float = AFTER, **parts: object) -> Conversation:
    """Return a conversation that says ``words`` and calls a tool which takes ``seconds``.

    Anything but "work" is answered at once. A turn may take 100 s.
    """

    def script(text: str) -> tuple[str | ToolUse, ...]:
        return (*words, ToolUse("work", {"seconds": seconds}), DONE) if text == "work" else ("No.",)

    timeouts = replace(TIMEOUTS, turn=100.0, agent_first=100.0, agent_next=100.0)
    given: dict[str, object] = {
        "agent": ScriptedAgent(script),
        "timeouts": timeouts,
        "settings": SessionSettings(timeouts=timeouts, filler_after=after),
        "tts": ScriptedTTS(seconds_per_char=A_CHAR_S),
    }
    tool = func_to_tool_definition(work, "here", ToolOptions(timeout=600.0))
    runtime = ToolRuntime([builtin_source(), FixedSource("here", [tool])])
    return Conversation(runtime=runtime, **given | parts)  # type: ignore[arg-type]  # passed on


def silences(talk: Conversation) -> list[float]:
    """Return the seconds of silence before each sentence but the first."""
    said = talk.device.all("sentence")
    ends = [sent.at + A_CHAR_S * len(sent.text) for sent in said]
    return [then.at - end for end, then in zip(ends, said[1:], strict=False)]


def turn_counters(talk: Conversation) -> dict[str, int]:
    names = talk.counters.snapshot()
    return {name: count for name, count in names.items() if name.startswith("turn.")}


async def answered(talk: Conversation) -> None:
    async with talk.running():
        talk.device.put(TextInput("work"))
        await talk.device.wait_for("stop", seconds=200)
        await asyncio.sleep(2 * SILENT_S)
        assert len(talk.device.all("start")) == len(talk.device.all("stop")) == 1


@on_virtual_time
async def test_silence_behind_words_is_broken_at_growing_intervals() -> None:
    talk = working(61.0, MOMENT)
    await answered(talk)
    assert talk.device.texts() == [MOMENT, AGAIN[0], AGAIN[1], AGAIN[0], DONE]
    first, second, third, _ = silences(talk)
    assert [first, second, third] == [
        pytest.approx(times * SILENT_S, abs=0.6) for times in (1, 2, 4)
    ]
    assert min(first, second, third) >= SILENT_S


@on_virtual_time
async def test_silence_behind_the_first_filler_is_broken() -> None:
    talk = working(60.0)
    await answered(talk)
    filler, *again = talk.device.texts()
    assert filler in FIRST
    assert again == [*AGAIN, DONE]
    assert silences(talk)[:2] == [
        pytest.approx(SILENT_S, abs=0.6),
        pytest.approx(2 * SILENT_S, abs=0.6),
    ]


@pytest.mark.parametrize("words", [(), (MOMENT,)])
@on_virtual_time
async def test_it_is_no_part_of_the_answer(words: tuple[str, ...]) -> None:
    talk, quiet = working(60.0, *words), working(60.0, *words, after=0.0)
    await answered(talk)
    await answered(quiet)
    assert quiet.device.texts() == [*words, DONE]
    heard = " ".join([*words, DONE])
    (played,) = [each for each in talk.happened if isinstance(each, SpeechPlayed)]
    assert played.text == heard
    assert talk.history.items() == quiet.history.items()
    assert AssistantMessage(DONE) in talk.history.items()
    assert turn_counters(talk) == turn_counters(quiet)
    (timeline,), (expected,) = talk.ended, quiet.ended
    assert set(timeline.marks) - set(expected.marks) == (set() if words else {"filler"})
    moments = ("first_sentence", "first_audio", *(("first_frame",) if words else ()))
    assert [timeline.since_turn_end()[mark] for mark in moments] == [
        expected.since_turn_end()[mark] for mark in moments
    ]


@on_virtual_time
async def test_a_tool_in_time_costs_no_second_filler() -> None:
    talk = working(9.0)
    await answered(talk)
    assert len(talk.device.texts()) == 2
    assert talk.device.texts()[1] == DONE
    talk = working(7.0, MOMENT)
    await answered(talk)
    assert talk.device.texts() == [MOMENT, DONE]


@pytest.mark.parametrize("quarters", range(30, 50))
@on_virtual_time
async def test_an_answer_about_then_is_whole_and_last(quarters: int) -> None:
    """Before, while the words are made, while they play, and behind them."""
    tts = ScriptedTTS(seconds_per_char=A_CHAR_S, delay=1.0)
    talk = working(quarters / 4, MOMENT, tts=tts)
    await answered(talk)
    texts = talk.device.texts()
    # The words before end at 1.7 s, at the latest; these are due 8 s later and made 1 s later.
    assert texts == ([MOMENT, DONE] if quarters <= 42 else [MOMENT, AGAIN[0], DONE])
    assert all(silent > -0.4 for silent in silences(talk)), "no earlier than the head start"
    (timeline,) = talk.ended
    packets = sum(-(-round(1000 * A_CHAR_S * len(text)) // 60) for text in texts)
    assert timeline.heard_ms is not None
    assert abs(timeline.heard_ms - 60 * packets) <= 60, "nothing was cut"


@on_virtual_time
async def test_ten_seconds_of_work_have_their_answer_behind_the_words() -> None:
    talk = working(10.0, MOMENT)
    await answered(talk)
    assert talk.device.texts() == [MOMENT, AGAIN[0], DONE]
    assert silences(talk)[1] < 0.5


@on_virtual_time
async def test_an_answer_during_long_words_follows_them() -> None:
    """They are longer than the pacer's buffer, so they are still being put into it."""
    talk = working(12.0, MOMENT, tts=ScriptedTTS(seconds_per_char=0.2))
    await answered(talk)
    _, again, done = talk.device.all("sentence")
    assert (again.text, done.text) == (AGAIN[0], DONE)
    assert again.at < 12
    assert done.at - again.at > 0.2 * len(AGAIN[0]) - 0.5


@on_virtual_time
async def test_the_end_of_the_words_before_is_heard_in_front() -> None:
    talk = working(20.0, MOMENT)
    await answered(talk)
    kinds = [sent.kind for sent in talk.device.sent]
    said = [at for at, kind in enumerate(kinds) if kind == "sentence"]
    assert kinds[said[0] : said[1]].count("audio") == -(-len(MOMENT) * 50 // 60)


@on_virtual_time
async def test_a_tool_call_shows_that_the_voice_is_done() -> None:
    timeouts = replace(TIMEOUTS, turn=100.0, agent_first=90.0, agent_next=90.0, tts=4 * SILENT_S)
    settings = SessionSettings(timeouts=timeouts, filler_after=AFTER)
    talk = working(10.0, MOMENT, timeouts=timeouts, settings=settings)
    await answered(talk)
    assert talk.device.texts() == [MOMENT, AGAIN[0], DONE]


class Stalling(ManualConnection):
    """Takes no audio for a while after the first of it."""

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Send."""
        await super().send_audio(packets, timestamp_ms)
        if not timestamp_ms:
            await asyncio.sleep(2 * SILENT_S)


@on_virtual_time
async def test_audio_on_its_way_is_no_silence() -> None:
    talk = working(40.0, 5 * "One moment and ", device=Stalling())
    await answered(talk)
    words, again, done = talk.device.all("sentence")
    assert (again.text, done.text) == (AGAIN[0], DONE)
    assert again.at - words.at > 3 * SILENT_S


CUTS: dict[str, Chunk] = {
    "abort": Abort(),
    "button": ListenStart(ListenMode.MANUAL),
    "text": TextInput("else"),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("at", [5.0, SILENT_S + 0.8, SILENT_S + 1.0, SILENT_S + 5.0])
@on_virtual_time
async def test_a_cut_ends_it(cut: str, at: float) -> None:
    talk = working(60.0, MOMENT)
    async with talk.running():
        talk.device.put(TextInput("work"))
        await asyncio.sleep(at)
        before = len(talk.device.all("sentence"))
        talk.device.put(CUTS[cut])
        await asyncio.sleep(90)
        assert talk.device.texts()[before:] == (["No."] if cut == "text" else [])
        assert talk.device.sent[-1].kind != "start"
        assert len(talk.device.all("start")) == (2 if cut == "text" else 1)


class StubbornVoice(ScriptedTTS):
    """Ignores its cancellation, and speaks all the same."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak."""
        if text == AGAIN[0] or text in FIRST:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1)
        async for piece in super().synthesize(text, language=language):
            yield piece


@pytest.mark.parametrize(("words", "due"), [((), AFTER), ((MOMENT,), SILENT_S + 0.8)])
@on_virtual_time
async def test_a_voice_that_ignores_its_cancellation_holds_nothing_up(
    words: tuple[str, ...], due: float
) -> None:
    talk = working(due + 0.5, *words, tts=StubbornVoice())
    await answered(talk)
    assert talk.device.texts() == [*words, DONE]
    assert talk.ended[0].outcome == "answered"


class NeverCut:
    """The user's voice changes nothing."""

    def decide(self, overlap: Overlap) -> Decision:
        """Play on."""
        return Decision.IGNORE


@pytest.mark.parametrize(
    ("interruption", "then"),
    [(NeverCut, "Sorry, I did not understand that."), (PauseAtVoice, AGAIN[0])],
)
@on_virtual_time
async def test_a_user_who_speaks_is_not_talked_over(
    interruption: InterruptionFactory, then: str
) -> None:
    asr = ScriptedASR(["work", ""])
    talk = working(60.0, MOMENT, asr=asr, interruption=interruption)
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say(0.6, pause=1.5)
        (moment,) = talk.device.all("sentence")
        await talk.device.play(silence(moment.at + SILENT_S - 1 - now()))
        await talk.device.play(speech(5.0))
        until = now()
        assert until > moment.at + SILENT_S + 3
        assert talk.device.texts() == [MOMENT]
        await talk.device.play(silence(15.0))
        assert talk.device.texts()[1] == then
        assert talk.device.all("sentence")[1].at > until


@on_virtual_time
async def test_a_voice_that_fails_costs_these_words_alone() -> None:
    tts = ScriptedTTS(
        seconds_per_char=A_CHAR_S, error=ProviderError("scripted", "no"), error_on=AGAIN[0]
    )
    talk = working(40.0, MOMENT, tts=tts)
    await answered(talk)
    assert tts.spoken.count(AGAIN[0]) == 1
    assert talk.device.texts() == [MOMENT, AGAIN[1], DONE]
    assert silences(talk)[0] == pytest.approx(2 * SILENT_S, abs=0.6)
    assert not [each for each in talk.happened if isinstance(each, Failure)]
    assert talk.ended[0].outcome == "answered"


class SlowAt(ScriptedTTS):
    """Stalls before one sentence, and in the middle of it."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak."""
        async for number, piece in _numbered(super().synthesize(text, language=language)):
            if text == "Two." and number < 2:
                await asyncio.sleep(1.5 * SILENT_S)
            yield piece


async def _numbered(pieces: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, bytes]]:
    number = 0
    async for piece in pieces:
        yield number, piece
        number += 1


@on_virtual_time
async def test_a_sentence_that_the_voice_is_at_is_not_broken() -> None:
    timeouts = replace(TIMEOUTS, tts=2 * SILENT_S)
    talk = Conversation(
        agent=ScriptedAgent(lambda text: ("One. ", "Two.")),
        tts=SlowAt(),
        timeouts=timeouts,
        settings=SessionSettings(timeouts=timeouts, filler_after=AFTER),
    )
    async with talk.running():
        talk.device.put(TextInput("count"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["One.", "Two."]


@on_virtual_time
async def test_the_turns_limit_ends_it() -> None:
    timeouts = replace(TIMEOUTS, turn=30.0, agent_first=90.0, agent_next=90.0)
    settings = SessionSettings(timeouts=timeouts, filler_after=AFTER)
    talk = working(500.0, MOMENT, timeouts=timeouts, settings=settings)
    await answered(talk)
    *before, sorry, _ = talk.device.texts()
    assert before == [MOMENT, *AGAIN]
    assert message("timeout", "en").startswith(sorry)
    assert talk.ended[0].outcome == "failed:timeout"


@on_virtual_time
async def test_a_question_on_command_is_bridged_once_it_is_heard() -> None:
    for words, expected in (((MOMENT,), [MOMENT, AGAIN[0], DONE]), ((), [DONE])):
        talk = working(12.0, *words)
        async with talk.running():
            assert talk.session is not None
            talk.session.ask("work")
            await talk.device.wait_for("stop")
            assert talk.device.texts() == expected
