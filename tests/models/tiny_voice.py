"""Makes voices that beep: each letter is a tone of its own, one layer looks it up.

They say nothing sensible, but how long they sound follows from the text, and they run through the
real libraries' text processing and runtime.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.models.tiny_sherpa import save

RATE = 16_000
TONE = RATE * 6 // 100
"""Samples of one letter: 60 ms."""
LETTERS = (
    " !\"&'(),-./0123456789:;<=>?[]_abcdefghijklmnopqrstuvwxyz。，！？"
    "好的没问题音量已经调到百分之三十"
)

_SYMBOLS = 256
"""Of a voice for Piper; its own set has less."""


def _tones(symbols: int) -> npt.NDArray[np.float32]:
    """A tone for each of ``symbols``, the first of them silent, at a third of full scale."""
    pitches = 150 + 17.0 * np.arange(symbols)[:, None]
    tones = 0.3 * np.sin(2 * np.pi * pitches * np.arange(TONE)[None] / RATE)
    tones[0] = 0
    return tones.astype(np.float32)


def make_vits(folder: Path, speakers: int = 2) -> Path:
    """Write a voice for sherpa-onnx whose symbols are letters."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Gather", ["tones", "x"], ["sound"], axis=0),
        helper.make_node("Mul", ["length_scale", "tone"], ["wanted"]),
        helper.make_node("Cast", ["wanted"], ["end"], to=TensorProto.INT64),
        helper.make_node("Slice", ["sound", "zero", "end", "two"], ["cut"]),
        helper.make_node("Reshape", ["cut", "shape"], ["y"]),
    ]
    save(
        folder / "beep.onnx",
        nodes,
        [
            info("x", TensorProto.INT64, ["N", "L"]),
            info("x_length", TensorProto.INT64, ["N"]),
            info("noise_scale", TensorProto.FLOAT, [1]),
            info("length_scale", TensorProto.FLOAT, [1]),
            info("noise_scale_w", TensorProto.FLOAT, [1]),
            info("sid", TensorProto.INT64, [1]),
        ],
        [info("y", TensorProto.FLOAT, ["N", 1, "S"])],
        {
            "tones": _tones(len(LETTERS) + 1),
            "tone": np.array([TONE], np.float32),
            "zero": np.array([0], np.int64),
            "two": np.array([2], np.int64),
            "shape": np.array([1, 1, -1], np.int64),
        },
        {
            "model_type": "vits",
            "comment": "beeps",
            "frontend": "characters",
            "language": "English",
            "sample_rate": RATE,
            "n_speakers": speakers,
            "add_blank": 0,
            "use_eos_bos": 1,
        },
    )
    lines = [f"{letter} {number}\n" for number, letter in enumerate(LETTERS, 1)]
    folder.joinpath("tokens.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def make_piper(folder: Path, kind: str = "text") -> Path:
    """Write a voice for Piper and return its model.

    ``kind``: its phonemes are letters (``text``), or the sounds that eSpeak NG tells (``espeak``).
    """
    from onnx import TensorProto, helper
    from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

    folder.mkdir(parents=True)
    info = helper.make_tensor_value_info
    first = np.array([1], np.int64)
    nodes = [
        helper.make_node("Gather", ["tones", "input"], ["sound"], axis=0),
        helper.make_node("Slice", ["scales", "first", "two"], ["length_scale"]),
        helper.make_node("Mul", ["length_scale", "tone"], ["wanted"]),
        helper.make_node("Cast", ["wanted"], ["end"], to=TensorProto.INT64),
        helper.make_node("Slice", ["sound", "zero", "end", "two"], ["cut"]),
        helper.make_node("Reshape", ["cut", "shape"], ["output"]),
    ]
    model = folder / "beep.onnx"
    save(
        model,
        nodes,
        [
            info("input", TensorProto.INT64, ["N", "L"]),
            info("input_lengths", TensorProto.INT64, ["N"]),
            info("scales", TensorProto.FLOAT, [3]),
            info("sid", TensorProto.INT64, [1]),
        ],
        [info("output", TensorProto.FLOAT, ["N", 1, 1, "S"])],
        {
            "tones": _tones(_SYMBOLS),
            "tone": np.array([TONE], np.float32),
            "zero": np.array([0], np.int64),
            "first": first,
            "two": np.array([2], np.int64),
            "shape": np.array([1, 1, 1, -1], np.int64),
        },
        {},
    )
    phonemes: dict[str, list[int]] = {"_": [0], "^": [1], "$": [2]}
    phonemes |= {letter: [number] for number, letter in enumerate(LETTERS, 3) if letter != "_"}
    if kind == "espeak":
        phonemes = {symbol: list(ids) for symbol, ids in DEFAULT_PHONEME_ID_MAP.items()}
    config = {
        "audio": {"sample_rate": RATE},
        "espeak": {"voice": "en-us"},
        "phoneme_type": kind,
        "num_symbols": _SYMBOLS,
        "num_speakers": 2,
        "speaker_id_map": {"ann": 0, "bob": 1},
        "phoneme_id_map": phonemes,
        "inference": {"noise_scale": 0.6, "length_scale": 1.0, "noise_w": 0.8},
    }
    model.with_suffix(".onnx.json").write_text(json.dumps(config), encoding="utf-8")
    return model
