"""Messages between a client and a worker process that speaks, in ``frames``.

A request has a number; its answer is any number of DATA and then END or FAILED. Requests are
served one at a time, in the order in which they came.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

NAME: Final = "espeak"

CRASHED: Final = "its process crashed on this text"

MODULE: Final = "vixio.providers.espeak_process.worker"

MAX_PAYLOAD: Final = 1 << 20
"""Bytes. A request is a few hundred characters, a piece of audio 120 ms."""

CPU_SECONDS: Final = 5.0
"""CPU time of one request, which takes milliseconds; a worker that needs more is in an endless
loop, and the kernel ends it."""


class Voice(NamedTuple):
    """How to speak: a voice of eSpeak NG, words a minute, pitch (0…99), volume (0…200)."""

    name: str
    rate: int = 165
    pitch: int = 50
    volume: int = 100


class Kind(IntEnum):
    """Type of a frame. Those below 10 go to the worker, the others come from it."""

    SPEAK = 1
    """JSON ``text``, ``voices`` (the first that exists speaks), ``pause_after``. DATA: PCM."""
    PHONEMES = 2
    """JSON ``text``, ``voices``, ``tied`` (whether a tie joins the letters of a phoneme). DATA: the
    pronunciation as UTF-8."""
    MISSING = 3
    """JSON ``voices``. DATA: the JSON list of the names among them that do not exist."""
    VOICES = 5
    """JSON: anything. DATA: the JSON list of all voices, each its name,
    its language tag and its name for people."""
    CANCEL = 4
    """The request with this number is not wanted any more; it still ends with END."""
    READY = 10
    """JSON ``sample_rate`` in Hz; the worker takes requests."""
    UNUSABLE = 11
    """JSON ``message``: why the library cannot be used; the worker ends."""
    DATA = 12
    END = 13
    FAILED = 14
    """JSON ``message``: why this request has no answer."""
