"""The Silero network over successive windows of one device, in one call of the runtime.

The weights (1.2 MB) and the runtime's code are read once for all windows of a packet. On a core
that has slept since the last packet, reading them is most of the work: one call for two windows
takes 0.85 ms where two calls take 1.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vixio.providers.batched_vad.direct import MAX_WINDOWS

Floats = npt.NDArray[np.float32]


class SequenceNetwork:
    """A session of ``silero_vad_16k_sequence.onnx``, bound to arrays that the caller fills.

    ``input`` (``MAX_WINDOWS``, samples) has one window a row, each preceded by the samples before
    it. ``hidden`` and ``cell`` (width) are the state before a call, ``new_hidden`` and ``new_cell``
    after it. The arrays never move, so a call passes nothing and converts nothing.
    """

    def __init__(self, session: Any, samples: int, width: int) -> None:  # noqa: ANN401  untyped
        """``session``: an ``onnxruntime.InferenceSession``."""
        self._run = session.run_with_iobinding
        self.input: Floats = np.zeros((MAX_WINDOWS, samples), np.float32)
        self.hidden, self.cell, self.new_hidden, self.new_cell = np.zeros((4, width), np.float32)
        self._probabilities: Floats = np.zeros(MAX_WINDOWS, np.float32)
        states = {"h": self.hidden, "c": self.cell}, {"hn": self.new_hidden, "cn": self.new_cell}
        inputs, outputs = (
            {name: _ort_value(row.reshape(1, 1, width)) for name, row in part.items()}
            for part in states
        )
        self._bindings = []
        for number in range(1, MAX_WINDOWS + 1):
            binding = session.io_binding()
            inputs["input"] = _ort_value(self.input[:number])
            outputs["speech_probs"] = _ort_value(self._probabilities[:number])
            for name, value in inputs.items():
                binding.bind_ortvalue_input(name, value)
            for name, value in outputs.items():
                binding.bind_ortvalue_output(name, value)
            self._bindings.append(binding)

    def run(self, number: int) -> list[float]:
        """Return the speech probability of each of the first ``number`` rows of ``input``."""
        self._run(self._bindings[number - 1])
        probabilities: list[float] = self._probabilities[:number].tolist()
        return probabilities


def _ort_value(array: Floats) -> Any:  # noqa: ANN401  untyped
    """Return the runtime's view of ``array``: no copy on a CPU."""
    import onnxruntime

    return onnxruntime.OrtValue.ortvalue_from_numpy(array)
