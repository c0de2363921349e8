"""libespeak-ng through ctypes: the few functions of ``speak_lib.h`` that voices need.

The library has one global state for the process and is not thread-safe. Some texts make it crash,
so only worker processes load it, and the benchmarks, which speak texts of their own. ctypes
releases the GIL during a call. Imports stay few: they are what a worker's memory consists of.
"""

from __future__ import annotations

import ctypes
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

from vixio.providers.espeak_process.messages import Voice

BUFFER_MS = 120
"""Audio in each callback. The first comes after about 0.1 ms of work, so it can be two packets."""

_INSTALL = "pip install espeakng-loader, or install the system's espeak-ng library"

# speak_lib.h: espeak_AUDIO_OUTPUT, initialisation flags, text flags, parameters, errors.
_AUDIO_OUTPUT_SYNCHRONOUS = 2  # espeak_Synth calls back and returns when all is done
_INITIALIZE_DONT_EXIT = 0x8000  # report missing data instead of ending the process
_CHARS_UTF8 = 1  # and not espeakSSML: markup is never interpreted
_ENDPAUSE = 0x1000
_POS_CHARACTER = 1
_RATE, _VOLUME, _PITCH = 1, 2, 3
_PHONEMES_IPA = 2
_PHONEMES_TIE = 0x80
"""With the character in the bits from 8 on, between the letters of one phoneme."""
TIE = "^"
_OK = 0

_CLAUSE = re.compile(r"([^.!?,;:…。！？，；：、؟،؛]*)([.!?,;:…。！？，；：、؟،؛]*)")
_ASCII_MARKS = str.maketrans("。！？，；：、؟،؛", ".!?,;:,?,;")
_LANGUAGE_FLAG = re.compile(r"\([^)]+\)")
"""Around words that a voice reads in another language, as in ``(en)hɛlˈoʊ(de)``."""

_SynthCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class EspeakError(Exception):
    """The library or its data is missing, or a call failed; one line for a person."""


@cache
def load_espeak() -> EspeakLibrary:
    """Return the process's one library, loaded at the first call. Raises EspeakError.

    It is never unloaded: the C library keeps a pointer to our callback, and a second
    initialisation would reset the voice of the first.
    """
    return EspeakLibrary()


