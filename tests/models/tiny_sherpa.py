"""Makes recognisers of one layer for sherpa-onnx, in folders as they are published.

Each hears a symbol wherever there is sound, which one follows from its spectrum; silence is
silence. They run through the library's own features, batching and decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SYMBOLS = tuple("\u2581" + word for word in ("LAMP", "ON", "OFF", "TURN", "THE", "FAN", "HELLO"))
CHARACTERS = tuple("开灯关上音量大小")
TAGS = ("<|zh|>", "<|HAPPY|>", "<|Speech|>", "<|withitn|>")
_MELS, _STACKED = 80, 7
_OPSET, _IR = 13, 8


def _weights(rows: int, columns: int) -> npt.NDArray[np.float32]:
    """Return random weights; blank (column 0) scores above silence and below sound."""
    generator = np.random.default_rng(11)
    weights = generator.standard_normal((rows, columns)).astype(np.float32)
    weights[:, 0] = 0
    return weights


def save(
    path: Path,
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    constants: Mapping[str, Any],
    metadata: Mapping[str, object],
) -> None:
    import onnx
    from onnx import helper, numpy_helper

    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        outputs,
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR
    )
    helper.set_model_props(model, {key: str(value) for key, value in metadata.items()})
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _tokens(folder: Path, *symbols: str) -> None:
    lines = [f"{symbol} {number}\n" for number, symbol in enumerate(symbols)]
    folder.joinpath("tokens.txt").write_text("".join(lines), encoding="utf-8")


def make_zipformer_ctc(folder: Path) -> Path:
    """Write an offline CTC model that takes every fourth frame."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    size = 1 + len(SYMBOLS)
    bias = np.zeros(size, np.float32)
    bias[0] = 1.0
    nodes = [
        helper.make_node("Slice", ["x", "zero", "most", "one", "four"], ["every"]),
        helper.make_node("Add", ["every", "floor"], ["above"]),
        helper.make_node("Relu", ["above"], ["loud"]),
        helper.make_node("MatMul", ["loud", "weights"], ["heard"]),
        helper.make_node("Add", ["heard", "bias"], ["scores"]),
        helper.make_node("LogSoftmax", ["scores"], ["log_probs"], axis=-1),
        helper.make_node("Add", ["x_lens", "three"], ["more"]),
        helper.make_node("Div", ["more", "four"], ["log_probs_len"]),
    ]
    one = np.array([1], np.int64)
    save(
        folder / "model.onnx",
        nodes,
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "T", _MELS]),
            helper.make_tensor_value_info("x_lens", TensorProto.INT64, ["N"]),
        ],
        [
            helper.make_tensor_value_info("log_probs", TensorProto.FLOAT, ["N", "U", size]),
            helper.make_tensor_value_info("log_probs_len", TensorProto.INT64, ["N"]),
        ],
        {
            "zero": 0 * one,
            "most": one << 40,
            "one": one,
            "three": 3 * one,
            "four": 4 * one,
            "floor": np.array([9.0], np.float32),
            "weights": _weights(_MELS, size),
            "bias": bias,
        },
        {"model_type": "zipformer2_ctc", "version": 1, "model_author": "tests"},
    )
    _tokens(folder, "<blk>", *SYMBOLS)
    return folder


