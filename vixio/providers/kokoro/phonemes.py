"""Text to Kokoro's symbols.

Chinese characters are read as Mandarin, all else by eSpeak NG: in English where the voice or the
rest of the text is Chinese. The substitutions are those of ``espeak.py`` of misaki 0.9
(https://github.com/hexgrad/misaki, Apache-2.0), with whose phonemes Kokoro was trained.
"""

from __future__ import annotations

import re
from typing import Final

from vixio.language.normalisation.normaliser import read
from vixio.providers.kokoro.chinese import HAN, Mandarin
from vixio.providers.local_voice.phonemes import Phonemes

_ESPEAK: Final = {
    "en-us": "en-us",
    "en-gb": "en-gb",
    "es": "es",
    "fr": "fr-fr",
    "hi": "hi",
    "it": "it",
    "pt-br": "pt-br",
}
"""Voice of eSpeak NG for a language."""

# The tie stands between the letters of one phoneme. Longest first.
_ENGLISH: Final = (
    ("ʔˌn\u0329", "ʔn"),
    ("ʔn\u0329", "ʔn"),
    ("a^ɪ", "I"),
    ("a^ʊ", "W"),
    ("d^ʒ", "ʤ"),
    ("e^ɪ", "A"),
    ("t^ʃ", "ʧ"),
    ("ɔ^ɪ", "Y"),
    ("ə^l", "ᵊl"),
    ("ʲo", "jo"),
    ("ʲə", "jə"),
    ("e^ə", "e^ə"),  # kept for British English, where the next line must not find its e
    ("ʲ", ""),
    ("ɚ", "əɹ"),
    ("r", "ɹ"),
    ("x", "k"),
    ("ç", "k"),
    ("ɐ", "ə"),
    ("ɬ", "l"),
    ("\u0303", ""),
)
_AMERICAN: Final = (
    ("o^ʊ", "O"),
    ("ɜːɹ", "ɜɹ"),
    ("ɜː", "ɜɹ"),
    ("ɪə", "iə"),
    ("ː", ""),
)
_BRITISH: Final = (("e^ə", "ɛː"), ("iə", "ɪə"), ("ə^ʊ", "Q"))
_OTHERS: Final = (
    ("a^ɪ", "I"),
    ("a^ʊ", "W"),
    ("d^z", "ʣ"),
    ("d^ʒ", "ʤ"),
    ("e^ɪ", "A"),
    ("o^ʊ", "O"),
    ("ə^ʊ", "Q"),
    ("s^s", "S"),
    ("t^s", "ʦ"),
    ("t^ʃ", "ʧ"),
    ("ɔ^ɪ", "Y"),
    ("^", ""),
    ("-", ""),
)
_SYLLABIC: Final = re.compile("(\\S)\u0329")
_DASH: Final = re.compile(r"\s+[–—-]+\s+|—+")
_MARKS: Final = str.maketrans(
    {
        "、": ", ",
        "，": ", ",
        "。": ". ",
        "．": ". ",
        "！": "! ",
        "？": "? ",
        "：": ": ",
        "；": "; ",
        "（": " (",
        "）": ") ",
        **dict.fromkeys("«《「『【", " “"),
        **dict.fromkeys("»》」』】", "” "),
    }
)
_SPACES: Final = re.compile(r"\s+")
_SPOKEN: Final = re.compile(r"[^\W_]")
_GAP: Final = re.compile(r" +(?=[,.!?;:)”])|(?<=[“(]) +")


def english(tied: str, *, british: bool) -> str:
    """Return the symbols for the phonemes of eSpeak NG's English."""
    for old, new in (*_ENGLISH, *(_BRITISH if british else _AMERICAN)):
        tied = tied.replace(old, new)
    tied = _SYLLABIC.sub(r"ᵊ\1", tied).replace("\u0329", "")
    tied = re.sub("e(?![\u0303])", "A", tied)
    for old, new in (("^", ""), ("o", "ɔ"), ("ɾ", "T"), ("ʔ", "t")):
        tied = tied.replace(old, new)
    return tied


def other(tied: str) -> str:
    """Return the symbols for the phonemes of another language of eSpeak NG's."""
    for old, new in _OTHERS:
        tied = tied.replace(old, new)
    return tied


class KokoroPhonemes:
    """Text to symbols. Blocking; processes and dictionaries start when they are needed."""

    def __init__(self, provider: str) -> None:
        """``provider``: for errors."""
        self._provider = provider
        self._espeak: dict[str, Phonemes] = {}
        self._mandarin: Mandarin | None = None

    def of(self, text: str, language: str) -> str:
        """Return the symbols of ``text``; ``language``: of the voice (BCP 47).

        Raises ProviderError; ProviderUnavailable if something is not installed.
        """
        text = _DASH.sub(", ", text)
        chinese = language.startswith("zh")
        text = read(text, language).translate(_MARKS)
        around = "en-us" if chinese else language.lower()
        parts: list[str] = []
        end = 0
        for run in HAN.finditer(text):
            parts += [self._read(text[end : run.start()], around), self._han(run[0])]
            end = run.end()
        parts.append(self._read(text[end:], around))
        return _GAP.sub("", _SPACES.sub(" ", "".join(parts))).strip()

    def prepare(self, language: str) -> None:
        """Start what ``language`` needs. Raises ProviderError, ProviderUnavailable."""
        self.of("你好 OK" if language.startswith("zh") else "OK", language)

    def close(self) -> None:
        """End the processes of eSpeak NG."""
        for phonemes in self._espeak.values():
            phonemes.close()
        self._espeak.clear()

    def _han(self, text: str) -> str:
        if self._mandarin is None:
            self._mandarin = Mandarin(self._provider)
        return self._mandarin.phonemes(text)

    def _read(self, text: str, language: str) -> str:
        """Return the symbols of a stretch without Chinese characters, its outer marks kept."""
        spoken = [found.start() for found in _SPOKEN.finditer(text)]
        if not spoken:
            return text
        start, stop = spoken[0], spoken[-1] + 1
        words = self._phonemes(language).of(text[start:stop])
        if language.startswith("en"):
            words = english(words, british=language == "en-gb")
        else:
            words = other(words)
        return f"{text[:start]} {words}{text[stop:]} "

    def _phonemes(self, language: str) -> Phonemes:
        known = self._espeak.get(language)
        if known is None:
            voice = _ESPEAK.get(language, "en-us")
            known = self._espeak[language] = Phonemes(self._provider, voice, tied=True)
        return known
