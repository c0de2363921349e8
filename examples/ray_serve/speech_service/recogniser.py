"""The recogniser: utterances that arrive together are decoded in one call of the network."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import sherpa_onnx
from ray import serve

from speech_service.options import RecogniserOptions
from speech_service.sound import Samples

Utterance: TypeAlias = tuple[int, Samples]
"""Hz, and the samples."""

RATE = 16_000
LEAST = RATE // 2
"""Samples of the shortest input: networks have a minimum, so a shorter utterance is padded."""

_PARTS: dict[str, tuple[str, ...]] = {"transducer": ("encoder", "decoder", "joiner")}
"""The files of a network, by its kind; that of most is called ``model``."""


class Recogniser:
    """One replica: one copy of the network, in a process of its own."""

    def __init__(self, options: RecogniserOptions) -> None:
        self._recognizer = load(options)
        self._decode([(RATE, np.zeros(LEAST, np.float32))])  # the first call allocates

    def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Take new limits of a batch, without a restart."""
        self._transcribed.set_max_batch_size(user_config["max_batch_size"])
        self._transcribed.set_batch_wait_timeout_s(user_config["batch_wait_s"])

    async def transcribe(self, rate: int, samples: Samples) -> tuple[str, int]:
        """Return the words, and how many utterances were decoded with this one, itself counted."""
        text, together = await self._transcribed((rate, samples))
        return text, together

    @serve.batch
    async def _transcribed(self, batch: list[Utterance]) -> list[tuple[str, int]]:
        # In a thread: the replica accepts the next batch's requests meanwhile.
        texts = await asyncio.to_thread(self._decode, batch)
        return [(text, len(batch)) for text in texts]

    def _decode(self, batch: list[Utterance]) -> list[str]:
        streams = []
        for rate, samples in batch:
            stream = self._recognizer.create_stream()
            missing = max(0, LEAST * rate // RATE - len(samples))
            stream.accept_waveform(rate, np.pad(samples, (0, missing)))
            streams.append(stream)
        self._recognizer.decode_streams(streams)
        return [_readable(stream.result.text) for stream in streams]


def load(options: RecogniserOptions) -> Any:  # noqa: ANN401 - the library has no types
    """Load the network. Raises FileNotFoundError: the library would end the process."""
    folder, kind = options.folder, options.kind
    given: dict[str, Any] = {part: str(find(folder, part)) for part in _PARTS.get(kind, ("model",))}
    given |= {"tokens": str(find(folder, "tokens")), "num_threads": options.threads}
    given["provider"] = options.device
    if kind == "sense-voice":
        given |= {"language": options.language, "use_itn": True}
    if kind == "paraformer":
        given[kind] = given.pop("model")
    maker = getattr(sherpa_onnx.OfflineRecognizer, f"from_{kind.replace('-', '_')}")
    return maker(**given)


def find(folder: Path, part: str) -> Path:
    """Return the file of a network; of several precisions the smallest file."""
    pattern = "tokens.txt" if part == "tokens" else f"{part}*.onnx"
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_size)
    if not found:
        raise FileNotFoundError(f"there is no {pattern} in {folder.resolve()}")
    return found[0]


def _readable(text: str) -> str:
    """Return ``text``, in lower case if all its letters are capitals, as some networks write."""
    return text.strip().lower() if text.isupper() else text.strip()
