"""The audio of sentences that are said again and again, such as greetings, of one voice.

It is kept as the voice made it, in the memory of the process, so that it can be played without the
voice: at once, without a cost, and also while the voice cannot be reached.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

MAX_BYTES: Final = 4 * 2**20
"""Of one voice: about 87 s at 24 kHz. Beyond it the sentence that was not said for longest goes."""

MAX_SENTENCE_BYTES: Final = MAX_BYTES // 4


@dataclass(frozen=True, slots=True)
class Spoken:
    """A whole sentence: its PCM in the pieces in which it came, at ``rate`` Hz.

    ``voice``: the name of the voice that spoke.
    """

    pieces: tuple[bytes, ...]
    rate: int
    voice: str

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(map(len, self.pieces))


class PhraseAudio:
    """Sentences by their language and words, in bounded memory."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes that are kept."""
        self._kept: OrderedDict[tuple[str, str], Spoken] = OrderedDict()

    def get(self, language: str, words: str) -> Spoken | None:
        """Return the audio of a sentence; None: it is not known."""
        spoken = self._kept.get((language, words))
        if spoken is not None:
            self._kept.move_to_end((language, words))
        return spoken

    def keep(self, language: str, words: str, spoken: Spoken) -> None:
        """Keep the audio of a sentence. Silence, and what is too long, is not kept."""
        if not 0 < spoken.size <= MAX_SENTENCE_BYTES:
            return
        before = self._kept.pop((language, words), None)
        self.size += spoken.size - (before.size if before is not None else 0)
        self._kept[language, words] = spoken
        while self.size > MAX_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self.size -= oldest.size
