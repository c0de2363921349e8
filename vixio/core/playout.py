"""What a device has played of a reply, by a model of its loudspeaker.

The model is one number, the ``anchor``: the moment at which the reply's first millisecond was
played. ``tts stop`` is sent when by this model the last one was played, because some clients drop
on it what they have not played yet.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import east_asian_width

from vixio.core.clock import now


@dataclass(slots=True)
class Spoken:
    """A sentence. ``start_ms``: where its audio begins in what was sent."""

    text: str
    start_ms: int = 0
    whole: bool = True
    """Whether its audio is all there."""
    kept: bool = True
    """Whether it counts as heard: not what only bridges a pause."""
    face: tuple[str, str] | None = None
    told: bool = False
    """Whether it has begun before."""
    share: float = 0.0
    """How much of it was heard before it began again."""

    @property
    def usual_ms(self) -> int:
        """What such a text takes: 60 ms a letter, and three times that a wide character, which in
        Chinese, Japanese and Korean is a syllable."""
        return 60 * sum(3 if east_asian_width(each) in "WF" else 1 for each in self.text)


class Playout:
    """The packets and sentences of a reply: those that were sent, and those that wait in line."""

    def __init__(self, packet_ms: int) -> None:
        self._packet_ms = packet_ms
        self._queue: deque[bytes | Spoken] = deque()
        self._queued_ms = 0
        self._finished = False
        self._sent: deque[bytes | Spoken] = deque()
        """What may not be played yet, and all of the last sentence."""
        self._sent_ms = 0
        self._sentences: list[Spoken] = []
        self._anchor: float | None = None

    def heard_ms(self) -> int:
        """Return how many milliseconds of the reply have come out of the loudspeaker."""
        if self._anchor is None:
            return 0
        return max(0, min(self._sent_ms, round((now() - self._anchor) * 1000)))

    def sounded_ms(self, more_ms: int = 0) -> int:
        """Return the same in whole packets, as if it were heard ``more_ms`` longer."""
        packets = -(-(self.heard_ms() + more_ms) // self._packet_ms)
        return min(self._sent_ms, packets * self._packet_ms)

    def sounding_until(self) -> float:
        """Return when the packet that sounds at this moment ends; 0.0 if none does."""
        heard = self.heard_ms()
        if self._anchor is None or heard >= self._sent_ms:
            return 0.0
        return self._anchor + (heard // self._packet_ms + 1) * self._packet_ms / 1000

    @property
    def plays_until(self) -> float:
        """When the device has played, or will have played, what it was sent; 0.0: nothing."""
        return 0.0 if self._anchor is None else self._anchor + self._sent_ms / 1000

    def heard_text(self, first: int | None = None) -> str:
        """Return the sentences that were heard; the last one cut by the share that was played.

        Those whose audio broke off, or that are not kept, are left out. ``first``: only these many
        from the first; None: all.
        """
        heard = self.heard_ms()
        parts: list[str] = []
        for index, sentence in enumerate(self._sentences[:first]):
            if sentence.start_ms >= heard and not sentence.share:
                break
            if sentence.whole and sentence.kept:
                parts.append(sentence.text[: round(len(sentence.text) * self._share(index))])
        return " ".join(part for part in parts if part).strip()

    def _share(self, index: int) -> float:
        """Return how much of a sentence was heard; 1 or more: all of it."""
        sentence = self._sentences[index]
        length = max(1, self._end_ms(index) - sentence.start_ms)
        return max(sentence.share, (self.heard_ms() - sentence.start_ms) / length)

    def _end_ms(self, index: int) -> int:
        """Return where the audio of a sentence ends: behind what is queued of it.

        Of the one that is still being made, more will come. How much is guessed from its text, by
        the pace of those before it.
        """
        if index + 1 < len(self._sentences):
            return self._sentences[index + 1].start_ms
        known = self._sent_ms
        for item in self._queue:
            if isinstance(item, Spoken):
                return known
            known += self._packet_ms
        if self._finished or self.heard_ms() >= known:  # in the pause behind it, nothing comes
            return known
        *_, last = self._sentences
        paced = [(a.usual_ms, b.start_ms - a.start_ms) for a, b in pairwise(self._sentences)]
        usual, taken = map(sum, zip(*paced, strict=True)) if paced else (0, 0)
        pace = taken / usual if usual and taken else 1.0
        return max(known, last.start_ms + round(pace * last.usual_ms))

    def _take_back(self, until_ms: int) -> None:
        """Put what was sent of the time behind ``until_ms`` in front of the queue."""
        while self._sent and self._sent_ms > until_ms:
            self._unsend()
            if isinstance(self._queue[0], Spoken):
                self._sentences.pop()
            else:
                self._sent_ms -= self._packet_ms

    def _unsend(self) -> None:
        self._queue.appendleft(self._sent.pop())
        if isinstance(self._queue[0], bytes):
            self._queued_ms += self._packet_ms

    def _begin_again(self) -> None:
        """Put what was sent of the last sentence in front of the queue, to be played once more."""
        if not self._sentences:
            return
        last = self._sentences[-1]
        last.share = self._share(len(self._sentences) - 1)
        last.start_ms = self._sent_ms
        while self._sent and self._sent[-1] is not last:
            self._unsend()
