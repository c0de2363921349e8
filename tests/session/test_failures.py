"""A provider that raises, hangs or returns nothing costs one turn, and the user is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.metrics import ModelUse
from vixio.core.session.settings import SessionSettings
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.asr import ASRStream, SpeechHints
from vixio.providers.vad import VADStream
from vixio.stations.asr import MAX_TRANSCRIPT_CHARS
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


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BROKEN, "something went wrong"),
        (ValueError(), "something went wrong"),
        (ProviderUnavailable("scripted", "no key"), "the language model is not ready"),
        (ProviderError("scripted", "", reason="unreachable"), "I can't reach the language model"),
        (ProviderError("scripted", "", reason="timeout"), "that took too long"),
        (ProviderError("scripted", "", reason="news"), "something went wrong"),
    ],
)
@on_virtual_time
async def test_an_agent_that_raises(error: Exception, told: str) -> None:
    agent = ScriptedAgent(lambda text: (error,) if text == "one" else ("Fine.",))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        assert f"Sorry, {told}." in await answered(talk, 1)
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
    # It is asked in the pause, and again at the end if it has failed by then.
    tries = [BROKEN] if delay else [BROKEN, BROKEN]
    talk = Conversation(asr=ScriptedASR([*tries, "hello"], delay=delay))
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


def kinds(talk: Conversation) -> list[str]:
    """What the device was sent, in order, each run of audio as one."""
    shown: list[str] = []
    for sent in talk.device.sent:
        if not (sent.kind == "audio" and shown[-1:] == ["audio"]):
            shown.append(sent.kind)
    return shown


@pytest.mark.parametrize(("language", "why"), [("en", "Quota exhausted"), ("zh", "额度已用完")])
@on_virtual_time
async def test_the_apology_is_spoken_and_the_reason_shown(language: str, why: str) -> None:
    error = ProviderUnavailable("scripted", "out of money", reason="quota")
    settings = SessionSettings(language=language)
    talk = Conversation(agent=ScriptedAgent(lambda text: (error,)), settings=settings)
    async with talk.running():
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        (alert,) = talk.device.all("alert")
        assert alert.text == why
        # When it has been heard: the device plays a sound of its own with an alert.
        assert kinds(talk)[-3:] == ["audio", "alert", "stop"]


@on_virtual_time
async def test_a_recognisers_reason_is_shown_as_well() -> None:
    error = ProviderError("scripted", "no route", reason="unreachable")
    talk = Conversation(asr=ScriptedASR([error, error, "hello"]))
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        (alert,) = talk.device.all("alert")
        assert "Service unreachable" in alert.text
        await talk.say()
        await talk.device.wait_for("stop", 2)
        assert len(talk.device.all("alert")) == 1


@on_virtual_time
async def test_without_a_voice_the_reason_is_shown() -> None:
    error = ProviderUnavailable("scripted", "no key", reason="no_key")
    talk = Conversation(agent=ScriptedAgent(lambda text: (error,)), tts=ScriptedTTS(error=BROKEN))
    async with talk.running():
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        (alert,) = talk.device.all("alert")
        assert alert.text == "Sorry, the key for the language model is not valid."


@on_virtual_time
async def test_an_interrupted_apology_shows_nothing() -> None:
    error = ProviderUnavailable("scripted", "no key", reason="no_key")
    agent = ScriptedAgent(lambda text: (error,) if text == "one" else ("Fine.",))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("audio")
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.all("alert") == []


@on_virtual_time
async def test_the_models_of_a_turn_are_on_its_record() -> None:
    use = ModelUse("openai/m", 100, 20, 50, ("openai/big",))

    class Noting(ScriptedAgent):
        async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
            assert request.note_model is not None
            assert request.device_id
            request.note_model(use)
            request.note_model(use)
            async for event in super().reply(request):
                yield event

    talk = Conversation(agent=Noting())
    async with talk.running() as running:
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        await asyncio.sleep(0)
        (timeline,) = running.ended
    assert timeline.models == [use, use]
    assert (timeline.input_tokens, timeline.output_tokens) == (200, 40)
    assert timeline.model_fields() == {
        "models": ["openai/m"],
        "rounds": 2,
        "tokens_in": 200,
        "tokens_out": 40,
        "tokens_cached": 100,
        "passed_over": ["openai/big"],
    }
    counted = {
        name: talk.counters.get(name) for name in talk.counters.snapshot() if "model" in name
    }
    assert counted == {
        "model.answers.openai/m": 2,
        "model.passed_over.openai/big": 2,
        "model.tokens.cached": 100,
        "model.tokens.input": 200,
        "model.tokens.output": 40,
    }


class Broken(ScriptedASR):
    """Fails where no provider may, with what no interface mentions."""

    def __init__(self, where: str) -> None:
        super().__init__(["one", "two"])
        self.where = where

    def prepare(self, hints: SpeechHints) -> None:
        """Fail, if it is here."""
        if self.where == "prepare":
            raise KeyError("a provider's own mistake")

    def open(self, hints: SpeechHints) -> ASRStream:
        """Fail, or hand out a stream that does."""
        if self.where == "open":
            raise KeyError("a provider's own mistake")
        stream = super().open(hints)
        if self.where in {"feed", "finish", "close"}:
            whole = getattr(stream, self.where)

            async def broken(*arguments: bytes) -> None:
                await whole(*arguments)
                raise KeyError("a provider's own mistake")

            setattr(stream, self.where, broken)
        return stream


@pytest.mark.parametrize("where", ["open", "feed", "finish"])
@on_virtual_time
async def test_a_recogniser_with_a_defect_costs_one_turn(where: str) -> None:
    asr = Broken(where)
    talk = Conversation(asr=asr)
    async with talk.running():
        talk.listen()
        await talk.say()
        assert "went wrong" in await answered(talk, 1)
        asr.where = ""
        await talk.say()
        assert "You said" in await answered(talk, 2)
        assert talk.counters.get("session.defect") == 0


@pytest.mark.parametrize("where", ["close", "prepare"])
@on_virtual_time
async def test_a_recogniser_that_fails_beside_its_work_costs_nothing(where: str) -> None:
    talk = Conversation(asr=Broken(where))
    async with talk.running():
        talk.listen()
        await talk.say()
        assert await answered(talk, 1) == "You said one."
        assert talk.counters.get(f"asr.{where}_failed") >= 1
        assert talk.counters.get("session.defect") == 0


@on_virtual_time
async def test_a_transcript_of_megabytes_is_cut_and_well_formed() -> None:
    agent = ScriptedAgent(lambda text: ("Fine.",))
    talk = Conversation(asr=ScriptedASR(["\ud800" + "a" * 5_000_000]), agent=agent)
    async with talk.running():
        talk.listen()
        await talk.say()
        assert await answered(talk, 1) == "Fine."
        assert agent.requests[0].text == "\ufffd" + "a" * (MAX_TRANSCRIPT_CHARS - 1)


@on_virtual_time
async def test_a_detector_with_a_defect_costs_one_turn() -> None:
    talk = Conversation(vad=ScriptedVAD(error=KeyError("a provider's own mistake")))
    async with talk.running():
        talk.listen()
        await talk.say()
        assert "went wrong" in await answered(talk, 1)
        talk.vad.error = None
        await talk.say()
        assert await answered(talk, 2) == "You said hello."


async def test_a_detector_that_cannot_be_opened_leaves_no_agent_open() -> None:
    class NoVAD(ScriptedVAD):
        def open(self) -> VADStream:
            raise KeyError("a provider's own mistake")

    talk = Conversation(vad=NoVAD())
    with pytest.raises(KeyError):
        async with talk.running():
            await asyncio.sleep(0)
    assert talk.agent.closed


@on_virtual_time
async def test_a_defect_is_logged_in_one_line_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "vixio")
    agent = ScriptedAgent(lambda text: (KeyError("what the user said"),))
    talk = Conversation(agent=agent)
    async with talk.running():
        talk.device.put(TextInput("one"))
        await answered(talk, 1)
    failed = [record for record in caplog.records if record.getMessage().startswith("turn failed")]
    assert [record.exc_info for record in failed] == [None]
    assert "KeyError at providers.py:" in vars(failed[0])["detail"]
    assert "what the user said" not in caplog.text
