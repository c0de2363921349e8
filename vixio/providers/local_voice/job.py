"""A piece of text that a thread synthesises and a device listens to."""

from __future__ import annotations

import asyncio

from vixio.core.errors import ProviderError
from vixio.providers.inference.audio_queue import AudioQueue


class VoiceJob(AudioQueue):
    """A piece of text on its way to becoming PCM. Made and read on the event loop."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self._loop = asyncio.get_running_loop()

    def write(self, pcm: bytes) -> bool:
        """Hand ``pcm`` over from the thread; false if no more is wanted."""
        if self.cancelled:
            return False
        try:
            self._loop.call_soon_threadsafe(self.add, pcm)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def end(self, error: ProviderError | None = None) -> None:
        """Report from the thread that no more comes."""
        try:
            self._loop.call_soon_threadsafe(self.finish, error)
        except RuntimeError:  # as above
            pass
