"""Runs a Moonshine model: an encoder of raw audio, and a decoder that gives one symbol a step.

The decoder is the "merged" export of a transformer: its first step takes no cache and gives one for
each layer; later steps take that and extend the part of the decoder. Greedy search, as in the
model's own library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderUnavailable
from vixio.providers.asr import Recognition
from vixio.providers.local_recogniser.models import OfflineModel
from vixio.providers.moonshine.files import NAME, ModelFiles
from vixio.providers.onnx_runtime import load_onnxruntime

_SPACE = "▁".encode()
_FIRST_SYMBOL = 3
"""The ids before it are ``<unk>``, ``<s>`` and ``</s>``, which are no text."""


class Tokenizer:
    """The symbols of a Moonshine model by id, from its ``tokenizer.bin``.

    The format is that of ``core/bin-tokenizer`` in the model's repository: for each id in order the
    length of its symbol and its bytes. A length from 128 on takes two bytes: its remainder by 128
    plus 128, then its quotient by 128. An id that is not used has a symbol without bytes.
    """

    def __init__(self, data: bytes) -> None:
        """Raises ValueError if ``data`` is cut short."""
        self._symbols: list[bytes] = []
        place = 0
        while place < len(data):
            length = data[place]
            place += 1
            if length >= 128:
                if place == len(data):
                    raise ValueError("a length is cut short")
                length = length - 128 + 128 * data[place]
                place += 1
            symbol = data[place : place + length]
            if len(symbol) < length:
                raise ValueError("a symbol is cut short")
            self._symbols.append(symbol)
            place += length

    def __len__(self) -> int:
        return len(self._symbols)

    def text(self, ids: Iterable[int]) -> str:
        """Return the text of ``ids``; ids without a text add nothing."""
        return b"".join(map(self._bytes, ids)).replace(_SPACE, b" ").decode(errors="ignore").strip()

    def _bytes(self, id: int) -> bytes:
        if not _FIRST_SYMBOL <= id < len(self._symbols):
            return b""
        symbol = self._symbols[id]
        special = symbol.startswith(b"<<") and symbol.endswith(b">>")
        return b"" if special else symbol


_START: Final = 1
_END: Final = 2
_QUIET: Final = 250
"""Largest sample (of 32768, -42 dB) of an utterance in which nobody speaks."""
_LEAST_SAMPLES: Final = LISTEN_RATE // 2
"""A shorter utterance is padded with silence: the encoder has a minimum."""
_FEW: Final = 3
"""Symbols of one short word, which noise resembles more than it does a sentence: "You"."""
_FEW_MORE: Final = 0.2
"""By which their mean log-probability has to be better. Chosen by a few single words of the
held-out sentences in the voices of eSpeak NG, of which none below that is right."""
_SYMBOLS_PER_SECOND: Final = 10
_SYMBOLS_ALWAYS: Final = 8
"""Fast speech has 6.5 symbols a second (``max_tokens_per_second`` of the model's library). A model
that finds many more repeats itself."""

Floats = NDArray[np.float32]


class MoonshineModel(OfflineModel[None]):
    """The loaded model."""

    def __init__(self, files: ModelFiles, *, threads: int, rejection: float) -> None:
        """``rejection``: mean log-probability of the symbols below which words are rejected.

        Blocking for a second. Raises ProviderUnavailable.
        """
        self._rejection = rejection
        try:
            self._tokenizer = Tokenizer(files.tokenizer.read_bytes())
            self._encoder = _session(files.encoder, threads)
            self._decoder = _session(files.decoder, threads)
            shapes = {each.name: each.shape for each in self._decoder.get_inputs()}
            self._cache = [name for name in shapes if name.startswith("past_key_values")]
            self._empty = {
                name: np.zeros((1, shapes[name][1], 0, shapes[name][3]), np.float32)
                for name in self._cache
            }
            self._decoder_masked = "encoder_attention_mask" in shapes
            self._encoder_masked = len(self._encoder.get_inputs()) > 1
            self._hear(np.zeros(_LEAST_SAMPLES, np.float32))
        except Exception as error:  # the library raises whatever its C++ parts throw
            reason = str(error).strip().partition("\n")[0][:200]
            folder = files.encoder.parent
            raise ProviderUnavailable(
                NAME, f"the model in {folder} cannot be used ({reason})"
            ) from error

    def decode(self, utterances: Sequence[tuple[bytes, None]]) -> list[Recognition]:
        """Return the words of each utterance."""
        return [self._recognise(pcm) for pcm, _ in utterances]

    def _recognise(self, pcm: bytes) -> Recognition:
        heard = np.frombuffer(pcm, "<i2")
        if not heard.size or int(np.abs(heard.astype(np.int32)).max()) < _QUIET:
            return Recognition("")
        floats = heard.astype(np.float32) / np.float32(32768)
        symbols, mean = self._hear(np.pad(floats, (0, max(0, _LEAST_SAMPLES - floats.size))))
        text = self._tokenizer.text(symbols) if symbols is not None else ""
        few = symbols is not None and len(symbols) <= _FEW
        least = self._rejection + (_FEW_MORE if few else 0.0)
        if not any(map(str.isalnum, text)):
            return Recognition("", rejected=True)
        if mean < least:
            return Recognition("", rejected=True, guess=text)
        return Recognition(text, confidence=float(np.exp(mean)), language="en")

    def _hear(self, floats: Floats) -> tuple[list[int] | None, float]:
        """Return the symbols, None if they find no end, and their mean log-probability."""
        inputs: dict[str, Any] = {"input_values": floats[np.newaxis]}
        if self._encoder_masked:
            inputs["attention_mask"] = np.ones((1, floats.size), np.int64)
        (encoded,) = self._encoder.run(None, inputs)
        feed: dict[str, Any] = {
            "encoder_hidden_states": encoded,
            "use_cache_branch": np.array([False]),
            **self._empty,
        }
        if self._decoder_masked:
            # Of the samples, not of the encoder's frames: the graph reduces it itself, and fails on
            # a mask of more than 384 frames (k2-fsa/sherpa-onnx issue 3975).
            feed["encoder_attention_mask"] = np.ones((1, floats.size), np.int64)
        symbols: list[int] = []
        total, symbol = 0.0, _START
        most = _SYMBOLS_ALWAYS + floats.size * _SYMBOLS_PER_SECOND // LISTEN_RATE
        for number in range(most):
            feed["input_ids"] = np.array([[symbol]], np.int64)
            logits, *caches = self._decoder.run(None, feed)
            scores: Floats = logits[0, -1]
            symbol = int(scores.argmax())
            total -= float(np.log(np.exp(scores - scores[symbol]).sum()))
            if symbol == _END:
                return symbols, total / (number + 1)
            symbols.append(symbol)
            feed |= {
                name: cache
                for name, cache in zip(self._cache, caches, strict=True)
                if number == 0 or ".decoder." in name  # the encoder's part stays as it is
            }
            feed["use_cache_branch"] = np.array([True])
        return None, total / most


def _session(path: Path, threads: int) -> Any:  # noqa: ANN401 - the library is untyped
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # an error is raised as well
    options.enable_cpu_mem_arena = False  # else it grows with the longest utterance
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )
