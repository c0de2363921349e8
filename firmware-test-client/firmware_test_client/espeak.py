"""eSpeak NG by ctypes: text to PCM, in one worker thread, from a private copy of the library.

eSpeak NG keeps its state in global variables of the shared library. A server under test may have
loaded the same file into the same process, with its own lock. So the library is loaded from a
copy: the dynamic linker gives another file its own globals.

Interface: espeak-ng/src/include/espeak-ng/speak_lib.h.
"""

from __future__ import annotations

import asyncio
import ctypes
import shutil
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import espeakng_loader

from firmware_test_client.config import Voice
from firmware_test_client.errors import SpeechError
from firmware_test_client.pcm import Pcm

_OUTPUT_SYNCHRONOUS: Final = 2  # AUDIO_OUTPUT_SYNCHRONOUS: the callback runs inside espeak_Synth
_DONT_EXIT: Final = 0x8000  # espeakINITIALIZE_DONT_EXIT: returns errors instead of calling exit(1)
_CHARS_UTF8: Final = 1
_RATE, _VOLUME, _PITCH = 1, 2, 3  # espeak_PARAMETER
_SEED: Final = 1

_Callback: Final = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


class _Library:
    """The loaded library. Used by the worker thread alone."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._lib = _load_private_copy(Path(espeakng_loader.get_library_path()))
        data = str(espeakng_loader.get_data_path()).encode()
        self._rate: int = self._lib.espeak_Initialize(_OUTPUT_SYNCHRONOUS, 0, data, _DONT_EXIT)
        if self._rate <= 0:
            raise SpeechError("eSpeak NG could not be initialised with its own data")
        self._callback = _Callback(self._on_samples)  # kept: the library holds a bare pointer
        self._lib.espeak_SetSynthCallback(self._callback)

    def _on_samples(self, samples: Any, count: int, _events: Any) -> int:  # noqa: ANN401  a C pointer
        if samples and count > 0:
            self._chunks.append(ctypes.string_at(samples, 2 * count))
        return 0  # continue

    def synthesise(self, text: str, voice: Voice) -> Pcm:
        name = f"{voice.name}+{voice.variant}" if voice.variant else voice.name
        if self._lib.espeak_SetVoiceByName(name.encode()) != 0:
            raise SpeechError(f"eSpeak NG has no voice {name!r}")
        for parameter, value in (
            (_RATE, voice.speed),
            (_VOLUME, voice.volume),
            (_PITCH, voice.pitch),
        ):
            self._lib.espeak_SetParameter(parameter, value, 0)
        self._chunks.clear()
        # Its noise is another one each time, with 1.52 and later: so a word may be heard or not.
        if hasattr(self._lib, "espeak_ng_SetRandSeed"):
            self._lib.espeak_ng_SetRandSeed(ctypes.c_long(_SEED))
        raw = text.encode() + b"\0"
        status = self._lib.espeak_Synth(raw, len(raw), 0, 1, 0, _CHARS_UTF8, None, None)
        if status != 0:
            raise SpeechError(f"eSpeak NG failed with status {status}")
        return Pcm(b"".join(self._chunks), self._rate)


def _load_private_copy(path: Path) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="firmware-test-client-") as folder:
        # The mapping outlives the file: the directory can be removed once the library is loaded.
        return ctypes.CDLL(str(shutil.copy(path, folder)))


class Speaker:
    """Synthesis with a cache by (text, voice); all work is done by one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, Voice], Future[Pcm]] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="espeak")
        self._library: _Library | None = None

    def submit(self, text: str, voice: Voice) -> Future[Pcm]:
        """Start the synthesis, or return the one that has started for the same text and voice."""
        with self._lock:
            future = self._cache.get((text, voice))
            if future is None or (future.done() and future.exception() is not None):
                future = self._worker.submit(self._synthesise, text, voice)
                self._cache[text, voice] = future
            return future

    def _synthesise(self, text: str, voice: Voice) -> Pcm:
        if self._library is None:
            self._library = _Library()
        return self._library.synthesise(text, voice)


_speaker = Speaker()


async def synthesise(text: str, voice: Voice) -> Pcm:
    """Synthesise a text without blocking the event loop.

    Raises:
        SpeechError: unknown voice, or eSpeak NG refuses the text.
    """
    return await asyncio.shield(asyncio.wrap_future(_speaker.submit(text, voice)))
