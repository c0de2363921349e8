"""The limit of turns a day: said in the place of an answer, and nothing is asked of the model."""

from __future__ import annotations

import asyncio

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.device import DeviceProfile
from vixio.core.messages import message
from vixio.providers.asr import Recognition
from vixio.testing import ScriptedASR, ScriptedTTS

LIMIT = message("daily_limit", "en")
BYE = message("goodbye", "en")


def limited(turns: int | None, **parts: object) -> Conversation:
    parts.setdefault("profile", DeviceProfile(daily_turns=turns))
    return Conversation(**parts)  # type: ignore[arg-type]  # passed on


async def typed(talk: Conversation, text: str) -> str:
    """Type a text; return what is said then."""
    before, stops = len(talk.device.texts()), len(talk.device.all("stop"))
    talk.device.put(TextInput(text))
    await talk.device.wait_for("stop", stops + 1)
    return " ".join(talk.device.texts()[before:])


@on_virtual_time
async def test_the_turn_over_the_limit_is_not_asked_of_the_model() -> None:
    talk = limited(2)
    async with talk.running():
        assert [await typed(talk, word) for word in ("one", "two", "three", "four")] == [
            *("You said one.", "You said two.", LIMIT, LIMIT)
        ]
        assert [request.text for request in talk.agent.requests] == ["one", "two"]
        assert "three" not in str(talk.history.items())
        assert LIMIT not in str(talk.history.items())
        assert talk.counters.get("turn.over_daily_limit") == 2
        # Commands of the owner are no turns of the user, and one may still say goodbye.
        assert talk.session is not None
        await talk.session.ask("what is new").played()
        assert talk.device.texts()[-1] == "You said what is new."
        assert await typed(talk, "goodbye") == BYE
        await talk.device.wait_for("close")


@on_virtual_time
async def test_no_limit() -> None:
    for turns in (0, None):
        talk = limited(turns)
        async with talk.running():
            for number in range(5):
                assert await typed(talk, str(number)) == f"You said {number}."


@on_virtual_time
async def test_a_turn_in_two_parts_counts_once_and_what_is_not_understood_not_at_all() -> None:
    asr = ScriptedASR([Recognition("", rejected=True), "turn on", "the light", "and now"])
    talk = limited(2, asr=asr, tts=ScriptedTTS(delay=1.5))
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        await talk.say(0.6, pause=0.7)
        await talk.say(0.6, pause=0.9)
        await talk.device.wait_for("stop", 2)
        await talk.say()
        await talk.device.wait_for("stop", 3)
        assert talk.device.texts()[-1] == "You said and now."
        assert [request.text for request in talk.agent.requests] == [
            "turn on",
            "turn on the light",
            "and now",
        ]
        await asyncio.sleep(1)
        assert await typed(talk, "more") == LIMIT
