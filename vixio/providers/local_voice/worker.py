"""The thread of one voice, for all devices.

Pieces of text are synthesised in the order of their submission. A long text submits its next piece
when the previous one has been read, so devices take turns and the thread never waits for a slow
reader. A cancelled piece stops at the next chunk of the voice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderError, as_provider_error
from vixio.providers.inference.thread import InferenceThread
from vixio.providers.local_voice.job import VoiceJob

CHUNK_SECONDS: Final = 0.1
"""Length of a chunk of PCM."""


class Voice(Protocol):
    """A loaded voice, called by its thread only."""

    name: str
    """The provider's name, for errors."""
    sample_rate: int

    def speak(self, text: str, write: Callable[[npt.NDArray[np.float32]], bool]) -> None:
        """Pass the audio of ``text`` to ``write``, from -1 to 1; stop when it returns false."""

    def close(self) -> None:
        """Release the voice's resources; called once, after the last text."""


class VoiceThread(InferenceThread[VoiceJob]):
    """The thread. Pieces that still wait when it stops are dropped."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._chunk = max(1, round(voice.sample_rate * CHUNK_SECONDS))
        super().__init__(f"vixio-voice-{voice.name}")

    def _serve(self) -> None:
        try:
            while (jobs := self.take()) is not None:
                for job in jobs:
                    if not job.cancelled and not self.stopping:
                        job.end(self._run(job))
        finally:
            self._voice.close()

    def _run(self, job: VoiceJob) -> ProviderError | None:
        def write(sound: npt.NDArray[np.float32]) -> bool:
            pcm = np.clip(np.asarray(sound).reshape(-1) * 32767, -32768, 32767).astype("<i2")
            return all(
                job.write(pcm[start : start + self._chunk].tobytes())
                for start in range(0, len(pcm), self._chunk)
            )

        try:
            self._voice.speak(job.text, write)
        except Exception as error:  # noqa: BLE001 - the thread serves all devices and must go on
            return as_provider_error(self._voice.name, error, "synthesis")
        return None
