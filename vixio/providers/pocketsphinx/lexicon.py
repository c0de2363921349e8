"""How words are pronounced: the model's dictionary, and eSpeak NG for what it lacks.

The dictionary is read from its file for the words that a grammar needs; loaded whole into every
decoder it would take four fifths of the decoder's memory.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from pathlib import Path

# IPA as eSpeak NG 1.52 writes American English, to the ARPABET of the model; longest first.
_ARPABET = {
    "aɪɚ": "AY ER",
    "aɪə": "AY AH",
    "tʃ": "CH",
    "dʒ": "JH",
    "aɪ": "AY",
    "aʊ": "AW",
    "eɪ": "EY",
    "oʊ": "OW",
    "ɔɪ": "OY",
    "iː": "IY",
    "uː": "UW",
    "ɑː": "AA",
    "ɔː": "AO",
    "oː": "AO",
    "ɜː": "ER",
    "iə": "IY AH",
    "əl": "AH L",
    "ɚ": "ER",
    "ɝ": "ER",
    "æ": "AE",
    "ɛ": "EH",
    "ɪ": "IH",
    "i": "IY",
    "ᵻ": "IH",
    "ʊ": "UH",
    "u": "UW",
    "ʌ": "AH",
    "ə": "AH",
    "ɐ": "AH",
    "ɔ": "AO",
    "ɒ": "AA",
    "ɑ": "AA",
    "a": "AA",
    "e": "EH",
    "o": "OW",
    "ɹ": "R",
    "r": "R",
    "ɾ": "T",
    "ʃ": "SH",
    "ʒ": "ZH",
    "θ": "TH",
    "ð": "DH",
    "ŋ": "NG",
    "ɡ": "G",
    "g": "G",
    "j": "Y",
    "h": "HH",
    "x": "K",
    "ʔ": "T",
    "b": "B",
    "d": "D",
    "f": "F",
    "k": "K",
    "l": "L",
    "m": "M",
    "n": "N",
    "p": "P",
    "s": "S",
    "t": "T",
    "v": "V",
    "w": "W",
    "z": "Z",
}
_LONGEST = max(map(len, _ARPABET))
_SILENT_MARKS = "ˈˌː̩ʲ-_ "

_AUDIO_OUTPUT_SYNCHRONOUS = 2  # speak_lib.h; nothing is synthesised
_DONT_EXIT = 0x8000
_CHARS_UTF8 = 1
_PHONEMES_IPA = 2


class Lexicon:
    """Pronunciations by word, read when they are first needed."""

    def __init__(self, dictionary: Path, *, guess: bool) -> None:
        """``guess``: ask eSpeak NG for words that are missing (English ARPABET models only).

        Raises OSError if the dictionary cannot be read.
        """
        self._path = dictionary
        self._guess = guess
        self._known: dict[str, tuple[str, ...]] = {}
        with dictionary.open("rb"):
            pass

    def load(self, words: Iterable[str]) -> None:
        """Find the pronunciations of ``words``, in one pass through the file (some 40 ms)."""
        wanted = {word for word in words if word not in self._known}
        if not wanted:
            return
        found: dict[str, list[str]] = {word: [] for word in wanted}
        with self._path.open("r", encoding="utf-8") as file:
            for line in file:
                head, _, phones = line.partition(" ")
                word = head.split("(", 1)[0]
                if word in found and phones:
                    found[word].append(phones.strip())
        for word, ways in found.items():
            guessed = "" if ways or not self._guess else guess_pronunciation(word)
            self._known[word] = tuple(dict.fromkeys([*ways, guessed] if guessed else ways))

    def pronunciations(self, word: str) -> tuple[str, ...]:
        """Return the ways to say ``word`` as phone names, none if it cannot be said."""
        if word not in self._known:
            self.load((word,))
        return self._known[word]


def guess_pronunciation(word: str) -> str:
    """Return the ARPABET of an unknown English word as eSpeak NG reads it; empty if it cannot."""
    speak = _espeak()
    return to_arpabet(speak(word)) if speak is not None and word.isascii() else ""


def to_arpabet(ipa: str) -> str:
    """Translate eSpeak NG's IPA; empty if it holds a sound that English does not have."""
    phones: list[str] = []
    index = 0
    while index < len(ipa):
        for size in range(_LONGEST, 0, -1):
            phone = _ARPABET.get(ipa[index : index + size])
            if phone is not None:
                phones.append(phone)
                index += size
                break
        else:
            if ipa[index] not in _SILENT_MARKS:
                return ""
            index += 1
    return " ".join(phones)


class _Speak:
    """espeak_TextToPhonemes of ``speak_lib.h``. The worker has one thread, so no lock."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._lib = library
        self._lib.espeak_TextToPhonemes.restype = ctypes.c_char_p

    def __call__(self, word: str) -> str:
        text = ctypes.c_char_p(word.encode())
        pointer = ctypes.pointer(text)
        said = self._lib.espeak_TextToPhonemes(pointer, _CHARS_UTF8, _PHONEMES_IPA)
        return said.decode("utf-8", errors="replace") if said else ""


@functools.cache
def _espeak() -> _Speak | None:
    """Load eSpeak NG when the first unknown word comes; None where it is not installed."""
    try:
        import espeakng_loader

        library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path().encode()
    except (ImportError, OSError, RuntimeError):  # RuntimeError: the package without its data
        return None
    if library.espeak_Initialize(_AUDIO_OUTPUT_SYNCHRONOUS, 0, data, _DONT_EXIT) <= 0:
        return None
    if library.espeak_SetVoiceByName(b"en-us") != 0:
        return None
    return _Speak(library)
