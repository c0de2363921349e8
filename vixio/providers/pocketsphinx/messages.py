"""The protocol between the server and a worker, in ``frames``."""

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
    """Options of a worker; passed on its command line as JSON."""

    model: str
    dictionary: str
    language: str
    decoders: int
    rejection: float
    caution: float
    max_seconds: float


class Kind(IntEnum):
    """The type of a frame. The first six go to the worker, the others come from it."""

    PREPARE = 1
    """JSON: a grammar that will be needed soon; answered by PREPARED or FAILED."""
    OPEN = 2
    """JSON: an utterance begins, over this grammar."""
    AUDIO = 3
    """PCM at 16 kHz."""
    HINTS = 4
    """JSON: another grammar for the utterance, from its beginning. Not after FINISH."""
    FINISH = 5
    CANCEL = 6
    READY = 7
    RESULT = 8
    """JSON: words, rejected, confidence, score, guess, completeness."""
    FAILED = 9
    """JSON: why this utterance cannot be recognised."""
    UNUSABLE = 10
    """JSON: why the worker cannot work at all; it ends."""
    GRAMMAR = 11
    """JSON: about a grammar that was made, for the log."""
    PREPARED = 12
