"""The script that measures providers: its figures mean what its table says."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.cli.diagnostics.kit import Kit
from vixio.settings import Settings
from vixio.testing import ScriptedTTS

SCRIPT = Path(__file__).parents[4] / "scripts" / "measure_providers.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure_providers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_a_voice(kit: Kit, script: ModuleType) -> None:
    kit.tts = ScriptedTTS(delay=0.05)
    figures = await script.speak(Settings().tts, "hello there", "en", 2)
    assert 0.05 <= figures["first"] < 1
    assert figures["factor"] >= 0.05 / (0.05 * len("hello there"))


@pytest.mark.slow
async def test_asr(kit: Kit, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "as_heard", lambda pcm: pcm[:9_600])  # 0.3 s: it is played
    kit.asr.delay = 0.05
    figures = await script.hear(Settings().asr, "Yes.", "en", 1)
    assert 0.05 <= figures["first"] < 1
    assert len(kit.asr.utterances) == 4  # once as fast as it goes and once as spoken, twice


@pytest.mark.slow
def test_memory_is_that_of_the_workers_too(script: ModuleType) -> None:
    alone = script.resident()
    code = "import sys; held = bytearray(50_000_000); print(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert script.resident() - alone > 40_000_000
        child.communicate(timeout=60)


@pytest.mark.slow
def test_one_in_a_process_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--runs", "1", "--one", "tts", "0"],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert set(figures) == {"ready", "first", "factor", "memory"}
    assert figures["factor"] > 0
