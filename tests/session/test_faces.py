"""The face on the device changes with the sentence that it belongs to, not when that is made."""

from __future__ import annotations

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.testing import ScriptedAgent, ScriptedTTS


@pytest.mark.parametrize(
    ("answer", "faces"),
    [
        ("I am so very sorry for this. It is just so late now.", ["sad", "neutral"]),
        ("🙂 This is a long sentence to speak. Oh no, it rains.", ["happy", "shocked"]),
    ],
)
@on_virtual_time
async def test_a_face_comes_with_its_sentence(answer: str, faces: list[str]) -> None:
    # A voice that is much quicker than its speech: all is made within the first sentence.
    talk = Conversation(
        agent=ScriptedAgent(lambda _: [answer]), tts=ScriptedTTS(seconds_per_char=0.04)
    )
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        shown = [sent for sent in talk.device.sent if sent.kind in ("emotion", "sentence")]
        assert [sent.text for sent in shown if sent.kind == "emotion"] == faces
        second, sentence = shown[-2:]
        assert (second.kind, sentence.kind) == ("emotion", "sentence")
        assert second.at == sentence.at
        start = talk.device.all("start")[0].at
        assert sentence.at > start + 0.5, "not before the first sentence has been played"


@on_virtual_time
async def test_a_face_behind_the_last_sentence() -> None:
    talk = Conversation(agent=ScriptedAgent(lambda _: ["It is just so very late now. 😴"]))
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        assert talk.device.texts(["emotion"]) == ["sleepy"]
