"""What a device has time for: a notice is read before the server closes the connection."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, ListenStart, ListenStop, TextInput
from vixio.core.clock import now
from vixio.core.errors import ProviderError
from vixio.core.session.endings import LISTENS_S, NOTICE_S, STOP_S
from vixio.core.session.session import Session
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS

SENTENCE = "One two three four five six seven eight."
NOTICE = ("Error", "This device is blocked: lost in Rome", "sad")
WHY = "blocked"
OUT = ProviderError("scripted", "no route", reason="unreachable")
MUTE = ProviderError("scripted", "no voice")


def session(talk: Conversation) -> Session:
    assert talk.session is not None
    return talk.session


def out() -> Conversation:
    """A conversation whose model is out."""
    return Conversation(agent=ScriptedAgent(lambda text: (OUT,)))


def ends(talk: Conversation) -> list[str]:
    kinds = {"start", "stop", "alert", "close"}
    return [sent.kind for sent in talk.device.sent if sent.kind in kinds]


def gaps(talk: Conversation) -> dict[str, float]:
    """Seconds between what follows one another of the ends, the last of each pair."""
    sent = [each for each in talk.device.sent if each.kind in {"stop", "alert", "close"}]
    return {f"{a.kind}-{b.kind}": b.at - a.at for a, b in pairwise(sent)}


# ── sent away ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", [None, *ListenMode])
@pytest.mark.parametrize("speaks", [False, True])
@on_virtual_time
async def test_why_it_is_sent_away_can_be_read(mode: ListenMode | None, speaks: bool) -> None:
    talk = Conversation(agent=ScriptedAgent(lambda text: (SENTENCE,)))
    async with talk.running():
        if mode is not None:
            talk.listen(mode)
        if speaks:
            talk.device.put(TextInput("talk"))
            await talk.device.wait_for("audio")
        session(talk).send_away(NOTICE, WHY)
        gone = await talk.device.wait_for("close")
        assert gone.text == f"1000 {WHY}"
        assert ends(talk) == ["start", "stop", "alert", "close"][0 if speaks else 2 :]
        assert gaps(talk)["alert-close"] == pytest.approx(NOTICE_S, abs=0.01)
        # The firmware shows it at once, and clears the screen when it gets to `tts stop`.
        assert not speaks or gaps(talk)["stop-alert"] == pytest.approx(STOP_S, abs=0.01)


@on_virtual_time
async def test_who_is_sent_away_is_not_served_meanwhile() -> None:
    talk = Conversation(asr=ScriptedASR(["what is the time"], delay=1.0))
    async with talk.running():
        talk.listen()
        await talk.say(1.0)
        waiting = session(talk).say("Dinner is ready.")
        session(talk).send_away(NOTICE, WHY)
        late = session(talk).say("Dinner is still ready.")
        saying = asyncio.create_task(talk.say(0.8, pause=0.6))
        talk.device.put(TextInput("hello"))
        await talk.device.wait_for("close")
        await saying
        assert talk.agent.requests == []
        assert talk.device.texts(("transcript", "sentence")) == []
    assert waiting.done
    assert late.done


@on_virtual_time
async def test_a_device_that_goes_first_ends_the_wait() -> None:
    talk = Conversation()
    async with talk.running():
        session(talk).send_away(NOTICE, WHY)
        await talk.device.wait_for("alert")
        talk.device.vanish()
        await asyncio.sleep(0.01)
        assert talk.counters.get("session.closed") == 1
    assert ends(talk) == ["alert"]


# ── other closes behind a notice ─────────────────────────────────────────────────────────────


@on_virtual_time
async def test_a_goodbye_that_is_shown_can_be_read() -> None:
    talk = Conversation(tts=ScriptedTTS(error=MUTE))
    async with talk.running():
        talk.device.put(TextInput("goodbye"))
        await talk.device.wait_for("close")
        assert ends(talk) == ["alert", "stop", "close"]
        assert sum(gaps(talk).values()) == pytest.approx(NOTICE_S, abs=0.01)
        assert talk.counters.get("session.ended_by_user") == 1


@on_virtual_time
async def test_who_goes_on_behind_it_keeps_the_conversation() -> None:
    talk = Conversation(tts=ScriptedTTS(error=MUTE))
    async with talk.running():
        talk.device.put(TextInput("goodbye"))
        await talk.device.wait_for("stop")
        talk.tts.error = None
        talk.device.put(TextInput("one thing more"))
        await talk.device.wait_for("stop", 2)
        await asyncio.sleep(2 * NOTICE_S)
        assert ends(talk) == ["alert", "stop", "start", "stop"]
        assert talk.counters.get("session.ended_by_user") == 0


@on_virtual_time
async def test_a_server_that_stops_leaves_a_notice_its_time() -> None:
    talk = out()
    async with talk.running():
        talk.device.put(TextInput("one"))
        shown = await talk.device.wait_for("alert")
        await asyncio.sleep(1)
        session(talk).leave()
        gone = await talk.device.wait_for("close")
        assert gone.text.startswith("1001")
        assert gone.at - shown.at == pytest.approx(NOTICE_S, abs=0.01)


@on_virtual_time
async def test_a_command_to_close_leaves_a_notice_its_time() -> None:
    talk = Conversation()
    async with talk.running():
        await session(talk).endings.show(NOTICE)
        began = now()
        await session(talk).close()
        assert now() - began == pytest.approx(NOTICE_S, abs=0.01)
        again = Conversation()
    async with again.running():
        began = now()
        await session(again).close()
        assert now() == began


# ── push-to-talk ─────────────────────────────────────────────────────────────────────────────


async def press(talk: Conversation) -> None:
    talk.listen(ListenMode.MANUAL)
    await talk.say(0.6, pause=0.2)
    talk.device.put(ListenStop())


@pytest.mark.parametrize("voice", [True, False])
@on_virtual_time
async def test_a_reason_is_shown_behind_the_stop_where_that_clears_the_screen(voice: bool) -> None:
    talk = out()
    talk.tts.error = None if voice else MUTE
    async with talk.running():
        await press(talk)
        await talk.device.wait_for("alert")
        assert ends(talk) == ["start", "stop", "alert"][0 if voice else 1 :]
        assert gaps(talk)["stop-alert"] == pytest.approx(STOP_S, abs=0.01)


@on_virtual_time
async def test_a_press_makes_a_reason_that_is_not_shown_yet_void() -> None:
    talk = out()
    async with talk.running():
        await press(talk)
        await talk.device.wait_for("stop")
        talk.device.put(ListenStart(ListenMode.MANUAL))
        await asyncio.sleep(2 * STOP_S)
        assert talk.device.all("alert") == []


@on_virtual_time
async def test_a_voice_that_breaks_off_is_explained_behind_what_was_heard() -> None:
    """Not over it: the device plays a sound with the notice."""

    def script(text: str) -> tuple[str, ...]:
        return (f"{SENTENCE} ", "Nine ten eleven.")

    class Breaks(ScriptedTTS):
        def synthesize(self, text: str, *, language: str = ""):  # type: ignore[no-untyped-def]  # noqa: ANN202
            self.error = None if text == SENTENCE else OUT
            return super().synthesize(text, language=language)

    talk = Conversation(agent=ScriptedAgent(script), tts=Breaks())
    async with talk.running():
        talk.device.put(TextInput("count"))
        stop = await talk.device.wait_for("stop")
        (alert,) = talk.device.all("alert")
        assert talk.device.all("audio")[-1].at < alert.at <= stop.at


# ── a close behind the stop ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("answer", [None, 0.0, 0.2])
@on_virtual_time
async def test_a_close_leaves_time_for_the_stop(leaves: bool, answer: float | None) -> None:
    """Or for the ``listen start`` that answers it."""
    talk = Conversation(agent=ScriptedAgent(lambda text: (SENTENCE,)))
    async with talk.running():
        talk.listen()
        talk.device.put(TextInput("talk" if leaves else "goodbye"))
        await talk.device.wait_for("audio")
        if leaves:
            session(talk).leave()
        await talk.device.wait_for("stop")
        if answer is not None:
            await asyncio.sleep(answer)
            talk.listen()
        await talk.device.wait_for("close")
        wait = STOP_S if answer is None else answer + LISTENS_S
        assert gaps(talk)["stop-close"] == pytest.approx(wait, abs=0.01)


@on_virtual_time
async def test_who_speaks_in_that_time_keeps_the_conversation() -> None:
    talk = Conversation()
    async with talk.running():
        talk.device.put(TextInput("goodbye"))
        await talk.device.wait_for("stop")
        await asyncio.sleep(STOP_S / 2)
        talk.device.put(TextInput("one thing more"))
        await talk.device.wait_for("stop", 2)
        await asyncio.sleep(10)
        assert talk.device.all("close") == []
