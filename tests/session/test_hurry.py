"""A device that sends faster than real time takes neither the loop nor memory from others."""

from __future__ import annotations

import asyncio
import weakref

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, Chunk, ListenMode, ListenStart, TextInput
from vixio.core.transport import AudioEncoder
from vixio.testing import ManualConnection

COUNT = 300


class CountingConnection(ManualConnection):
    """Keeps an eye on its encoders without keeping them."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0
        self.alive: weakref.WeakSet[AudioEncoder] = weakref.WeakSet()

    def new_encoder(self) -> AudioEncoder:
        """Count another one."""
        encoder = super().new_encoder()
        self.made += 1
        self.alive.add(encoder)
        return encoder


@on_virtual_time
async def test_controls_without_end_leave_the_loop_to_others() -> None:
    talk = Conversation()
    kinds: tuple[Chunk, ...] = (
        TextInput("one"),
        Abort(""),
        ListenStart(ListenMode.MANUAL),
    )
    async with talk.running():
        await asyncio.sleep(1)
        for number in range(COUNT):
            talk.device.put(kinds[number % len(kinds)])
        talk.device.put(TextInput("last"))
        ticks = 0
        # The queue's rest is what the session has not read; each tick is the others' turn.
        while talk.agent.requests[-1:] == [] or talk.agent.requests[-1].text != "last":
            await asyncio.sleep(0)
            ticks += 1
        assert ticks >= COUNT


@on_virtual_time
async def test_a_reply_without_sound_has_no_encoder_and_one_that_ended_keeps_none() -> None:
    device = CountingConnection()
    talk = Conversation(device=device)
    async with talk.running():
        for _ in range(COUNT):
            device.put(TextInput("one"))
        device.put(TextInput("two"))
        await device.wait_for("stop")
        assert device.made <= 2
        await asyncio.sleep(1)
        assert not device.alive
