"""The Silero network for one device alone, in arrays that never move.

A call passes nothing to the runtime and converts nothing: on a core that has slept since the last
packet, the code for that takes as long as a third of the network.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vixio.providers.batched_vad.direct import MAX_WINDOWS
from vixio.providers.onnx_runtime import load_onnxruntime
from vixio.providers.silero_vad.network import CONTEXT, STATE, WINDOW
from vixio.providers.silero_vad.onnx_file import Floats


class LoneRun:
    """A session of :func:`~vixio.providers.silero_vad.network.build_network`, bound to arrays.

    ``audio`` (``MAX_WINDOWS``, CONTEXT + WINDOW) int16 and ``state`` (2 * STATE) are filled by the
    caller; ``after`` is the state after :meth:`run`.
    """

    def __init__(self, session: Any) -> None:  # noqa: ANN401  untyped
        """``session``: an ``onnxruntime.InferenceSession``."""
        self._run = session.run_with_iobinding
        self.audio = np.zeros((MAX_WINDOWS, CONTEXT + WINDOW), np.int16)
        self.state, self.after = np.zeros((2, 2 * STATE), np.float32)
        self._probabilities: Floats = np.zeros(MAX_WINDOWS, np.float32)
        steps = np.arange(MAX_WINDOWS)[:, None]
        self._bindings: list[Any] = []
        self._bound: list[Any] = []  # the runtime has their addresses only
        for number in range(1, MAX_WINDOWS + 1):
            inputs = {
                "audio": self.audio[:number],
                "steps": steps[:number],
                "lengths": np.array([number], np.int32),
                "state": self.state[None],
                "slots": np.zeros(1, np.int64),
            }
            outputs = {
                "probabilities": self._probabilities[:number],
                "after": self.after[None],
            }
            binding = session.io_binding()
            for name, array in inputs.items():
                binding.bind_ortvalue_input(name, _ort_value(array))
            for name, array in outputs.items():
                binding.bind_ortvalue_output(name, _ort_value(array))
            self._bindings.append(binding)
            self._bound += inputs.values()

    def run(self, number: int) -> list[float]:
        """Return the speech probabilities of the first ``number`` rows of ``audio``, in a row."""
        self._run(self._bindings[number - 1])
        heard: list[float] = self._probabilities[:number].tolist()
        return heard


def _ort_value(array: Any) -> Any:  # noqa: ANN401  untyped
    """Return the runtime's view of ``array``: no copy on a CPU."""
    return load_onnxruntime().OrtValue.ortvalue_from_numpy(array)
