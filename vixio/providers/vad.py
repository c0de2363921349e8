"""Voice activity detection: the probability of speech for each window of audio.

The provider says only that; hysteresis and the end of a turn are the stations' business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class VADStream(ABC):
    """The detector's state for one device."""

    @abstractmethod
    async def process(self, pcm: bytes) -> Sequence[float]:
        """Take audio and return the speech probability (0…1) of each window that it completed.

        ``pcm`` is any amount of 16 kHz PCM; what does not fill a window is kept for the next call.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget all audio and state, as after a break in the microphone's stream."""

    @abstractmethod
    def close(self) -> None:
        """Release the state. Idempotent."""


class VADProvider(ABC):
    """A model shared by the process."""

    name: str
    window_samples: int
    """Samples (at 16 kHz) of one window."""

    @abstractmethod
    async def start(self) -> None:
        """Load what is heavy, off the event loop. Idempotent."""

    @abstractmethod
    def open(self) -> VADStream:
        """Return a fresh detector for one device."""

    @abstractmethod
    async def close(self) -> None:
        """Release the model; pending windows fail."""
