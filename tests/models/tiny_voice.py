"""Makes voices that beep: each letter or phoneme is a tone, which one layer looks up.

They say nothing sensible, but how long they sound follows from the text, and they run through the
real libraries' text processing and runtime.
"""

from __future__ import annotations

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
"""Phonemes of eSpeak NG; padding, begin and end first, as in Piper's voices."""

_ONE = np.array([1], np.int64)
_STYLE = 4
_HOP = 60
"""Samples per frame of the vocoder, at most 80."""
_SYMBOLS = 256
"""Number of symbols of each voice; unused ones are padding."""


def _tones() -> npt.NDArray[np.float32]:
    """Return a tone for each symbol, at a third of full scale; the first one is silent."""
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
    """Write a model with the inputs of Piper's models."""
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
    """Write a voice for sherpa-onnx whose symbols are phonemes, like its copies of Piper's."""
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


def make_kokoro(folder: Path) -> Path:
    """Write a voice with the interface of Kokoro v0.19: phonemes, a style per length, a speed."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    info = helper.make_tensor_value_info
    save(
        folder / "model.onnx",
        [
            helper.make_node("Gather", ["tones", "tokens"], ["sound"], axis=0),
            helper.make_node("Div", ["tone", "speed"], ["wanted"]),
            helper.make_node("Cast", ["wanted"], ["end"], to=TensorProto.INT64),
            helper.make_node("Slice", ["sound", "zero", "end", "two"], ["cut"]),
            helper.make_node("Reshape", ["cut", "shape"], ["audio"]),
        ],
        [
            info("tokens", TensorProto.INT64, [1, "L"]),
            info("style", TensorProto.FLOAT, [1, _STYLE]),
            info("speed", TensorProto.FLOAT, [1]),
        ],
        [info("audio", TensorProto.FLOAT, ["S"])],
        {
            "tones": _tones(),
            "tone": np.array([TONE], np.float32),
            "zero": 0 * _ONE,
            "two": 2 * _ONE,
            "shape": np.array([-1], np.int64),
        },
        {
            "model_type": "kokoro",
            "language": "English",
            "voice": "en-us",
            "has_espeak": 1,
            "sample_rate": RATE,
            "n_speakers": 2,
            "speaker_names": "ann,bob",
            "style_dim": f"510,1,{_STYLE}",
        },
    )
    _tokens(folder, SOUNDS, 0)
    folder.joinpath("voices.bin").write_bytes(bytes(4 * 510 * _STYLE * 2))
    return folder


def make_matcha(folder: Path, rate: int = 22_050) -> Path:
    """Write a voice with the interface of Matcha's, with a HiFi-GAN that repeats its input.

    ``rate``: the library ends the process for any other than 22,050 Hz, a HiFi-GAN's own.
    """
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    info = helper.make_tensor_value_info
    frames = TONE // _HOP
    table = np.repeat(_tones()[:, :80, None], frames, axis=2)  # 80 values for each symbol
    save(
        folder / "model-steps-3.onnx",
        [
            helper.make_node("Gather", ["table", "x"], ["each"], axis=0),  # 1, L, 80, frames
            helper.make_node("Transpose", ["each"], ["turned"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", ["turned", "shape"], ["mel"]),
        ],
        [
            info("x", TensorProto.INT64, ["N", "L"]),
            info("x_length", TensorProto.INT64, ["N"]),
            info("noise_scale", TensorProto.FLOAT, [1]),
            info("length_scale", TensorProto.FLOAT, [1]),
        ],
        [info("mel", TensorProto.FLOAT, ["N", 80, "T"])],
        {"table": table, "shape": np.array([1, 80, -1], np.int64)},
        {
            "model_type": "matcha-tts",
            "language": "English",
            "voice": "en-us",
            "has_espeak": 1,
            "sample_rate": rate,
            "n_speakers": 1,
            "use_eos_bos": 1,
            "pad_id": 0,
            "version": 1,
        },
    )
    save(
        folder / "hifigan_tiny.onnx",
        [
            helper.make_node("Slice", ["mel", "zero", "hop", "one"], ["some"]),
            helper.make_node("Transpose", ["some"], ["turned"], perm=[0, 2, 1]),
            helper.make_node("Reshape", ["turned", "shape"], ["audio"]),
        ],
        [info("mel", TensorProto.FLOAT, ["N", 80, "T"])],
        [info("audio", TensorProto.FLOAT, ["N", 1, "S"])],
        {
            "zero": 0 * _ONE,
            "one": _ONE,
            "hop": _HOP * _ONE,
            "shape": np.array([1, 1, -1], np.int64),
        },
        {"model_type": "hifigan"},
    )
    _tokens(folder, SOUNDS, 0)
    return folder
