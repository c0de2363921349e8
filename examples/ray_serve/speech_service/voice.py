"""The voice: each sentence is sent as soon as it is made."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import onnxruntime
from piper import PiperConfig, PiperVoice, SynthesisConfig
from starlette.concurrency import iterate_in_threadpool

from speech_service.options import VoiceOptions

_log = logging.getLogger("ray.serve")

_SYMBOLS = re.compile("[\u2300-\u2bff\ue000-\uf8ff\U0001d000-\U0010ffff]+")
"""Braille, pictographs, private use: they have names, not sounds, and eSpeak NG 1.52, which Piper
gets its phonemes from, crashes on some of the names."""


class Voice:
    """One replica: one copy of the network, which makes one sentence at a time."""

    def __init__(self, options: VoiceOptions) -> None:
        self._voice = load(options)
        self.rate: int = self._voice.config.sample_rate
        self._one_at_a_time = threading.Lock()
        for _ in self._made("a", 1.0, None):  # the first call allocates
            pass

    async def describe(self) -> tuple[int, list[str]]:
        """Return the sample rate in Hz, and the speakers, of which there may be none."""
        return self.rate, sorted(self._voice.config.speaker_id_map)

    async def speak(self, text: str, speed: float, speaker: str) -> AsyncIterator[bytes]:
        """Yield 16-bit PCM, a sentence at a time.

        ``speaker``: one that the voice has; else it is the voice's default.
        """
        number = self._voice.config.speaker_id_map.get(speaker)
        sentences = 0
        try:
            async for piece in iterate_in_threadpool(self._made(text, speed, number)):
                sentences += 1
                yield piece
        finally:  # a client that is gone ends it early
            _log.info("spoken; sentences: %d", sentences)

    def _made(self, text: str, speed: float, speaker: int | None) -> Iterator[bytes]:
        length = self._voice.config.length_scale / speed
        manner = SynthesisConfig(speaker_id=speaker, length_scale=length)
        sentences = iter(self._voice.synthesize(_SYMBOLS.sub(" ", text), manner))
        while True:
            # Requests take turns, sentence by sentence.
            with self._one_at_a_time:
                chunk = next(sentences, None)
            if chunk is None:
                return
            yield chunk.audio_int16_bytes


def load(options: VoiceOptions) -> Any:  # noqa: ANN401 - Piper's classes are not installed here
    """Load the network. ``PiperVoice.load`` would take all processors for each sentence."""
    description = Path(f"{options.model}.json")
    config = PiperConfig.from_dict(json.loads(description.read_text(encoding="utf-8")))
    limits = onnxruntime.SessionOptions()
    limits.intra_op_num_threads = options.threads
    provider = "CUDAExecutionProvider" if options.device == "cuda" else "CPUExecutionProvider"
    session = onnxruntime.InferenceSession(str(options.model), limits, providers=[provider])
    return PiperVoice(session=session, config=config)
