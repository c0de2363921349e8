"""Voices of one layer in the ONNX format: each symbol is a tone of 60 ms.

They say nothing sensible, but how long they sound follows from the text, and they run in the real
runtime. No package is needed to write them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vixio.providers.silero_vad.onnx_file import Graph

RATE = 16_000
"""Of the voices of Piper's kind; Kokoro's rate is 24,000 Hz, so its symbols take 40 ms."""
TONE = RATE * 6 // 100
"""Samples of one symbol."""
LETTERS = (
    " !\"&'(),-./0123456789:;<=>?[]abcdefghijklmnopqrstuvwxyz。，！？"
    "好的没问题音量已经调到百分之三十"
)
SOUNDS = " !,.:;?abdefhijklmnopstuvwxzæðŋɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒʔˈˌːθᵻɫ12345…"
"""Phonemes of eSpeak NG."""
SYMBOLS = 256
"""Symbols of each voice."""
_FLOAT, _INT64 = "float32", "int64"


def tones(pitch: float = 150.0) -> npt.NDArray[np.float32]:
    """Return a tone for each symbol, at a third of full scale; the first one is silent."""
    pitches = pitch + 12.0 * np.arange(SYMBOLS)[:, None]
    sound = 0.3 * np.sin(2 * np.pi * pitches * np.arange(TONE)[None] / RATE)
    sound[0] = 0
    return sound.astype(np.float32)


def _cut(graph: Graph, symbols: str, factor: str) -> str:
    """Add the tones of ``symbols``, each as long as the factor says."""
    sound = graph.add("Gather", graph.constant(tones()), symbols, axis=0)
    wanted = graph.add("Mul", factor, graph.constant(np.array([TONE], np.float32)))
    end = graph.add("Cast", wanted, to=7)  # int64
    cut = graph.add("Slice", sound, graph.constant([0]), end, graph.constant([2]))
    return graph.add("Reshape", cut, graph.constant([1, 1, 1, -1]))


def piper_network(speakers: int = 2) -> bytes:
    """Return a network with the inputs of Piper's."""
    graph = Graph()
    symbols = graph.input("input", _INT64, ("N", "L"))
    graph.input("input_lengths", _INT64, ("N",))
    scales = graph.input("scales", _FLOAT, (3,))
    if speakers > 1:
        graph.input("sid", _INT64, (1,))
    one, two = graph.constant([1]), graph.constant([2])
    length = graph.add("Slice", scales, one, two)
    graph.output("output", _cut(graph, symbols, length), _FLOAT, ("N", 1, 1, "S"))
    return graph.model()


def make_piper(folder: Path, kind: str, voice: str = "en-us", speakers: int = 2) -> Path:
    """Write a voice of Piper's and return its model.

    ``kind``: its phonemes are letters (``text``), or those of eSpeak NG's ``voice`` (``espeak``).
    """
    folder.mkdir(parents=True)
    model = folder / "beep.onnx"
    model.write_bytes(piper_network(speakers))
    symbols = "_^$" + (SOUNDS if kind == "espeak" else LETTERS)
    config = {
        "audio": {"sample_rate": RATE, "quality": "low"},
        "espeak": {"voice": voice},
        "phoneme_type": kind,
        "num_symbols": SYMBOLS,
        "num_speakers": speakers,
        "speaker_id_map": {"ann": 0, "bob": 1} if speakers > 1 else {},
        "phoneme_id_map": {symbol: [number] for number, symbol in enumerate(symbols)},
        "inference": {"noise_scale": 0.6, "length_scale": 1.0, "noise_w": 0.8},
    }
    Path(f"{model}.json").write_text(json.dumps(config), encoding="utf-8")
    return model


def kokoro_network() -> bytes:
    """Return a network with the inputs of Kokoro's; its tones have silence around them."""
    graph = Graph()
    symbols = graph.input("tokens", _INT64, (1, "L"))
    graph.input("style", _FLOAT, (1, 256))
    speed = graph.input("speed", _FLOAT, (1,))
    sound = _cut(graph, symbols, graph.add("Div", graph.constant(np.ones(1, np.float32)), speed))
    flat = graph.add("Reshape", sound, graph.constant([-1]))
    graph.output("audio", flat, _FLOAT, ("S",))
    return graph.model()


def make_kokoro(folder: Path, *voices: str) -> tuple[Path, Path]:
    """Write a network and voices as of Kokoro; return its file and the folder of the voices."""
    folder.mkdir(parents=True)
    model = folder / "kokoro.onnx"
    model.write_bytes(kokoro_network())
    place = folder / "voices"
    place.mkdir()
    for number, voice in enumerate(voices):
        styles = np.full((510, 256), number, np.float32)
        place.joinpath(f"{voice}.bin").write_bytes(styles.tobytes())
    return model, place
