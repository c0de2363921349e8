"""The Silero network: what it eats, what it remembers, and where its file is.

Its input is a window of 512 samples behind the last 64 samples of the window before, its memory a
(2, 128) state for each device (``OnnxWrapper`` in the ``silero-vad`` distribution). Both live here
in arrays indexed by slot, one slot a device. Not thread-safe: it belongs to the worker thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderUnavailable

NAME = "silero"

WINDOW = 512
"""New samples in each run, at 16 kHz: 32 ms."""
WINDOW_BYTES = WINDOW * 2
_CONTEXT = 64
_STATE = 128
_SCALE = np.float32(1 / 32768)
_FIRST_SLOTS = 16

MODEL_FILE = "silero_vad_op18_ifless.onnx"
"""Of the files that give the reference file's output, the fastest: alone 56 µs a window against 65,
from a batch of 8 all the same. ``silero_vad_half.onnx`` gives other output."""

_INSTALL = "pip install --no-deps 'silero-vad>=6.2,<7'"

Floats = npt.NDArray[np.float32]


def find_model() -> Path:
    """Return the path of the model file.

    The package is looked up but never imported: its ``__init__`` imports torch. Raises
    ProviderUnavailable if it is not installed or carries no such file.
    """
    spec = find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(NAME, f"its model is not installed: {_INSTALL}")
    path = Path(spec.submodule_search_locations[0], "data", MODEL_FILE)
    if not path.is_file():
        raise ProviderUnavailable(NAME, f"silero-vad carries no {MODEL_FILE}: {_INSTALL}")
    return path


class _Session(Protocol):
    """What is used of the untyped ``onnxruntime.InferenceSession``."""

    def run(
        self, outputs: Sequence[str], inputs: Mapping[str, npt.NDArray[Any]]
    ) -> tuple[Floats, Floats]: ...


class SileroModel:
    """The network and the memory of all devices."""

    name = NAME
    window_bytes = WINDOW_BYTES

    def __init__(self, path: Path, max_batch: int) -> None:
        self._session = _load(path)
        self._rate = np.array(16_000, dtype=np.int64)
        # Gathered here before each run; a batch of n uses the first n rows, which are contiguous.
        self._input: Floats = np.zeros((max_batch, _CONTEXT + WINDOW), np.float32)
        self._gathered: Floats = np.zeros(2 * max_batch * _STATE, np.float32)
        self._hidden: Floats = np.zeros((_FIRST_SLOTS, _STATE), np.float32)
        self._cell: Floats = np.zeros((_FIRST_SLOTS, _STATE), np.float32)
        self._context: Floats = np.zeros((_FIRST_SLOTS, _CONTEXT), np.float32)

    def forget(self, slot: int) -> None:
        """Put ``slot`` into its first state."""
        if slot >= len(self._context):
            self._grow(slot + 1)
        self._hidden[slot] = 0
        self._cell[slot] = 0
        self._context[slot] = 0

    def run(self, slots: Sequence[int], windows: Sequence[bytes]) -> list[float]:
        """Return the speech probability of one window for each of ``slots``, all different.

        Each window is ``WINDOW_BYTES`` of PCM. A slot is used only after :meth:`forget`. If the
        runtime raises, no slot has changed.
        """
        number = len(slots)
        index = np.array(slots, dtype=np.intp)
        samples = np.frombuffer(b"".join(windows), dtype="<i2").reshape(number, WINDOW)
        batch = self._input[:number]
        np.multiply(samples, _SCALE, out=batch[:, _CONTEXT:])
        batch[:, :_CONTEXT] = self._context[index]
        state = self._gathered[: 2 * number * _STATE].reshape(2, number, _STATE)
        # mode="clip" is the one that writes straight into `out`; no index is out of range.
        np.take(self._hidden, index, axis=0, out=state[0], mode="clip")
        np.take(self._cell, index, axis=0, out=state[1], mode="clip")
        output, after = self._session.run(
            ("output", "stateN"), {"input": batch, "state": state, "sr": self._rate}
        )
        self._hidden[index] = after[0]
        self._cell[index] = after[1]
        self._context[index] = batch[:, WINDOW:]
        probabilities: list[float] = output[:, 0].tolist()
        return probabilities

    def release(self, slot: int) -> None:
        """Nothing: a slot is a row of arrays that its next owner uses."""

    def close(self) -> None:
        """Nothing: arrays and session go with the last reference."""

    def _grow(self, needed: int) -> None:
        size = max(needed, 2 * len(self._context))
        self._hidden = _resized(self._hidden, size)
        self._cell = _resized(self._cell, size)
        self._context = _resized(self._context, size)


def _resized(rows: Floats, number: int) -> Floats:
    larger = np.zeros((number, rows.shape[1]), np.float32)
    larger[: len(rows)] = rows
    return larger


def _load(path: Path) -> _Session:
    try:
        import onnxruntime
    except ImportError as error:
        raise ProviderUnavailable(NAME, f"{error}: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    # One thread: the network is too small to share, and the cores belong to other sessions.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A spinning pool would burn a core while nobody speaks.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors: the file has unused initializers, a warning each
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the runtime raises a dozen classes without a common base
        raise ProviderUnavailable(
            NAME, f"cannot load {path.name} ({type(error).__name__}): {_INSTALL}"
        ) from error
    return cast(_Session, session)
