"""Makes voices that beep: each letter, or sound, is a tone of its own, one layer looks it up.

They say nothing sensible, but how long they sound follows from the text, and they run through the
real libraries' text processing and runtime.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
SOUNDS = "_^$ !,.:;?abdefhijklmnopstuvwxzæðŋɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒʔˈˌːθᵻɫ12345…"
"""Of what eSpeak NG tells; padding, begin and end first, as Piper has them."""

_ONE = np.array([1], np.int64)
_SYMBOLS = 256
"""Of each voice; its own set has less."""


def _tones() -> npt.NDArray[np.float32]:
    """A tone for each symbol, the first of them silent, at a third of full scale."""
    pitches = 150 + 12.0 * np.arange(_SYMBOLS)[:, None]
    tones = 0.3 * np.sin(2 * np.pi * pitches * np.arange(TONE)[None] / RATE)
    tones[0] = 0
    return tones.astype(np.float32)


def _tokens(folder: Path, symbols: str, first: int) -> None:
    lines = [f"{symbol} {number}\n" for number, symbol in enumerate(symbols, first)]
    folder.joinpath("tokens.txt").write_text("".join(lines), encoding="utf-8")


def make_letters(folder: Path) -> Path:
    """Write a VITS voice for sherpa-onnx whose symbols are letters."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    info = helper.make_tensor_value_info
    save(
        folder / "beep.onnx",
        [
            helper.make_node("Gather", ["tones", "x"], ["sound"], axis=0),
            helper.make_node("Mul", ["length_scale", "tone"], ["wanted"]),
            helper.make_node("Cast", ["wanted"], ["end"], to=TensorProto.INT64),
            helper.make_node("Slice", ["sound", "zero", "end", "two"], ["cut"]),
            helper.make_node("Reshape", ["cut", "shape"], ["y"]),
        ],
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
            "tones": _tones(),
            "tone": np.array([TONE], np.float32),
            "zero": 0 * _ONE,
            "two": 2 * _ONE,
            "shape": np.array([1, 1, -1], np.int64),
        },
        {
            "model_type": "vits",
            "comment": "beeps",
            "frontend": "characters",
            "language": "English",
            "sample_rate": RATE,
            "n_speakers": 2,
            "add_blank": 0,
            "use_eos_bos": 1,
        },
    )
    _tokens(folder, LETTERS, 1)
    return folder


def _save_piper(path: Path, metadata: Mapping[str, object]) -> None:
    """Write a model with the inputs that Piper's have."""
    from onnx import TensorProto, helper

    path.parent.mkdir(parents=True)
    info = helper.make_tensor_value_info
    save(
        path,
        [
            helper.make_node("Gather", ["tones", "input"], ["sound"], axis=0),
            helper.make_node("Slice", ["scales", "one", "two"], ["length_scale"]),
            helper.make_node("Mul", ["length_scale", "tone"], ["wanted"]),
            helper.make_node("Cast", ["wanted"], ["end"], to=TensorProto.INT64),
            helper.make_node("Slice", ["sound", "zero", "end", "two"], ["cut"]),
            helper.make_node("Reshape", ["cut", "shape"], ["output"]),
        ],
        [
            info("input", TensorProto.INT64, ["N", "L"]),
            info("input_lengths", TensorProto.INT64, ["N"]),
            info("scales", TensorProto.FLOAT, [3]),
            info("sid", TensorProto.INT64, [1]),
        ],
        [info("output", TensorProto.FLOAT, ["N", 1, 1, "S"])],
        {
            "tones": _tones(),
            "tone": np.array([TONE], np.float32),
            "zero": 0 * _ONE,
            "one": _ONE,
            "two": 2 * _ONE,
            "shape": np.array([1, 1, 1, -1], np.int64),
        },
        metadata,
    )


def make_sounds(folder: Path) -> Path:
    """Write a voice for sherpa-onnx whose symbols are sounds, as its copies of Piper's voices."""
    _save_piper(
        folder / "en_US-beep-low.onnx",
        {
            "model_type": "vits",
            "comment": "piper",
            "language": "English",
            "voice": "en-us",
            "has_espeak": 1,
            "sample_rate": RATE,
            "n_speakers": 2,
        },
    )
    _tokens(folder, SOUNDS, 0)
    return folder


def make_piper(folder: Path, kind: str) -> Path:
    """Write a voice for Piper and return its model.

    ``kind``: its phonemes are letters (``text``), or the sounds that eSpeak NG tells (``espeak``).
    """
    model = folder / "beep.onnx"
    _save_piper(model, {})
    symbols = SOUNDS if kind == "espeak" else "_^$" + LETTERS.replace("_", "")
    config = {
        "audio": {"sample_rate": RATE},
        "espeak": {"voice": "en-us"},
        "phoneme_type": kind,
        "num_symbols": _SYMBOLS,
        "num_speakers": 2,
        "speaker_id_map": {"ann": 0, "bob": 1},
        "phoneme_id_map": {symbol: [number] for number, symbol in enumerate(symbols)},
        "inference": {"noise_scale": 0.6, "length_scale": 1.0, "noise_w": 0.8},
    }
    model.with_suffix(".onnx.json").write_text(json.dumps(config), encoding="utf-8")
    return model
