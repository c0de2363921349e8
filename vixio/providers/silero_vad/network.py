"""The Silero network, laid out for the windows of many devices in one call.

The package's own files compute one window after another, because onnxruntime runs a convolution
once for each row of a batch, and each of a device's windows needs a call of its own for the
recurrent state. Here the same weights are used in matrix products over all windows of all devices,
followed by the recurrent layer over each device's windows: a window of a batch takes a fourth of
the time, and two windows of one device two fifths.

The layers are those of ``tinygrad_model.py`` in the ``silero-vad`` package: the magnitudes of four
spectra, four convolutions over time with a kernel of 3, an LSTM, and a linear layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vixio.providers.silero_vad.onnx_file import Floats, Graph, read_weights

WINDOW = 512
"""New samples in each run, at 16 kHz: 32 ms."""

CONTEXT = 64
"""Samples before each window that the network sees again."""

STATE = 128
"""Width of the recurrent layer's output and of its memory."""

_FRAME = 256
_HOP = 128
_SPECTRA = 4
_BINS = 129

_PREFIX = "model."
"""Of the weights for 16 kHz; the file has others for 8 kHz."""


def build_network(path: Path) -> bytes:
    """Return the model, in the ONNX format, made with the weights in the file at ``path``.

    Inputs: ``audio`` (rows, CONTEXT + WINDOW) int16, windows in any order; ``steps`` (steps, lanes)
    int64, the row that a lane reads in each step; ``lengths`` (lanes) int32, how many of its steps
    count; ``state`` (slots, 2 * STATE) float32 and ``slots`` (lanes) int64, the slot of each lane.
    Outputs: ``probabilities`` (steps * lanes), ``after`` (lanes, 2 * STATE), the new states.

    Raises OSError, and ValueError or KeyError for a file without these weights.
    """
    weights = {
        name.removeprefix(_PREFIX): values
        for name, values in read_weights(path).items()
        if name.startswith(_PREFIX)
    }
    graph = Graph()
    features = _features(graph, weights)
    _recurrent(graph, weights, features)
    return graph.model()


def _features(graph: Graph, weights: Mapping[str, Floats]) -> str:
    """Add what is computed for each window by itself; return its output, (rows, STATE)."""
    audio = graph.input("audio", "int16", ("rows", CONTEXT + WINDOW))
    samples = graph.add("Cast", audio, to=1)
    padded = graph.add("Pad", samples, graph.constant([0, 0, 0, CONTEXT]), mode="reflect")
    # Frames overlap by half, so each is two neighbouring halves.
    halves = graph.add("Reshape", padded, graph.constant([-1, _SPECTRA + 1, _HOP]))
    first, second = (_cut(graph, halves, start=start, end=start + _SPECTRA) for start in (0, 1))
    frames = graph.add("Concat", first, second, axis=2)
    basis = weights["stft.forward_basis_buffer"].reshape(2 * _BINS, _FRAME)
    spectra = graph.add("MatMul", frames, graph.constant(basis.T / np.float32(32768)))
    squares = graph.add("Mul", spectra, spectra)
    parts = graph.split("Split", 2, squares, axis=2, num_outputs=2)
    x = graph.add("Sqrt", graph.add("Add", *parts))

    padded = graph.add("Pad", x, graph.constant([0, 1, 0, 0, 1, 0]))
    before = _cut(graph, padded, start=0, end=_SPECTRA)
    behind = _cut(graph, padded, start=2, end=_SPECTRA + 2)
    x = graph.add("Concat", before, x, behind, axis=2)
    kernel, bias = _layer(weights, 0)
    product = graph.add("MatMul", x, graph.constant(kernel.transpose(2, 1, 0).reshape(-1, STATE)))
    x = graph.add("Relu", graph.add("Add", product, graph.constant(bias)))

    # From here on there are so few steps that a layer is one product of all of them.
    x = graph.add("Reshape", x, graph.constant([-1, _SPECTRA * STATE]))
    for layer, steps in ((1, 4), (2, 2), (3, 1)):
        kernel, bias = _layer(weights, layer)
        matrix = _as_matrix(kernel, steps, stride=1 if layer == 3 else 2)
        biases = np.tile(bias, matrix.shape[1] // len(bias))
        x = graph.add("Gemm", x, graph.constant(matrix), graph.constant(biases))
        x = graph.add("Relu", x)
    return x


def _recurrent(graph: Graph, weights: Mapping[str, Floats], features: str) -> None:
    """Add the recurrent layer over each lane's windows, and what follows it."""
    steps = graph.input("steps", "int64", ("steps", "lanes"))
    lengths = graph.input("lengths", "int32", ("lanes",))
    state = graph.input("state", "float32", ("slots", 2 * STATE))
    slots = graph.input("slots", "int64", ("lanes",))
    sequence = graph.add("Gather", features, steps, axis=0)
    before = graph.add("Gather", state, slots, axis=0)
    rows = graph.add("Unsqueeze", before, graph.constant([0]))
    hidden, memory = graph.split("Split", 2, rows, axis=2, num_outputs=2)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w, r, w_bias, r_bias = (_gates(weights[f"decoder.rnn.{name}"]) for name in names)
    outputs, new_hidden, new_memory = graph.split(
        "LSTM",
        3,
        sequence,
        graph.constant(w[None]),
        graph.constant(r[None]),
        graph.constant(np.concatenate([w_bias, r_bias])[None]),
        lengths,
        hidden,
        memory,
        hidden_size=STATE,
    )
    positive = graph.add("Relu", outputs)
    last = weights["decoder.decoder.2.weight"].reshape(STATE, 1)
    product = graph.add("MatMul", positive, graph.constant(last))
    bias = graph.constant(weights["decoder.decoder.2.bias"])
    speech = graph.add("Sigmoid", graph.add("Add", product, bias))
    flat = graph.add("Reshape", speech, graph.constant([-1]))
    graph.output("probabilities", flat, "float32", ("windows",))
    after = graph.add("Concat", new_hidden, new_memory, axis=2)
    after = graph.add("Reshape", after, graph.constant([-1, 2 * STATE]))
    graph.output("after", after, "float32", ("lanes", 2 * STATE))


def _cut(graph: Graph, value: str, *, start: int, end: int) -> str:
    bounds = (graph.constant([each]) for each in (start, end, 1))
    return graph.add("Slice", value, *bounds)


def _layer(weights: Mapping[str, Floats], layer: int) -> tuple[Floats, Floats]:
    """Return kernel (out, in, 3) and bias (out) of a convolution."""
    name = f"encoder.{layer}.reparam_conv"
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _as_matrix(kernel: Floats, steps: int, stride: int) -> Floats:
    """Return a convolution over ``steps``, padded by one, as a matrix (steps * in, after * out)."""
    out, inside, width = kernel.shape
    after = (steps - 1) // stride + 1
    matrix = np.zeros((steps, inside, after, out), np.float32)
    for target in range(after):
        for tap in range(width):
            source = target * stride + tap - 1
            if 0 <= source < steps:
                matrix[source, :, target] = kernel[:, :, tap].T
    return matrix.reshape(steps * inside, after * out)


def _gates(rows: Floats) -> Floats:
    """Reorder gates from PyTorch's (input, forget, cell, output) to ONNX's order."""
    into, forget, cell, output = np.split(rows, 4)
    return np.concatenate([into, output, forget, cell])
