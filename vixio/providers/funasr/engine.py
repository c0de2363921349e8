"""FunASR's ``AutoModel``. Only this module imports it, in the worker process."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.providers.funasr.messages import WorkerSettings

_CHUNK_UNIT: Final = LISTEN_RATE * 60 // 1000 * BYTES_PER_SAMPLE
"""Bytes of one unit of ``chunk_size``: 60 ms (``chunk_stride_samples`` in FunASR's
``models/paraformer_streaming/model.py``)."""
_LOOK_BACK: Final = {"encoder_chunk_look_back": 4, "decoder_chunk_look_back": 1}
"""Chunks that attention looks back: the values of FunASR's examples."""
_TAKES_HOTWORDS: Final = ("SeacoParaformer", "ContextualParaformer")


class Engine:
    """A loaded model. Blocking; for one thread."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Load the model. FunASR's own exceptions are passed on."""
        with _without_line_numbers():
            from funasr import AutoModel

        self._settings = settings
        self._auto: Any = AutoModel(
            **{
                "model": settings.model,
                "hub": settings.hub,
                "device": settings.device,
                "ncpu": settings.threads,
                "disable_update": True,
                "disable_pbar": True,
                "log_level": "ERROR",
                **settings.options,
            }
        )
        self.model_class = type(self._auto.model).__name__
        self.streaming = hasattr(self._auto.model, "generate_chunk")
        """Whether the model decodes while the user speaks, instead of whole utterances."""
        self.takes_hotwords = self.model_class in _TAKES_HOTWORDS

    @property
    def chunk_bytes(self) -> int:
        """Bytes of audio of one step of a streaming model."""
        return self._settings.chunk_size[1] * _CHUNK_UNIT

    def warm_up(self) -> None:
        """Run the model once, so that no user waits for the allocations of the first run.

        Loading holds the weights three times over; that memory is returned to the system first.
        """
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)
        hum = np.sin(np.arange(LISTEN_RATE) / 20).astype(np.float32) * 0.1
        pcm = (hum * 32767).astype("<i2").tobytes()
        if self.streaming:
            self.step(pcm, {}, final=True)
        else:
            self.recognize([pcm], "auto", "")

    def recognize(self, audio: Sequence[bytes], language: str, hotwords: str) -> list[str]:
        """Return the model's text of each utterance of 16 kHz PCM, decoded in one call."""
        options: dict[str, Any] = {"language": language, "use_itn": self._settings.itn}
        if hotwords and self.takes_hotwords:
            options["hotword"] = hotwords
        results = self._generate([_samples(pcm) for pcm in audio], len(audio), options)
        if len(results) == len(audio):
            return [_text(result) for result in results]
        if len(audio) == 1:
            return [" ".join(map(_text, results))]
        # Paraformer returns one empty result for a batch without any word.
        return [text for pcm in audio for text in self.recognize([pcm], language, hotwords)]

    def step(self, pcm: bytes, cache: dict[str, Any], *, final: bool) -> str:
        """Return the text of the next chunk of a streaming model; ``cache``: the model's state."""
        options = {"cache": cache, "is_final": final, "chunk_size": [*self._settings.chunk_size]}
        return " ".join(map(_text, self._generate(_samples(pcm), 1, {**options, **_LOOK_BACK})))

    def _generate(
        self,
        audio: NDArray[np.float32] | list[NDArray[np.float32]],
        batch_size: int,
        options: dict[str, Any],
    ) -> list[dict[str, Any]]:
        found = self._auto.generate(
            audio, batch_size=batch_size, fs=LISTEN_RATE, disable_pbar=True, **options
        )
        return [result for result in found if isinstance(result, dict)]


@contextlib.contextmanager
def _without_line_numbers() -> Iterator[None]:
    """Spare FunASR a second while it is imported: it reads the source of each class that it
    registers, for a table of where they are, which nobody prints here."""
    source_lines = inspect.getsourcelines

    def of_others(what: Any) -> tuple[list[str], int]:  # noqa: ANN401 - of the standard library
        if isinstance(what, type) and what.__module__.startswith("funasr."):
            return [], 0
        return source_lines(what)

    inspect.getsourcelines = of_others  # type: ignore[assignment]  # its parameter's name
    try:
        yield
    finally:
        inspect.getsourcelines = source_lines


def join(text: str, more: str) -> str:
    """Return ``text`` and ``more`` joined, with a space between words of Latin letters only."""
    if text and more and text[-1].isascii() and more[0].isascii():
        return f"{text} {more}"
    return text + more


def model_name(settings: WorkerSettings) -> str:
    """Return the model's name for messages, without the path of a folder."""
    with contextlib.suppress(ValueError):
        if Path(settings.model).is_absolute():
            return f"the folder {Path(settings.model).name}"
    return settings.model


def _samples(pcm: bytes) -> NDArray[np.float32]:
    return np.frombuffer(pcm, dtype="<i2").astype(np.float32) / np.float32(32768)


def _text(result: dict[str, Any]) -> str:
    text = result.get("text", "")
    return text if isinstance(text, str) else ""
