"""An hour of conversation on the virtual clock leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import random

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStop, TextInput
from vixio.core.clock import now
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

SPEECH = speech(0.6)


@pytest.mark.slow
@on_virtual_time
async def test_an_hour_of_everything() -> None:
    chance = random.Random(7)
    agent = ScriptedAgent(lambda text: (0.3, f"You said {text}. ", 0.2, "And that was all of it."))
    talk = Conversation(
        asr=ScriptedASR(["hello there"], delay=0.1), agent=agent, tts=ScriptedTTS(delay=0.05)
    )
    async with talk.running() as running:
        tasks_before = len(asyncio.all_tasks())
        turns = 0
        while now() < 3600:
            turns += 1
            match chance.randrange(6):
                case 0 | 1:
                    talk.listen()
                    await talk.device.play(SPEECH + silence(0.6))
                case 2:
                    talk.device.put(TextInput("typed words"))
                case 3:
                    talk.listen(ListenMode.MANUAL)
                    await talk.device.play(SPEECH)
                    talk.device.put(ListenStop())
                case 4:
                    talk.listen(ListenMode.REALTIME)
                    await talk.device.play(SPEECH + silence(0.6) + SPEECH + silence(0.6))
                case _:
                    talk.device.put(TextInput("to be aborted"))
                    await asyncio.sleep(chance.random() * 3)
                    talk.device.put(Abort())
            await asyncio.sleep(chance.random() * 12)
            # What a test keeps is not what the session keeps.
            talk.device.sent.clear()
            talk.asr.utterances.clear()
            talk.asr.hints.clear()
            talk.agent.requests.clear()
        await asyncio.sleep(30)
        assert turns > 300
        assert len(asyncio.all_tasks()) == tasks_before
        assert len(talk.history) <= 20
        assert running.session is not None
        assert len(running.session.timelines) <= 50
        assert talk.counters.get("session.defect") == 0
        assert talk.counters.get("turn.outcome.answered") > 150
        gc.collect()
        futures = [thing for thing in gc.get_objects() if isinstance(thing, asyncio.Future)]
        loop = asyncio.get_running_loop()
        waiting = [future for future in futures if future.get_loop() is loop and not future.done()]
        # The session's listener, this test's own task, and what they wait for.
        assert len(waiting) <= 5, waiting
