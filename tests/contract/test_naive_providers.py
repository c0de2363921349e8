"""The suites on voices with the usual defects: each is named, and none keeps a suite busy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

VOICE = """
import asyncio, subprocess, sys, threading, time
from contextlib import asynccontextmanager
from vixio.core.errors import ProviderError
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract


class Naive(TTSProvider):
    name, sample_rate = "naive", 16_000

    async def start(self): ...
    async def close(self): ...


class Contract(TTSContract):
    limit = 1.0

    @asynccontextmanager
    async def create(self):
        yield self.voice()
"""

BLOCKS = """
class Voice(Naive):
    async def synthesize(self, text, *, language=""):
        time.sleep(1_000)
        yield b""
"""

WAITS = """
class Voice(Naive):
    async def synthesize(self, text, *, language=""):
        await self.more()
        yield b""

    async def more(self):
        await asyncio.Event().wait()
"""

KEEPS_ON = """
class Voice(Naive):
    async def synthesize(self, text, *, language=""):
        if text.strip():
            yield await asyncio.to_thread(self.engine)

    def engine(self):
        time.sleep(8)
        return bytes(40_000)
"""

LEAVES_A_THREAD = """
class Voice(Naive):
    async def start(self):
        threading.Thread(target=self.engine, name="naive-engine", daemon=True).start()

    def engine(self):
        threading.Event().wait()

    async def synthesize(self, text, *, language=""):
        if text.strip():
            yield bytes(40_000)
"""

LEAVES_A_CHILD = """
class Voice(Naive):
    async def start(self):
        program = "import time; time.sleep(60)"
        self.child = await asyncio.create_subprocess_exec(sys.executable, "-c", program)

    async def synthesize(self, text, *, language=""):
        if text.strip():
            yield bytes(40_000)
"""

CLOSES_NEVER = """
class Voice(Naive):
    async def close(self):
        await asyncio.Event().wait()

    async def synthesize(self, text, *, language=""):
        if text.strip():
            yield bytes(40_000)
"""


def run(folder: Path, voice: str, *rules: str, options: Sequence[str] = ()) -> str:
    """Run rules of the suite on a voice, in a pytest of its own; return what it prints."""
    test = folder / "test_naive.py"
    test.write_text(f"{VOICE}{voice}\n\nclass TestNaive(Contract):\n    voice = Voice\n")
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--rootdir", "."]
    arguments += ["-p", "pytest_asyncio.plugin"]
    done = subprocess.run(
        [sys.executable, *arguments, *options, "-k", " or ".join(rules), str(test)],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=folder,
        # Other plugins take two seconds to import.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "options", [(), ("-p", "pytest_timeout", "-o", "timeout=100")], ids=["alone", "pytest-timeout"]
)
def test_a_voice_that_blocks_the_loop_is_interrupted(
    tmp_path: Path, options: Sequence[str]
) -> None:
    shown = run(tmp_path, BLOCKS, "test_a_sentence_becomes_sound", options=options)
    assert re.search(
        r"the rule “a sentence becomes sound” hung: the event loop was blocked for 6 s "
        r"in \S+/test_naive.py:\d+ \(synthesize\)",
        shown,
    )


def test_a_voice_that_waits_for_ever_is_cancelled(tmp_path: Path) -> None:
    shown = run(tmp_path, WAITS, "test_a_sentence_becomes_sound")
    assert re.search(
        r"the rule “a sentence becomes sound” hung: not over after 1 s, "
        r"waiting in \S+/test_naive.py:\d+ \(more\)",
        shown,
    )


def test_after_two_hung_rules_the_others_fail_at_once(tmp_path: Path) -> None:
    shown = run(tmp_path, WAITS, "test_odd_texts_are_spoken", "test_markup")
    explained = shown.partition("short test summary info")[0]
    assert explained.count(" hung: not over after 1 s") == 2
    assert explained.count("not tried, since the provider has hung before: the rule") == 4
    assert "2 failed, " in shown
    assert ", 4 errors in " in shown


def test_work_that_goes_on_in_a_thread_is_named(tmp_path: Path) -> None:
    shown = run(tmp_path, KEEPS_ON, "test_cancellation_at_any_stage")
    assert re.search(
        r"still at work in a thread 1 s after close\(\): test_naive\.Voice\.engine, "
        r"now in \S+/test_naive.py:\d+ \(engine\)",
        shown,
    )


def test_a_thread_that_is_left_is_named(tmp_path: Path) -> None:
    shown = run(tmp_path, LEAVES_A_THREAD, "test_markup")
    assert re.search(
        r"thread naive-engine \(target test_naive\.Voice\.engine\), "
        r"now in \S+/test_naive.py:\d+ \(engine\): end it in close\(\)",
        shown,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_a_child_process_that_is_left_is_named(tmp_path: Path) -> None:
    shown = run(tmp_path, LEAVES_A_CHILD, "test_markup")
    assert re.search(r"child process \d+ \(\S+ -c import time; time.sleep\(60\)\)", shown)
    if sys.version_info < (3, 12):  # later ones need no thread for it
        assert re.search(
            r"thread asyncio-waitpid-\d+: asyncio waits in it for the child process \d+ \(", shown
        )


def test_a_close_that_never_ends_is_named(tmp_path: Path) -> None:
    shown = run(tmp_path, CLOSES_NEVER, "test_markup")
    assert re.search(r"close\(\) hung: not over after 1 s, waiting in \S+test_naive.py", shown)
