"""The thread of one voice, for all devices.

Pieces of text are spoken in the order in which they came. A longer text submits its next piece
when the last one has been taken, so devices take turns, and the thread never waits for a slow
listener. Who stops listening stops the work at the next sound that the voice gives.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderError
from vixio.providers.local_voice.job import VoiceJob

JOIN_SECONDS = 20.0
"""The thread cannot be interrupted in a call of its library; it dies with the process."""

CHUNK_SECONDS = 0.1
"""PCM is handed over in pieces of this length: the first is on its way while others are cut."""


class Voice(Protocol):
    """A loaded voice. Its thread alone calls it."""

    name: str
    """Of its provider, for errors."""
    sample_rate: int

    def speak(self, text: str, write: Callable[[npt.NDArray[np.float32]], bool]) -> None:
        """Give the sound of ``text`` to ``write``, from -1 to 1; stop when it returns false."""

    def close(self) -> None:
        """Release what the voice holds beyond its memory; called once, after the last text."""


class VoiceThread:
    """The thread. Its methods are called on the event loop."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._chunk = max(1, round(voice.sample_rate * CHUNK_SECONDS))
        self._changed = threading.Condition()
        self._jobs: deque[VoiceJob] = deque()  # guarded by _changed, as the one below
        self._stopping = False
        self._thread = threading.Thread(
            target=self._work, name=f"vixio-voice-{voice.name}", daemon=True
        )
        self._thread.start()

    def submit(self, job: VoiceJob) -> None:
        """Queue ``job`` behind all others."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def stop(self) -> None:
        """Tell the thread to end after the job in hand. What waits is left unspoken."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    async def join(self) -> None:
        """Wait until the thread has ended, or until the sentence in hand took too long."""
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)

    def _work(self) -> None:
        try:
            while (job := self._next()) is not None:
                if not job.cancelled:
                    job.end(self._run(job))
        finally:
            self._voice.close()

    def _next(self) -> VoiceJob | None:
        with self._changed:
            while not self._stopping:
                if self._jobs:
                    return self._jobs.popleft()
                self._changed.wait()
        return None

    def _run(self, job: VoiceJob) -> ProviderError | None:
        def write(sound: npt.NDArray[np.float32]) -> bool:
            pcm = np.clip(np.asarray(sound).reshape(-1) * 32767, -32768, 32767).astype("<i2")
            return all(
                job.write(pcm[start : start + self._chunk].tobytes())
                for start in range(0, len(pcm), self._chunk)
            )

        try:
            self._voice.speak(job.text, write)
        except ProviderError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the thread serves all devices and must go on
            name = self._voice.name
            failed = ProviderError(name, f"synthesis failed ({type(error).__name__})")
            failed.__cause__ = error
            return failed
        return None
