"""The thread of one voice, for all devices.

Pieces of text are synthesised in the order of their submission. A long text submits its next piece
when the previous one has been read, so devices take turns and the thread never waits for a slow
reader. A cancelled piece stops at once if the voice's library can be interrupted, otherwise at the
next chunk of the voice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderError, as_provider_error
from vixio.providers.inference.thread import InferenceThread
from vixio.providers.local_voice.job import Interruption, VoiceJob

CHUNK_SECONDS: Final = 0.1
"""Length of a chunk of PCM."""


Sound: TypeAlias = npt.NDArray[np.float32]
"""Samples from -1 to 1."""

Write: TypeAlias = Callable[[Sound], bool]
"""Takes the next samples; returns whether more are wanted."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a voice speaks in one call."""

    text: str
    language: str = ""
    """BCP 47; empty: not known."""
    interruption: Interruption = field(default_factory=Interruption)
    """For voices whose library can be interrupted: called when the rest is not wanted any more."""


class Voice(Protocol):
    """A loaded voice, called by its thread only."""

    name: str
    """The provider's name, for errors."""
    sample_rate: int

    def speak(self, utterance: Utterance, write: Write) -> None:
        """Pass the audio of ``utterance`` to ``write``; stop when it returns false."""

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
        def write(sound: Sound) -> bool:
            pcm = np.clip(np.asarray(sound).reshape(-1) * 32767, -32768, 32767).astype("<i2")
            return all(
                job.write(pcm[start : start + self._chunk].tobytes())
                for start in range(0, len(pcm), self._chunk)
            )

        try:
            self._voice.speak(Utterance(job.text, job.language, job.interruption), write)
        except Exception as error:  # noqa: BLE001 - the thread serves all devices and must go on
            return as_provider_error(self._voice.name, error, "synthesis")
        return None
