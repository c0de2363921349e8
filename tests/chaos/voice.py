"""Speech with a number in it."""

from __future__ import annotations

import asyncio
import itertools

from firmware_test_client import Pcm, Voice
from firmware_test_client.pcm import from_samples
from firmware_test_client.speech import Utterance, prepare
from tests.chaos import marks
from vixio.core.audio import LISTEN_RATE

WORDS = "please tell me the number"

SPEAKERS = 16
"""Whose numbers differ; the first of them are the healthy devices'."""

NUMBERS_EACH = marks.NUMBERS // SPEAKERS


class Speaker:
    """Says its own numbers, over and over."""

    def __init__(self, index: int, utterance: Utterance) -> None:
        first = index % SPEAKERS * NUMBERS_EACH
        self._utterance = utterance
        self._numbers = itertools.cycle(range(first, first + NUMBERS_EACH))

    @classmethod
    async def create(cls, index: int) -> Speaker:
        """Make the voice."""
        return cls(index, await prepare(WORDS, Voice(), LISTEN_RATE))

    async def next(self) -> tuple[int, Pcm]:
        """Return the next number and its sound."""
        number = next(self._numbers)
        samples = await asyncio.to_thread(marks.mark, self._utterance.pcm.samples, number)
        return number, from_samples(samples, LISTEN_RATE)
