"""Phonemes of eSpeak NG for voices that were trained on them, from a worker process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.espeak_process.messages import Voice
from vixio.providers.espeak_process.phonemes import PhonemeClient

_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")


class Phonemes:
    """Text to phonemes by a voice of eSpeak NG. Blocking."""

    def __init__(self, provider: str, voice: str, *, tied: bool = False) -> None:
        """``provider``: for errors. ``voice``: of eSpeak NG; its main language stands in for it.

        ``tied``: ``^`` stands between the letters of one phoneme.
        """
        self._tied = tied
        main = voice.partition("-")[0]  # as fr of fr-fr
        self._provider = provider
        self._voices = [Voice(name) for name in dict.fromkeys([voice, main])]
        self._client = PhonemeClient()

    def check(self) -> None:
        """Raise ProviderUnavailable if eSpeak NG or its voice is missing."""
        try:
            self.of("1")
        except ProviderUnavailable:
            raise
        except ProviderError as error:
            if error.retryable:
                raise
            name = self._voices[0].name
            raise ProviderUnavailable(self._provider, f"eSpeak NG has no voice {name}") from error

    def of(self, text: str) -> str:
        """Return the phonemes of ``text`` in IPA. Raises ProviderError."""
        return self._client.phonemes(text, self._voices, tied=self._tied)

    def sentences(self, text: str) -> Iterator[str]:
        """Yield the phonemes of each sentence of ``text``. Raises ProviderError."""
        for sentence in _SENTENCE.split(text):
            yield self.of(sentence)

    def close(self) -> None:
        """End the process of eSpeak NG."""
        self._client.close()