def make_sense_voice(folder: Path) -> Path:
    """Write a model whose first four symbols are tags."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    width = _MELS * _STACKED
    size = 1 + len(CHARACTERS) + len(TAGS)
    weights = _weights(width, size)
    weights[:, 1 + len(CHARACTERS) :] = 0
    bias = np.zeros(size, np.float32)
    bias[0] = 1.0
    tags = np.zeros((1, 4, size), np.float32)
    for number in range(4):
        tags[0, number, 1 + len(CHARACTERS) + number] = 100.0
    nodes = [
        helper.make_node("Relu", ["x"], ["loud"]),
        helper.make_node("MatMul", ["loud", "weights"], ["heard"]),
        helper.make_node("Add", ["heard", "bias"], ["scores"]),
        helper.make_node("Slice", ["scores", "zero", "four", "one"], ["first"]),
        helper.make_node("Mul", ["first", "nothing"], ["room"]),
        helper.make_node("Add", ["room", "tags"], ["tagged"]),
        helper.make_node("Concat", ["tagged", "scores"], ["logits"], axis=1),
    ]
    one = np.array([1], np.int64)
    names = ("x_length", "language", "text_norm")
    save(
        folder / "model.int8.onnx",
        nodes,
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "T", width]),
            *(helper.make_tensor_value_info(name, TensorProto.INT32, ["N"]) for name in names),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", "U", size])],
        {
            "zero": 0 * one,
            "one": one,
            "four": 4 * one,
            "nothing": np.array([0], np.float32),
            "weights": weights,
            "bias": bias,
            "tags": tags,
        },
        {
            "model_type": "sense_voice_ctc",
            "vocab_size": size,
            "lfr_window_size": _STACKED,
            "lfr_window_shift": 6,
            "normalize_samples": 0,
            "with_itn": 14,
            "without_itn": 15,
            "lang_auto": 0,
            "lang_zh": 3,
            "lang_en": 4,
            "lang_ja": 11,
            "lang_ko": 12,
            "lang_yue": 7,
            # Samples reach 32767, so speech is well above this and silence below.
            "neg_mean": ",".join(["-10"] * width),
            "inv_stddev": ",".join(["0.2"] * width),
        },
    )
    _tokens(folder, "<unk>", *CHARACTERS, *TAGS)
    return folder


def make_streaming_nemo_ctc(folder: Path) -> Path:
    """Write a streaming CTC model: windows of 32 frames, every eighth frame a symbol."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    size = len(SYMBOLS) + 1
    weights = np.roll(_weights(_MELS, size), -1, axis=1)  # here blank is the last
    bias = np.zeros(size, np.float32)
    bias[-1] = 1.0
    caches: dict[str, list[str | int]] = {
        "cache_last_channel": ["N", 1, 2, 4],
        "cache_last_time": ["N", 1, 4, 2],
    }
    nodes = [
        helper.make_node("Transpose", ["audio_signal"], ["frames"], perm=[0, 2, 1]),
        helper.make_node("Slice", ["frames", "zero", "most", "one", "eight"], ["every"]),
        helper.make_node("Add", ["every", "floor"], ["above"]),
        helper.make_node("Relu", ["above"], ["loud"]),
        helper.make_node("MatMul", ["loud", "weights"], ["heard"]),
        helper.make_node("Add", ["heard", "bias"], ["scores"]),
        helper.make_node("LogSoftmax", ["scores"], ["logprobs"], axis=-1),
        helper.make_node("Div", ["length", "eight"], ["encoded_lengths"]),
        *(helper.make_node("Identity", [name], [f"{name}_next"]) for name in caches),
        helper.make_node("Add", ["cache_last_channel_len", "one"], ["cache_last_channel_next_len"]),
    ]
    one = np.array([1], np.int64)
    info = helper.make_tensor_value_info
    save(
        folder / "model.onnx",
        nodes,
        [
            info("audio_signal", TensorProto.FLOAT, ["N", _MELS, "T"]),
            info("length", TensorProto.INT64, ["N"]),
            *(info(name, TensorProto.FLOAT, shape) for name, shape in caches.items()),
            info("cache_last_channel_len", TensorProto.INT64, ["N"]),
        ],
        [
            info("logprobs", TensorProto.FLOAT, ["N", "U", size]),
            info("encoded_lengths", TensorProto.INT64, ["N"]),
            *(info(f"{name}_next", TensorProto.FLOAT, shape) for name, shape in caches.items()),
            info("cache_last_channel_next_len", TensorProto.INT64, ["N"]),
        ],
        {
            "zero": 0 * one,
            "most": one << 40,
            "one": one,
            "eight": 8 * one,
            "floor": np.array([9.0], np.float32),
            "weights": weights,
            "bias": bias,
        },
        {
            "model_type": "EncDecHybridRNNTCTCBPEModel",
            "vocab_size": len(SYMBOLS),
            "window_size": 32,
            "chunk_shift": 32,
            "subsampling_factor": 8,
            "normalize_type": "",
            "cache_last_channel_dim1": 1,
            "cache_last_channel_dim2": 2,
            "cache_last_channel_dim3": 4,
            "cache_last_time_dim1": 1,
            "cache_last_time_dim2": 4,
            "cache_last_time_dim3": 2,
        },
    )
    _tokens(folder, *SYMBOLS, "<blk>")
    return folder


def make_transducer(folder: Path) -> Path:
    """Write an offline transducer that takes every eighth frame, without a language model."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    info = helper.make_tensor_value_info
    size = 1 + len(CHARACTERS)
    one = np.array([1], np.int64)
    weights = _weights(_MELS, size) / 20  # so that hotwords can outweigh the audio
    bias = np.zeros(size, np.float32)
    bias[0] = 1.0
    save(
        folder / "encoder.onnx",
        [
            helper.make_node("Slice", ["x", "zero", "most", "one", "eight"], ["every"]),
            helper.make_node("Add", ["every", "floor"], ["above"]),
            helper.make_node("Relu", ["above"], ["loud"]),
            helper.make_node("MatMul", ["loud", "weights"], ["encoder_out"]),
            helper.make_node("Add", ["x_lens", "seven"], ["more"]),
            helper.make_node("Div", ["more", "eight"], ["encoder_out_lens"]),
        ],
        [
            info("x", TensorProto.FLOAT, ["N", "T", _MELS]),
            info("x_lens", TensorProto.INT64, ["N"]),
        ],
        [
            info("encoder_out", TensorProto.FLOAT, ["N", "U", size]),
            info("encoder_out_lens", TensorProto.INT64, ["N"]),
        ],
        {
            "zero": 0 * one,
            "most": one << 40,
            "one": one,
            "seven": 7 * one,
            "eight": 8 * one,
            "floor": np.array([9.0], np.float32),
            "weights": weights,
        },
        {"model_type": "zipformer2"},
    )
    save(
        folder / "decoder.onnx",
        [
            helper.make_node("Slice", ["y", "zero", "one", "one"], ["first"]),
            helper.make_node("Cast", ["first"], ["number"], to=TensorProto.FLOAT),
            helper.make_node("MatMul", ["number", "nothing"], ["decoder_out"]),
        ],
        [info("y", TensorProto.INT64, ["N", 2])],
        [info("decoder_out", TensorProto.FLOAT, ["N", size])],
        {"zero": 0 * one, "one": one, "nothing": np.zeros((1, size), np.float32)},
        {"vocab_size": size, "context_size": 2},
    )
    save(
        folder / "joiner.onnx",
        [
            helper.make_node("Add", ["encoder_out", "decoder_out"], ["both"]),
            helper.make_node("Add", ["both", "bias"], ["logit"]),
        ],
        [
            info("encoder_out", TensorProto.FLOAT, ["N", size]),
            info("decoder_out", TensorProto.FLOAT, ["N", size]),
        ],
        [info("logit", TensorProto.FLOAT, ["N", size])],
        {"bias": bias},
        {"joiner_dim": size},
    )
    _tokens(folder, "<blk>", *CHARACTERS)
    return folder
