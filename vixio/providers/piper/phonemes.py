"""Text to the phonemes of a voice: those of eSpeak NG from a worker process, or letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Protocol

from vixio.providers.local_voice.english import spelled
from vixio.providers.local_voice.phonemes import Phonemes
from vixio.providers.piper.config import PiperVoiceConfig


class Phonemizer(Protocol):
    """Text to the phonemes of a voice. Blocking."""

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the phonemes of each sentence. Raises ProviderError."""

    def close(self) -> None:
        """Release its resources."""


class EspeakPhonemes:
    """Phonemes of the eSpeak NG of the default install, as Piper's own would return them."""

    def __init__(self, provider: str, config: PiperVoiceConfig) -> None:
        """Raises ProviderUnavailable without the voice of eSpeak NG."""
        clusters = ("".join(cluster) for cluster in config.vowel_clusters)
        longest_first = sorted(map(re.escape, clusters), key=len, reverse=True)
        self._phoneme = re.compile("|".join([*longest_first, "."]), re.DOTALL)
        self._phonemes = Phonemes(provider, config.espeak.voice)
        english = config.espeak.voice.partition("-")[0] == "en"
        self._prepare: Callable[[str], str] = spelled if english else str
        try:
            self._phonemes.check()
        except BaseException:
            self.close()
            raise

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the phonemes of each sentence. Raises ProviderError."""
        for sounds in self._phonemes.sentences(self._prepare(text)):
            yield self._phoneme.findall(sounds)

    def close(self) -> None:
        """End the process of eSpeak NG."""
        self._phonemes.close()


class Letters:
    """Letters as phonemes, accents as letters of their own."""

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the letters of ``text``."""
        yield list(unicodedata.normalize("NFD", text))

    def close(self) -> None:
        """Do nothing: there is no process."""
