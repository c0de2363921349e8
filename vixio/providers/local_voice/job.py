"""A piece of text that the thread synthesises for one device."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vixio.core.errors import ProviderError
from vixio.providers.inference.audio_queue import AudioQueue


class Interruption:
    """Ends a call of a library from another thread. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._called = False
        self._stop: Callable[[], None] | None = None

    def call(self) -> None:
        """End the call in progress, and those to come. Returns at once."""
        with self._lock:
            self._called = True
            if self._stop is not None:
                self._stop()

    @contextmanager
    def ends(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have ``stop`` called inside of the block, at once if it is too late already.

        ``stop`` returns at once and calls nothing of this object.
        """
        with self._lock:
            self._stop = stop
            if self._called:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


class VoiceJob(AudioQueue):
    """A piece of text and its PCM. Created and read on the event loop."""

    def __init__(self, text: str, language: str = "") -> None:
        super().__init__()
        self.text = text
        self.language = language
        """BCP 47; empty: not known."""
        self.interruption = Interruption()
        """Called when the job is cancelled."""
        self._loop = asyncio.get_running_loop()

    def cancel(self) -> None:
        """Drop what is there and what will come, and end the synthesis where it can be ended."""
        super().cancel()
        self.interruption.call()

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
