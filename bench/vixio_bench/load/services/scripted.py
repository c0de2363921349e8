"""What the stand-ins hear, answer and say: that of the scripted providers, by its text."""

from __future__ import annotations

import re
from typing import Final

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio_bench.load import marker
from vixio_bench.load.providers import RATE, SENTENCE_MS

_STEP: Final = marker.WINDOW // 2
NOBODY: Final = "nobody"


def heard(pcm: bytes) -> str:
    """Return ``device N`` for the number in 16 kHz PCM, :data:`NOBODY` for none."""
    size = BYTES_PER_SAMPLE * marker.WINDOW
    for start in range(0, max(1, len(pcm) - size + 1), BYTES_PER_SAMPLE * _STEP):
        number = marker.read(pcm[start : start + size])
        if number is not None:
            return f"device {number}"
    return NOBODY


def answer_to(question: str, turn: int) -> list[str]:
    """Return the words of the answer: who asked, in which of its turns; one sentence."""
    match = re.search(r"device (\d+)", question)
    name = f"Device {match[1]}" if match else "Nobody"
    words = f"{name} in turn {turn} for {SENTENCE_MS} ms.".split(" ")
    return [f"{word} " for word in words]


def length_ms(text: str) -> int:
    """Return how long the speech is that ``text`` asks for."""
    match = re.search(r"(\d+) ms", text)
    return int(match[1]) if match else SENTENCE_MS


def spoken(text: str, speech: bytes) -> bytes:
    """Return as much of ``speech`` (PCM at ``RATE``), over and over, as ``text`` asks for."""
    size = BYTES_PER_SAMPLE * RATE * length_ms(text) // 1000
    return (speech * (size // len(speech) + 1))[:size]