class _VoiceRecord(ctypes.Structure):
    """espeak_VOICE of speak_lib.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_char_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    )


class EspeakLibrary:
    """The initialised library. Blocking; one thread at a time. Made by :func:`load_espeak` only."""

    def __init__(self) -> None:
        """Load it and its data. Raises EspeakError."""
        path, data = _bundled()
        self._lib = _load(path)
        rate = self._lib.espeak_Initialize(
            _AUDIO_OUTPUT_SYNCHRONOUS, BUFFER_MS, data, _INITIALIZE_DONT_EXIT
        )
        if rate <= 0:
            place = data.decode(errors="replace") if data else "the system's directory"
            # 1.52 holds the path of its data in 160 bytes.
            hint = ", the path is too long" if data and len(data) > 140 else ""
            raise EspeakError(f"no voice data in {place}{hint}: {_INSTALL}")
        self.sample_rate: int = rate
        self._voice: Voice | None = None
        self._missing: set[str] = set()
        """Names of voices that do not exist: each search reads the directories of voices."""
        self._write: Callable[[bytes], bool] | None = None
        # The library keeps the pointer: the callback object must live as long as this does.
        self._callback = _SynthCallback(self._on_samples)
        self._lib.espeak_SetSynthCallback(self._callback)

    def set_voice(self, voice: Voice) -> bool:
        """Use ``voice`` from now on; false, with nothing changed, if there is no such voice."""
        if voice == self._voice:
            return True
        if voice.name in self._missing:
            return False
        if self._lib.espeak_SetVoiceByName(voice.name.encode()) != _OK:
            self._missing.add(voice.name)
            return False
        # After the voice, which brings values of its own.
        for parameter, value in (
            (_RATE, voice.rate),
            (_PITCH, voice.pitch),
            (_VOLUME, voice.volume),
        ):
            self._lib.espeak_SetParameter(parameter, value, 0)
        self._voice = voice
        return True

    def seed(self, number: int) -> None:
        """Fix the noise in the voices, for measurements that can be repeated.

        1.52 has a generator of its own, which it seeds with the time; an older library, without
        this function, uses the C library's.
        """
        if hasattr(self._lib, "espeak_ng_SetRandSeed"):
            self._lib.espeak_ng_SetRandSeed(ctypes.c_long(number))

    def voices(self) -> list[tuple[str, str, str]]:
        """Return all voices, sorted: by what they are set, language tag, name for people."""
        records = self._lib.espeak_ListVoices(None)
        found: list[tuple[str, str, str]] = []
        for record in records:
            if not record:  # the list ends with a null pointer
                break
            voice = record.contents
            # The first byte of the languages is a priority; the first one is the voice's own.
            tag = (voice.languages or b" ")[1:].decode("utf-8", "replace")
            # The identifier is the path of its file, as gmw/en-US.
            file, name = (
                (text or b"").decode("utf-8", "replace") for text in (voice.identifier, voice.name)
            )
            found.append((file.rpartition("/")[2].lower(), tag, name))
        return sorted(found)

    def synthesize(self, text: str, write: Callable[[bytes], bool], *, pause_after: bool) -> None:
        """Speak ``text``; ``write`` takes each piece of PCM and returns whether to go on.

        ``pause_after`` adds the pause that stands between sentences. Raises EspeakError.
        """
        encoded = text.encode("utf-8", errors="ignore").replace(b"\0", b" ") + b"\0"
        flags = _CHARS_UTF8 | (_ENDPAUSE if pause_after else 0)
        self._write = write
        try:
            status = self._lib.espeak_Synth(
                encoded, len(encoded), 0, _POS_CHARACTER, 0, flags, None, None
            )
        finally:
            self._write = None
        if status != _OK:
            raise EspeakError(f"synthesis failed (status {status})")

    def phonemes(self, text: str, *, tied: bool = False) -> str:
        """Return the pronunciation of ``text`` by the voice in use, as IPA with its punctuation.

        Accents are characters of their own (NFD), as models are trained with. ``tied``: TIE stands
        between the letters of one phoneme, as in ``a^ɪ``.
        """
        mode = _PHONEMES_IPA | (_PHONEMES_TIE | ord(TIE) << 8 if tied else 0)
        parts: list[str] = []
        # A mark inside a number or a name, as in 3.5, is a part of it.
        for clause, marks in _CLAUSE.findall(re.sub(r"(?<=\w)[.:,](?=\w)", _keep, text)):
            if clause.strip():
                parts.append(self._clause(clause.translate(_KEPT), mode))
            if marks and parts:
                parts[-1] += marks.translate(_ASCII_MARKS)[0]
        return unicodedata.normalize("NFD", " ".join(parts))

    def _clause(self, text: str, mode: int) -> str:
        encoded = text.encode("utf-8", errors="ignore").replace(b"\0", b" ")
        buffer = ctypes.create_string_buffer(encoded)
        place = ctypes.c_void_p(ctypes.addressof(buffer))
        parts: list[str] = []
        while place.value is not None:  # each call takes a clause; after the last it is null
            found = self._lib.espeak_TextToPhonemes(ctypes.byref(place), _CHARS_UTF8, mode)
            parts.append((found or b"").decode("utf-8", errors="ignore"))
        return _LANGUAGE_FLAG.sub("", " ".join(filter(None, parts))).replace("\n", " ").strip()

    def _on_samples(self, samples: int | None, number: int, _events: int | None) -> int:
        """Take samples on the calling thread. Returns 1 to make espeak_Synth stop and return."""
        if self._write is None:
            return 1
        if samples is None or number <= 0:  # only events, or the end
            return 0
        return 0 if self._write(ctypes.string_at(samples, number * 2)) else 1


_KEPT = {0xE000 + ord(mark): mark for mark in ".:,"}
"""Private-use stand-ins for marks inside words while the text is cut into clauses."""


def _keep(mark: re.Match[str]) -> str:
    return chr(0xE000 + ord(mark[0]))


def _bundled() -> tuple[str | None, bytes | None]:
    """Return library and data of the espeakng-loader package, None each if it is missing."""
    try:
        import espeakng_loader
    except ImportError:
        return None, None
    try:
        return espeakng_loader.get_library_path(), espeakng_loader.get_data_path().encode()
    except RuntimeError:  # the package is there, its data is not
        return None, None


def _load(path: str | None) -> ctypes.CDLL:
    system = "libespeak-ng.1.dylib" if sys.platform == "darwin" else "libespeak-ng.so.1"
    try:
        lib = ctypes.CDLL(path or system)
    except OSError as error:
        raise EspeakError(f"cannot load {path or system}: {_INSTALL}") from error
    lib.espeak_Initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    lib.espeak_SetSynthCallback.argtypes = [_SynthCallback]
    lib.espeak_SetSynthCallback.restype = None
    lib.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
    lib.espeak_SetParameter.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int]
    lib.espeak_Synth.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_uint,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_uint,
        ctypes.POINTER(ctypes.c_uint),
        ctypes.c_void_p,
    ]
    lib.espeak_TextToPhonemes.argtypes = [
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_int,
        ctypes.c_int,
    ]
    lib.espeak_TextToPhonemes.restype = ctypes.c_char_p
    lib.espeak_ListVoices.argtypes = [ctypes.c_void_p]
    lib.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(_VoiceRecord))
    return lib
