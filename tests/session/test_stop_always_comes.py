"""Each ``tts start`` is followed by a ``tts stop``, whatever becomes of the reply.

Without it the device stays in Speaking, with its microphone off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, TextInput
from vixio.core.errors import ProviderError
from vixio.core.session.events import Failure
from vixio.core.turns.interruption import Decision, Overlap
from vixio.testing import ManualConnection, ScriptedAgent, ScriptedASR, ScriptedTTS

LONG = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."


class Defective(ManualConnection):
    """Has a mistake in the sending of audio, once."""

    broken = False

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Raise what no interface mentions."""
        if not self.broken:
            self.broken = True
            raise LookupError("a mistake in the server")
        await super().send_audio(packets, timestamp_ms)


@on_virtual_time
async def test_a_defect_while_it_is_played_ends_the_speech() -> None:
    talk = Conversation(device=Defective())
    async with talk.running():
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        assert [sent.kind for sent in talk.device.sent] == [
            "transcript",
            "start",
            "sentence",
            "stop",
        ]
        assert talk.counters.get("session.defect") == 1
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "You said two."
        assert [one.outcome for one in talk.ended] == ["failed:defect", "answered"]


class DefectiveAlert(ManualConnection):
    """Has a mistake in the sending of alerts."""

    async def send_alert(self, status: str, message: str, emotion: str) -> None:
        """Raise what no interface mentions."""
        raise LookupError("a mistake in the server")


@on_virtual_time
async def test_a_defect_behind_the_apology_ends_the_speech() -> None:
    """The alert that gives the reason is sent before the ``tts stop``."""
    error = ProviderError("scripted", "no route", reason="unreachable")
    talk = Conversation(
        device=DefectiveAlert(),
        agent=ScriptedAgent(lambda text: (error,) if text == "one" else (LONG,)),
    )
    async with talk.running():
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        assert talk.counters.get("session.defect") == 1
        assert talk.device.all("start")
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == LONG.partition(". ")[2]
        outcome, answered = (one.outcome for one in talk.ended)
        assert (outcome.partition(":")[0], answered) == ("failed", "answered")


class Stalled(ManualConnection):
    """A carrier whose audio waits; ``waits`` is set meanwhile."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.waits = asyncio.Event()

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Record the packets half a second later."""
        self.waits.set()
        await asyncio.sleep(0.5)
        await super().send_audio(packets, timestamp_ms)
        self.waits.clear()


class CutAtWords:
    """Ends the speech at the first words, which the recogniser's task reports."""

    def __init__(self) -> None:
        self.decided = asyncio.Event()

    def decide(self, overlap: Overlap) -> Decision:
        """Cut at words."""
        if not overlap.text:
            return Decision.IGNORE
        self.decided.set()
        return Decision.CUT


@on_virtual_time
async def test_an_interruption_whose_own_task_is_cancelled_ends_the_speech() -> None:
    """The words that cut the reply become void while the cut waits for a packet under way."""
    device, policy = Stalled(), CutAtWords()
    talk = Conversation(
        device=device,
        agent=ScriptedAgent(lambda text: (LONG,)),
        asr=ScriptedASR(["stop it please"], words_per_second=3),
        interruption=lambda: policy,
    )
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        talk.device.put(TextInput("talk"))
        await device.wait_for("audio", 2)
        speaking = asyncio.create_task(talk.say())
        await policy.decided.wait()
        assert device.waits.is_set()
        assert not device.all("stop")
        talk.device.put(TextInput("hi, esp", wake_word=True))
        await speaking
        await device.wait_for("stop", 2)
        kinds = [sent.kind for sent in device.sent if sent.kind in {"start", "stop"}]
        assert kinds == ["start", "stop"] * 2


class StubbornTTS(ScriptedTTS):
    """Ignores its cancellation, and then ``fails`` or says nothing."""

    fails = False

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak, or hang."""
        if "long" not in text:
            async for pcm in super().synthesize(text, language=language):
                yield pcm
            return
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
        if self.fails:
            raise LookupError("the voice's own mistake")


@pytest.mark.parametrize("fails", [False, True])
@on_virtual_time
async def test_a_voice_that_outlives_its_cut_reply_is_not_apologised_for(fails: bool) -> None:
    tts = StubbornTTS()
    tts.fails = fails
    talk = Conversation(tts=tts, agent=ScriptedAgent(lambda text: (f"A {text} answer.",)))
    async with talk.running():
        talk.device.put(TextInput("long"))
        await asyncio.sleep(TIMEOUTS.tts / 2)
        talk.device.put(Abort())
        await talk.device.wait_for("stop")
        await asyncio.sleep(10)
        assert [sent.kind for sent in talk.device.sent] == ["transcript", "stop"]
        assert not [each for each in talk.happened if isinstance(each, Failure)]
        assert tts.spoken == []
        talk.device.put(TextInput("short"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts() == ["A short answer."]
