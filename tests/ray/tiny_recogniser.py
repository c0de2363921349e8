"""A recogniser of one layer in the ONNX format, which sherpa-onnx runs as a Zipformer with CTC.

It hears a word wherever there is sound; which one follows from the spectrum. No package is needed
to write it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vixio.providers.silero_vad.onnx_file import Graph

WORDS = ("lamp", "on", "off", "turn", "the", "fan", "hello")
_MELS = 80
_EVERY = 4
"""Frames of 10 ms for one symbol."""
_FLOOR = 9.0
"""Added to the logarithm of a band's energy: silence is below zero then."""


def make_recogniser(folder: Path) -> Path:
    """Write the network and its symbols; return ``folder``."""
    folder.mkdir(parents=True)
    graph = Graph()
    frames = graph.input("x", "float32", ("N", "T", _MELS))
    lengths = graph.input("x_lens", "int64", ("N",))
    one, every = graph.constant([1]), graph.constant([_EVERY])
    kept = graph.add("Slice", frames, graph.constant([0]), graph.constant([1 << 40]), one, every)
    floor = graph.constant(np.array([_FLOOR], np.float32))
    loud = graph.add("Relu", graph.add("Add", kept, floor))
    weights = np.random.default_rng(11).standard_normal((_MELS, 1 + len(WORDS)))
    weights[:, 0] = 0  # blank: above silence by its bias, and below sound
    heard = graph.add("MatMul", loud, graph.constant(weights.astype(np.float32)))
    bias = np.eye(1, 1 + len(WORDS), dtype=np.float32)[0]
    scores = graph.add("Add", heard, graph.constant(bias))
    graph.output(
        "log_probs", graph.add("LogSoftmax", scores, axis=-1), "float32", ("N", "U", len(bias))
    )
    more = graph.add("Add", lengths, graph.constant([_EVERY - 1]))
    graph.output("log_probs_len", graph.add("Div", more, every), "int64", ("N",))
    facts = {"model_type": "zipformer2_ctc", "version": "1", "model_author": "tests"}
    model = graph.model() + b"".join(_fact(*each) for each in facts.items())
    folder.joinpath("model.onnx").write_bytes(model)
    symbols = ("<blk>", *(f"\u2581{word.upper()}" for word in WORDS))
    lines = (f"{symbol} {number}\n" for number, symbol in enumerate(symbols))
    folder.joinpath("tokens.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def _fact(key: str, value: str) -> bytes:
    """Return ``metadata_props`` (field 14 of ``ModelProto``), which may stand behind the graph."""
    pair = _field(1, key.encode()) + _field(2, value.encode())
    return _field(14, pair)


def _field(number: int, data: bytes) -> bytes:
    assert len(data) < 128  # one byte holds the length
    return bytes((number << 3 | 2, len(data))) + data
