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

from vixio.core.errors import ProviderUnavailable
from vixio.diagnostics.spoken import spoken
from vixio.providers.batched_vad.direct import MAX_WINDOWS
from vixio.providers.silero_vad import model as module
from vixio.providers.silero_vad.model import (
    MODEL_FILE,
    SEQUENCE_FILE,
    WINDOW,
    WINDOW_BYTES,
    SileroModel,
    find_model,
)

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
    return SileroModel(find_model(), 64)


@pytest.mark.parametrize(
    ("voice", "text"),
    [
        ("en-us", "Please set the volume to thirty percent, and then tell me the time."),
        ("en+f3", "No. Not now."),
        ("cmn", "请把音量调到百分之三十，然后告诉我现在几点。"),
    ],
)
async def test_it_decides_as_the_reference_does(model: SileroModel, voice: str, text: str) -> None:
    generator = np.random.default_rng(3)
    samples = np.frombuffer(await spoken(text, voice), dtype="<i2").astype(np.float64)
    noisy = samples * 0.5 + generator.normal(0, 60, len(samples))
    pcm = noisy.astype("<i2").tobytes()
    expected = reference(pcm)
    model.forget(5)
    heard = [model.run([5], [window])[0] for window in cut(pcm)]
    assert len(heard) == len(expected) > 20
    assert max(expected) > 0.5 > min(expected)
    assert [each > 0.5 for each in heard] == [each > 0.5 for each in expected]
    assert max(abs(one - other) for one, other in zip(heard, expected, strict=True)) < 1e-4


async def test_a_batch_gives_what_each_gives_alone(model: SileroModel) -> None:
    windows = cut(await spoken("The quick brown fox jumps over the lazy dog."))
    alone: list[list[float]] = []
    for offset in range(40):
        model.forget(0)
        alone.append([model.run([0], [each])[0] for each in windows[offset : offset + 30]])
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
            assert heard == pytest.approx(alone[device][step], abs=1e-6)


async def test_windows_in_a_row_give_what_each_gives_alone(model: SileroModel) -> None:
    windows = cut(await spoken("The quick brown fox jumps over the lazy dog."))
    assert len(windows) > 40
    model.forget(3)
    alone = [model.run([3], [each])[0] for each in windows]
    assert max(alone) > 0.5 > min(alone)
    model.forget(3)
    heard: list[float] = []
    number = 0
    while len(heard) < len(windows):
        number = number % MAX_WINDOWS + 1
        some = windows[len(heard) : len(heard) + number]
        heard += model.run_sequence(3, b"".join(some))
        # The other way goes on from the same state.
        heard += [model.run([3], [each])[0] for each in windows[len(heard) : len(heard) + 1]]
    assert heard == pytest.approx(alone, abs=1e-5)


def test_forgetting_one_slot_leaves_the_others(model: SileroModel) -> None:
    noise = np.random.default_rng(5).normal(0, 3000, (20, WINDOW)).astype("<i2")
    windows = [row.tobytes() for row in noise]
    model.forget(1)
    alone = [model.run([1], [each])[0] for each in windows]
    model.forget(1)
    model.forget(2)
    for position, window in enumerate(windows):
        assert model.run([1], [window])[0] == pytest.approx(alone[position], abs=1e-6)
        model.forget(2)
        model.forget(200 + position)  # makes the arrays grow
        model.run([2], [window])


def test_the_package_is_never_imported(model: SileroModel) -> None:
    assert find_model().is_file()
    assert "silero_vad" not in sys.modules  # its __init__ imports torch


def test_an_older_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("silero_vad", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(module, "find_spec", lambda _: spec)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / MODEL_FILE).touch()
    with pytest.raises(ProviderUnavailable, match=rf"carries no {SEQUENCE_FILE}: pip install"):
        find_model()


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "silero_vad", None)
    with pytest.raises(ProviderUnavailable, match="pip install --no-deps 'silero-vad"):
        find_model()


def test_no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ProviderUnavailable, match="pip install onnxruntime"):
        SileroModel(find_model(), 8)


def test_a_broken_file(tmp_path: Path) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"not a model")
    with pytest.raises(ProviderUnavailable, match=r"cannot load model\.onnx"):
        SileroModel(broken, 8)
