"""An abort while the user's words are recognised: the turn is void and nothing of it is left."""

from __future__ import annotations

import asyncio

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStop
from vixio.testing import ScriptedASR, speech


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
