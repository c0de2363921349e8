"""An abort while the user's words are recognised: the turn is void and nothing of it is left."""

from __future__ import annotations

import asyncio

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStop
from vixio.testing import ManualConnection, ScriptedASR, silence, speech


@on_virtual_time
async def test_words_called_off_leave_no_record() -> None:
    talk = Conversation(asr=ScriptedASR(["hello"], delay=2.0))
    async with talk.running():
        for _ in range(20):
            talk.listen(ListenMode.MANUAL)
            await talk.device.play(speech(0.06))
            talk.device.put(ListenStop())
            await asyncio.sleep(0.05)
            talk.device.put(Abort())
            await asyncio.sleep(0.05)
        assert talk.session is not None
        assert talk.session.timelines == []
        assert not talk.session.user_speaking
        assert talk.agent.requests == []


@on_virtual_time
async def test_words_called_off_while_they_are_shown_get_no_answer() -> None:
    showing = asyncio.Event()

    class Slow(ManualConnection):
        async def send_transcript(self, text: str) -> None:
            showing.set()
            await asyncio.sleep(0.2)
            await super().send_transcript(text)

    talk = Conversation(device=Slow())
    async with talk.running():
        talk.listen()
        playing = asyncio.create_task(talk.device.play(silence(0.3) + speech(0.6) + silence(0.8)))
        await showing.wait()
        talk.device.put(Abort())
        await playing
        await asyncio.sleep(10)
        assert talk.agent.requests == []
        assert [sent.kind for sent in talk.device.sent] == ["stop", "transcript"]
        assert talk.session is not None
        assert talk.session.timelines == []
        await talk.say()
        await talk.device.wait_for("start")
        assert [request.text for request in talk.agent.requests] == ["hello"]
