"""When a reply begins to be heard: the floor is taken and the device made ready, in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vixio.core.clock import now
from vixio.core.pacer import Pacer
from vixio.core.voice_latency import VoiceLatency


class SpeechStart:
    """The start of one reply's speech.

    A device needs ``tts start`` some time before the audio. Where it is known how soon audio
    follows the words, it is sent that much ahead, so that the first sound is not later for it. Not
    earlier either: the user is heard until the device begins to speak.

    ``lead``: seconds from ``tts start`` to the first packet.
    """

    def __init__(self, pacer: Pacer, latency: VoiceLatency, lead: float) -> None:
        self.taken = False
        """Whether the assistant has the floor."""
        self.early = False
        """Whether the floor may be taken before there is audio."""
        self.wait_for_floor: Callable[[], Awaitable[None]] | None = None
        """Returns when the assistant may speak."""
        self.user_speaks: Callable[[], bool] = lambda: False
        """Whether the user is heard at this moment."""
        self.on_taken: Callable[[], None] | None = None
        self._pacer = pacer
        self._latency = latency
        self._lead = lead
        self._lock = asyncio.Lock()
        self._expected_since: float | None = None
        self._task: asyncio.Task[None] | None = None

    def follow(
        self,
        wait_for_floor: Callable[[], Awaitable[None]],
        user_speaks: Callable[[], bool],
        *,
        early: bool,
    ) -> None:
        """Follow a floor."""
        self.wait_for_floor, self.user_speaks, self.early = wait_for_floor, user_speaks, early

    def expect_audio(self, group: asyncio.TaskGroup) -> None:
        """Note that the first words to be spoken have come. Later calls change nothing."""
        if self._expected_since is not None:
            return
        self._expected_since = now()
        latency = self._latency.least
        if self.early and latency is not None:
            self._task = group.create_task(self._announce(latency - self._lead))

    def audio_came(self) -> None:
        """Note the first audio."""
        if self._expected_since is not None:
            self._latency.note(now() - self._expected_since)

    async def take(self) -> None:
        """Take the floor, once; waits for a user who is speaking."""
        async with self._lock:
            if self.taken:
                return
            if self.wait_for_floor is not None:
                await self.wait_for_floor()
            self.taken = True
            if self.on_taken is not None:
                self.on_taken()

    def cancel(self) -> None:
        """Announce nothing any more. Idempotent."""
        if self._task is not None:
            self._task.cancel()

    async def _announce(self, wait: float) -> None:
        await asyncio.sleep(max(0.0, wait))
        await self.take()
        self._pacer.announce()
