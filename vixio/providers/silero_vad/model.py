"""The Silero network: its model files, its input and its state.

The input is a window of 512 samples, preceded by the last 64 samples of the previous window. The
state of a device is (2, 128) (``OnnxWrapper`` in the ``silero-vad`` distribution). Both are stored
in arrays with one row (slot) per device. Not thread-safe. Two sessions use them: one runs a window
each of several devices, the other successive windows of one device (``sequence``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderUnavailable
from vixio.providers.silero_vad.sequence import SequenceNetwork

NAME = "silero"

WINDOW = 512
"""New samples in each run, at 16 kHz: 32 ms."""
WINDOW_BYTES = WINDOW * 2
_CONTEXT = 64
_STATE = 128
_SCALE = np.float32(1 / 32768)
_FIRST_SLOTS = 16

MODEL_FILE = "silero_vad_op18_ifless.onnx"
"""The fastest file with the reference file's output: 56 µs a window instead of 65 without batching,
equal from a batch of 8. The output of ``silero_vad_half.onnx`` differs."""

SEQUENCE_FILE = "silero_vad_16k_sequence.onnx"
"""The same weights, for successive windows of one device. In the package since 6.2.2."""

_INSTALL = "pip install --no-deps 'silero-vad>=6.2.2,<7'"

Floats = npt.NDArray[np.float32]


def find_model() -> Path:
    """Return the path of the model file; :data:`SEQUENCE_FILE` is beside it.

    The package is not imported, because its ``__init__`` imports torch. Raises ProviderUnavailable
    if the package is not installed or lacks a file.
    """
    spec = find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(NAME, f"its model is not installed: {_INSTALL}")
    path = Path(spec.submodule_search_locations[0], "data", MODEL_FILE)
    for file in (path, path.with_name(SEQUENCE_FILE)):
        if not file.is_file():
            raise ProviderUnavailable(NAME, f"silero-vad carries no {file.name}: {_INSTALL}")
    return path


class _Session(Protocol):
    """The part of the untyped ``onnxruntime.InferenceSession`` that is used here."""

    def run(
        self, outputs: Sequence[str], inputs: Mapping[str, npt.NDArray[Any]]
    ) -> tuple[Floats, Floats]: ...


class SileroModel:
    """The network and the state of all devices."""

    name = NAME
    window_bytes = WINDOW_BYTES

    def __init__(self, path: Path, max_batch: int) -> None:
        self._session: _Session = _load(path)
        self._sequence = SequenceNetwork(
            _load(path.with_name(SEQUENCE_FILE)), _CONTEXT + WINDOW, _STATE
        )
        self._rate = np.array(16_000, dtype=np.int64)
        # Buffers of a batch. A batch of n uses the first n rows, which are contiguous.
        self._input: Floats = np.zeros((max_batch, _CONTEXT + WINDOW), np.float32)
        self._gathered: Floats = np.zeros(2 * max_batch * _STATE, np.float32)
        self._hidden: Floats = np.zeros((_FIRST_SLOTS, _STATE), np.float32)
        self._cell: Floats = np.zeros((_FIRST_SLOTS, _STATE), np.float32)
        self._context: Floats = np.zeros((_FIRST_SLOTS, _CONTEXT), np.float32)

    def forget(self, slot: int) -> None:
        """Reset the state of ``slot``."""
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
        # mode="clip" writes directly into `out`; all indices are in range.
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

    def run_sequence(self, slot: int, pcm: bytes) -> list[float]:
        """Return the speech probabilities of successive windows of ``slot``.

        ``pcm`` is at most ``MAX_WINDOWS`` whole windows. Otherwise as :meth:`run`.
        """
        samples = np.frombuffer(pcm, dtype="<i2").reshape(-1, WINDOW)
        number = len(samples)
        network = self._sequence
        rows = network.input[:number]
        np.multiply(samples, _SCALE, out=rows[:, _CONTEXT:])
        rows[0, :_CONTEXT] = self._context[slot]
        rows[1:, :_CONTEXT] = rows[:-1, WINDOW:]
        network.hidden[:] = self._hidden[slot]
        network.cell[:] = self._cell[slot]
        probabilities = network.run(number)
        self._hidden[slot] = network.new_hidden
        self._cell[slot] = network.new_cell
        self._context[slot] = rows[-1, WINDOW:]
        return probabilities

    def release(self, slot: int) -> None:
        """Do nothing: the slot's row is reused by its next owner."""

    def close(self) -> None:
        """Do nothing: garbage collection frees arrays and session."""

    def _grow(self, needed: int) -> None:
        size = max(needed, 2 * len(self._context))
        self._hidden = _resized(self._hidden, size)
        self._cell = _resized(self._cell, size)
        self._context = _resized(self._context, size)


def _resized(rows: Floats, number: int) -> Floats:
    larger = np.zeros((number, rows.shape[1]), np.float32)
    larger[: len(rows)] = rows
    return larger


def _load(path: Path) -> Any:  # noqa: ANN401  untyped
    try:
        import onnxruntime
    except ImportError as error:
        raise ProviderUnavailable(NAME, f"{error}: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    # One thread: the network is too small for more.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A spinning thread pool would use the CPU between the runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: each unused initializer of the file is a warning
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's classes of errors have no common base
        raise ProviderUnavailable(
            NAME, f"cannot load {path.name} ({type(error).__name__}): {_INSTALL}"
        ) from error
