"""The second opinion on the end of a turn, with a network of a few bytes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.waiting import until
from vixio.cli.diagnostics.check_providers import try_smart_turn
from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.core.turns.endpointing import OPINION_S
from vixio.providers import smart_turn
from vixio.providers.inference import packaged
from vixio.providers.inference.packaged import ModelPackage, PackagedFile
from vixio.providers.silero_vad.onnx_file import Graph
from vixio.providers.smart_turn import SmartTurn, SmartTurnModel
from vixio.server import Server
from vixio.settings import Settings
from vixio.testing import silence, speech

FEATURES = '''
import numpy as np


def compute_whisper_log_mel_features(audio, *, do_normalize):
    """Loud at the end: unfinished. Fails unless it gets 8 s between -1 and 1."""
    assert audio.shape == (128000,) and audio.dtype == np.float32 and do_normalize
    assert np.abs(audio).max() <= 1
    return np.full((80, 800), 4 - 100 * np.abs(audio[-1600:]).max(), np.float32)
'''


def network() -> bytes:
    """Return a model of the real one's inputs and outputs: the mean as a probability."""
    graph = Graph()
    features = graph.input("input_features", "float32", ["batch", 80, 800])
    mean = graph.add("ReduceMean", features, keepdims=1)
    flat = graph.add("Reshape", mean, graph.constant([1, 1]))
    graph.output("logits", graph.add("Sigmoid", flat), "float32", [1, 1])
    return graph.model()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelPackage:
    """A package of this form, whose code cannot be imported."""
    contents = {"turn/tiny.onnx": network(), "turn/_features.py": FEATURES.encode()}
    folder = tmp_path / "tiny_pipecat"
    (folder / "turn").mkdir(parents=True)
    for inner in (folder, folder / "turn"):
        (inner / "__init__.py").write_text("raise ImportError('needs more')")
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    files = tuple(
        PackagedFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    )
    return ModelPackage("smart-turn", "tiny_pipecat", "tiny==1", "smart-turn", files)


def test_the_network_judges_the_end_of_the_turn(package: ModelPackage) -> None:
    model = SmartTurnModel(package)
    assert model.probability(speech(1.0) + silence(0.2)) == pytest.approx(0.982, abs=0.001)
    assert model.probability(silence(0.2) + speech(1.0)) < 0.01
    assert model.probability(speech(OPINION_S) + silence(0.2)) > 0.9, "the last 8 s"
    assert model.probability(b"") > 0.9
    assert "tiny_pipecat" not in sys.modules


async def test_the_opinion_comes_from_its_thread(package: ModelPackage) -> None:
    opinion = SmartTurn(package)
    opinion.begin()
    try:
        assert await opinion.unfinished(speech(1.0) + silence(0.2)) is False
        assert await opinion.unfinished(speech(1.0)) is True
    finally:
        opinion.close()


async def test_what_cannot_begin_in_time_is_dropped(
    package: ModelPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    free = threading.Event()

    def probability(model: SmartTurnModel, pcm: bytes) -> float:
        asked.append(pcm)
        free.wait(10)
        return 0.1

    monkeypatch.setattr(SmartTurnModel, "probability", probability)
    monkeypatch.setattr(smart_turn, "START_S", 0.05)
    opinion = SmartTurn(package)
    opinion.begin()
    opinion._thread.submit(int).result(10)  # it is loaded
    try:
        slow = asyncio.create_task(opinion.unfinished(b"first"))
        await until(lambda: bool(asked))
        assert await opinion.unfinished(b"second") is None
        assert not slow.done(), "what has begun is answered"
        free.set()
        assert await slow is True
        assert await opinion.unfinished(b"third") is True
    finally:
        free.set()
        opinion.close()
    assert asked == [b"first", b"third"]


async def test_the_queue_is_bounded(package: ModelPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smart_turn, "START_S", 60.0)
    opinion = SmartTurn(package)
    held = threading.Event()
    opinion._thread.submit(held.wait, 10)
    opinion.begin()
    try:
        questions = [opinion.unfinished(b"") for _ in range(smart_turn.MOST_WAITING)]
        crowd = asyncio.gather(*questions)
        await asyncio.sleep(0)
        assert await opinion.unfinished(b"") is None, "at once: nothing has been answered"
        assert not held.is_set()
        held.set()
        assert await crowd == [False] * smart_turn.MOST_WAITING
        assert await opinion.unfinished(b"") is False
    finally:
        held.set()
        opinion.close()


async def test_another_file_is_no_opinion_and_a_line_in_the_log(
    package: ModelPackage, caplog: pytest.LogCaptureFixture
) -> None:
    path = package.folder() / "turn" / "tiny.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    opinion = SmartTurn(package)
    with caplog.at_level(logging.WARNING):
        opinion.begin()
        try:
            assert await opinion.unfinished(b"") is None
        finally:
            opinion.close()
    [record] = caplog.records
    assert "has another SHA-256 digest" in record.__dict__["reason"]


async def test_where_it_is_wanted_and_missing_the_server_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    settings = Settings.model_validate(
        {"listening": {"smart_turn": True}, "data": {"folder": str(tmp_path)}}
    )
    said = f"the package pipecat-ai==1.14.0 is missing: {how_to_install('smart-turn')}"
    with pytest.raises(ProviderUnavailable, match="smart-turn: ") as caught:
        Server(settings)
    assert str(caught.value).endswith(said)
    with pytest.raises(ProviderUnavailable) as caught:
        await try_smart_turn(settings)
    assert str(caught.value).endswith(said)


@pytest.mark.slow
def test_with_it_off_nothing_of_it_is_loaded() -> None:
    look = (
        "import sys; from vixio.server import Server; Server()\n"
        "sys.exit('vixio.providers.smart_turn' in sys.modules or 'pipecat' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", look], check=True, timeout=60)


def test_it_is_asked_after_think_ms_so_that_must_not_be_off() -> None:
    with pytest.raises(ValueError, match="smart_turn is asked after think_ms"):
        Settings.model_validate({"listening": {"smart_turn": True, "think_ms": 0}})


def test_audio_is_at_the_rate_that_the_network_knows() -> None:
    assert LISTEN_RATE == 16_000
    assert OPINION_S == 8
