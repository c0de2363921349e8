"""What the server and a worker say to each other, in ``frames``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

NAME: Final = "pocketsphinx"

MAX_PAYLOAD: Final = 4_000_000
"""Bytes; a device's whole tool list is some 10 KB."""


WORST_SCORE: Final = -500.0
"""The score of what fits no sentence at all."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the server tells a worker on its command line, as JSON."""

    model: str
    dictionary: str
    language: str
    decoders: int
    rejection: float
    max_seconds: float


class Kind(IntEnum):
    """What a frame is. The first five go to the worker, the others come from it."""

    PREPARE = 1
    """JSON: a grammar that will be wanted; PREPARED or FAILED tells when that is done."""
    OPEN = 2
    """JSON: an utterance begins, over this grammar."""
    AUDIO = 3
    """PCM at 16 kHz."""
    FINISH = 4
    CANCEL = 5
    READY = 6
    RESULT = 7
    """JSON: text, rejected, confidence, score."""
    FAILED = 8
    """JSON: why this utterance cannot be recognised."""
    UNUSABLE = 9
    """JSON: why the worker cannot work at all; it ends."""
    GRAMMAR = 10
    """JSON: about a grammar that was made, for the log."""
    PREPARED = 11
