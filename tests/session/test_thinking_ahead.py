"""An answer is begun in a pause of the user, and has no effect if the user goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, Alternative, ListenMode, ListenStart
from vixio.core.device import DeviceProfile
from vixio.core.errors import ProviderError
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.metrics import ModelUse
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.providers.asr import Recognition
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import (
    ScriptedAgent,
    ScriptedASR,
    ScriptedTTS,
    ToolUse,
    silence,
    speech,
)
from vixio.testing.clock import run_virtual

THINK = TurnSettings(think_ms=200)
HALVES = ("good morning", "good morning my friend")
USE = ModelUse("m", 10, 5)


def answering(delay: float = 0.0) -> ScriptedAgent:
    return ScriptedAgent(lambda text: (delay, f"You said {text}.", USE))


def talking(
    asr: Sequence[str | Recognition | Exception] = ("hello",), **parts: object
) -> Conversation:
    """Return a conversation with tools: without, an agent is not asked before its turn."""
    given = {"turn": THINK, "agent": answering(), "runtime": ToolRuntime([]), **parts}
    return Conversation(asr=ScriptedASR(asr), **given)  # type: ignore[arg-type]  # by name


async def answered(talk: Conversation) -> float:
    """Have the user say something; return the seconds from the end of the turn to the answer."""
    before = len(talk.device.all("stop"))
    talk.listen()
    await talk.say()
    await talk.device.wait_for("stop", before + 1)
    await asyncio.sleep(0)
    return talk.ended[-1].since_turn_end()["first_audio"] / 1000


async def speaks(talk: Conversation, seconds: float, pause: float) -> None:
    """Have the user speak, and be silent."""
    await talk.device.play(speech(seconds) + silence(pause))


def counted(talk: Conversation) -> tuple[int, int, int]:
    counts = talk.counters
    return tuple(counts.get(f"turn.ahead{what}") for what in ("", "_taken", "_dropped"))  # type: ignore[return-value]


@on_virtual_time
async def test_a_quick_answer_is_there_when_the_turn_ends() -> None:
    talk = talking()
    async with talk.running():
        assert await answered(talk) <= 0.03
        marks = talk.ended[0].since_turn_end()
        assert list(marks.values()) == sorted(marks.values()), "nothing is said to be before it"
        assert marks["first_sentence"] == 0
        assert counted(talk) == (1, 1, 0)
        assert talk.device.texts() == ["You said hello."]
        assert talk.history.items() == [UserMessage("hello"), AssistantMessage("You said hello.")]
        assert len(talk.asr.utterances) == len(talk.agent.requests) == 1


@on_virtual_time
async def test_a_slow_one_is_as_much_sooner_as_it_was_begun() -> None:
    seconds = []
    for turn in (TurnSettings(think_ms=0), THINK):
        talk = talking(turn=turn, agent=answering(0.4), tts=ScriptedTTS(delay=0.2))
        async with talk.running():
            seconds.append(await answered(talk))
    assert seconds[0] == 0.6
    # From the packet nearest to 200 ms of silence to the one with 500.
    assert 0.3 < seconds[0] - seconds[1] <= 0.37


@on_virtual_time
async def test_the_voice_does_not_wait_for_the_end_of_the_turn() -> None:
    """Neither within an answer nor for its last sentence, behind which nothing comes."""
    talk = talking(agent=answering(0.05), tts=ScriptedTTS(delay=0.2))
    async with talk.running():
        assert await answered(talk) <= 0.03


@on_virtual_time
async def test_nothing_is_left_of_it_when_the_user_goes_on() -> None:
    talk = talking(HALVES)
    async with talk.running():
        talk.listen()
        await speaks(talk, 0.6, 0.35)
        assert counted(talk) == (1, 0, 0)
        assert not talk.device.texts()
        await speaks(talk, 0.6, 0.9)
        await talk.device.wait_for("stop")
        assert counted(talk) == (2, 1, 1)
        assert [request.text for request in talk.agent.requests] == list(HALVES)
        assert talk.device.texts() == [f"You said {HALVES[1]}."]
        assert talk.history.items() == [
            UserMessage(HALVES[1]),
            AssistantMessage(f"You said {HALVES[1]}."),
        ]
        await asyncio.sleep(0)
        assert len(talk.ended) == 1
        assert talk.ended[0].outcome == "answered"
        # What the abandoned answer cost is counted, but not as the turn's.
        assert talk.counters.get("model.tokens.input") == 20
        assert talk.ended[0].input_tokens == 10
        early, whole = talk.asr.utterances
        assert whole.startswith(early[:-9_600]), "it is heard again from its first word"


@on_virtual_time
async def test_its_audio_waits_and_the_words_are_shown_once() -> None:
    talk = talking(HALVES)
    async with talk.running():
        talk.listen()
        await speaks(talk, 0.6, 0.4)
        assert [sent.kind for sent in talk.device.sent] == []
        await speaks(talk, 0.6, 0.9)
        await talk.device.wait_for("stop")
        assert [sent.text for sent in talk.device.all("transcript")] == [HALVES[1]]


@dataclass
class Lamp:
    """A tool with an effect, one without, and who calls them."""

    switched: int = 0
    looked: int = 0
    delay: float = 0.0
    talk: Conversation = field(init=False)

    def __post_init__(self) -> None:
        look = func_to_tool_definition(self.look, options=ToolOptions(read_only=True))
        source = FixedSource("house", [func_to_tool_definition(self.switch), look])
        self.talk = talking(
            ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"],
            agent=ScriptedAgent(self.script),
            runtime=ToolRuntime([source]),
        )

    def script(self, _text: str) -> tuple[float | str | ToolUse, ...]:
        return (self.delay, ToolUse("look", {}), ToolUse("switch", {}), "Done.")

    async def switch(self) -> str:
        """Switch the lamp."""
        self.switched += 1
        return "on"

    async def look(self) -> str:
        """Look at the lamp."""
        self.looked += 1
        return "off"


@on_virtual_time
async def test_what_only_looks_runs_ahead_and_what_acts_waits() -> None:
    lamp = Lamp()
    talk = lamp.talk
    async with talk.running():
        talk.listen()
        await speaks(talk, 0.6, 0.4)
        assert (lamp.looked, lamp.switched) == (1, 0)
        await speaks(talk, 0.6, 0.9)
        await talk.device.wait_for("stop")
        assert (lamp.looked, lamp.switched) == (2, 1)


@settings(max_examples=60, deadline=None)
@given(
    pauses=st.lists(st.integers(5, 45), max_size=3),
    delay=st.integers(0, 80),
    asr_delay=st.integers(0, 60),
)
def test_a_tool_acts_once_for_a_turn_whatever_the_timing(
    pauses: list[int], delay: int, asr_delay: int
) -> None:
    async def converse() -> None:
        lamp = Lamp(delay=delay / 100)
        talk = lamp.talk
        talk.asr.delay = asr_delay / 100
        async with talk.running():
            talk.listen()
            for pause in pauses:
                await speaks(talk, 0.5, pause / 100)
            await speaks(talk, 0.5, 1.0)
            await talk.device.wait_for("stop")
            await asyncio.sleep(0)
            assert lamp.switched == len(talk.ended) == 1
            said = [item for item in talk.history.items() if isinstance(item, UserMessage)]
            assert [item.text for item in said] == [talk.device.all("transcript")[0].text]
            begun, taken, dropped = counted(talk)
            assert begun == taken + dropped

    run_virtual(converse())


@on_virtual_time
async def test_a_recogniser_that_fails_in_the_pause_is_asked_again_at_the_end() -> None:
    talk = talking([ProviderError("asr", "busy"), "hello"])
    async with talk.running():
        await answered(talk)
        assert talk.device.texts() == ["You said hello."]
        assert talk.counters.get("asr.early_failed") == 1
        assert counted(talk) == (0, 0, 0)


@on_virtual_time
async def test_an_agent_that_fails_in_the_pause_is_asked_again_at_the_end() -> None:
    asked = 0

    def script(text: str) -> tuple[str | Exception, ...]:
        nonlocal asked
        asked += 1
        return (ProviderError("agent", "busy"),) if asked == 1 else (f"You said {text}.",)

    talk = talking(agent=ScriptedAgent(script))
    async with talk.running():
        await answered(talk)
        assert talk.device.texts() == ["You said hello."]
        assert counted(talk) == (1, 0, 1)


@on_virtual_time
async def test_words_that_only_begin_something_are_not_thought_about() -> None:
    talk = talking(["remind me to", "remind me to feed the cat"])
    async with talk.running():
        talk.listen()
        await speaks(talk, 0.4, 0.3)
        assert counted(talk) == (0, 0, 0)
        await speaks(talk, 0.4, 0.9)
        await talk.device.wait_for("stop")
        assert counted(talk) == (1, 1, 0)


@on_virtual_time
async def test_after_three_pauses_it_is_not_tried_again() -> None:
    talk = talking(["p", "p q", "p q r", "p q r s", "p q r s t"])
    async with talk.running():
        talk.listen()
        for _ in range(5):
            await speaks(talk, 0.4, 0.3)
        await speaks(talk, 0.4, 0.9)
        await talk.device.wait_for("stop")
        assert counted(talk) == (3, 0, 3)
        assert talk.device.texts() == ["You said p q r s."]


@on_virtual_time
async def test_nothing_rejected_and_no_farewell_is_thought_about() -> None:
    for heard in (Recognition("", rejected=True), "goodbye"):
        talk = talking([heard], profile=DeviceProfile(exit_phrases=("goodbye",)))
        async with talk.running():
            talk.listen()
            await speaks(talk, 1.0, 0.9)
            await talk.device.wait_for("stop")
            assert counted(talk) == (0, 0, 0)
            assert not talk.agent.requests


@on_virtual_time
async def test_the_button_decides_alone() -> None:
    talk = talking()
    async with talk.running():
        talk.listen(ListenMode.MANUAL)
        await speaks(talk, 1.0, 2.0)
        assert not talk.asr.utterances
        assert counted(talk) == (0, 0, 0)


@on_virtual_time
async def test_calling_off_and_vanishing_drop_it() -> None:
    for event in (Abort(), ListenStart(ListenMode.REALTIME), None):
        talk = talking(agent=answering(5.0))
        async with talk.running():
            talk.listen()
            await speaks(talk, 0.6, 0.4)
            assert talk.agent.running == 1
            if event is not None:
                talk.device.put(event)
                await asyncio.sleep(0.1)
                assert talk.agent.running == 0
                assert counted(talk) == (1, 0, 1)
        assert not talk.history.items()  # and no task is left, which the conversation looks for


@on_virtual_time
async def test_a_device_that_sends_no_silence_is_thought_about_too() -> None:
    talk = talking()
    async with talk.running():
        talk.listen()
        await speaks(talk, 1.0, 0.18)  # then nothing comes any more
        await talk.device.wait_for("stop")
        await asyncio.sleep(0)
        assert counted(talk) == (1, 1, 0)
        assert talk.ended[0].since_turn_end()["first_audio"] <= 30


def foretelling(words: Sequence[str | Recognition], words_per_second: float = 10.0) -> Conversation:
    """Return a conversation with a recogniser that has partial words, and takes 0.15 s for all."""
    talk = talking(agent=answering(0.4))
    talk.asr.script = list(words)
    talk.asr.delay, talk.asr.words_per_second = 0.15, words_per_second
    return talk


@on_virtual_time
async def test_partial_words_that_were_right_before_are_answered_at_once() -> None:
    talk = foretelling(["good morning", "good evening"])
    async with talk.running():
        first, second = await answered(talk), await answered(talk)
        assert abs(first - second - 0.15) <= 0.02
        assert counted(talk) == (2, 2, 0)
        assert talk.counters.get("asr.early_partial") == 1
        assert talk.device.texts() == ["You said good morning.", "You said good evening."]


@on_virtual_time
async def test_they_are_not_where_they_were_not_all_the_words() -> None:
    talk = foretelling(["who has put it there again"], words_per_second=2.0)
    async with talk.running():
        for _ in range(3):
            await answered(talk)
        assert counted(talk) == (3, 3, 0)
        assert talk.counters.get("asr.early_partial") == 0


@on_virtual_time
async def test_an_answer_to_partial_words_is_dropped_where_they_are_not_all() -> None:
    talk = foretelling(["good morning", "a b c d e f g h i j k l m n o p q r s t u v w"])
    async with talk.running():
        await answered(talk)
        await answered(talk)
        assert counted(talk) == (3, 2, 1)
        assert talk.device.texts()[1] == f"You said {talk.asr.script[1]}."
        assert len(talk.history.items()) == 4


@on_virtual_time
async def test_nor_where_more_is_known_of_the_words_in_the_end() -> None:
    """Their language, the mood, or that another thing may have been said."""
    maybe = tuple(Alternative(f"in {each} minutes", each, (each,)) for each in ("two", "ten"))
    for more in (
        Recognition("hello", language="de"),
        Recognition("hello", emotion="sad"),
        Recognition("hello", alternatives=maybe),
    ):
        talk = foretelling([Recognition("hello"), more])
        async with talk.running():
            await answered(talk)
            await speaks(talk, 1.0, 1.0)
            await asyncio.sleep(3)
            begun, taken, dropped = counted(talk)
            assert talk.counters.get("asr.early_partial") == 1
            assert dropped == 1
            assert begun == taken + dropped
