"""A piece of text that the thread synthesises for one device."""

from __future__ import annotations

import asyncio

from vixio.core.errors import ProviderError
from vixio.providers.inference.audio_queue import AudioQueue


class VoiceJob(AudioQueue):
    """A piece of text and its PCM. Created and read on the event loop."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self._loop = asyncio.get_running_loop()

    def write(self, pcm: bytes) -> bool:
        """Pass ``pcm`` from the thread to the loop; return whether more is wanted."""
        if self.cancelled:
            return False
        try:
            self._loop.call_soon_threadsafe(self.add, pcm)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def end(self, error: ProviderError | None = None) -> None:
        """Report the end of the PCM from the thread."""
        try:
            self._loop.call_soon_threadsafe(self.finish, error)
        except RuntimeError:  # as above
            pass
