"""The suites on voices with the usual defects: each is named, and none keeps a suite busy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]

VOICES = """
import asyncio, subprocess, sys, threading, time
from contextlib import asynccontextmanager
import pytest
from vixio.core.errors import ProviderError
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract

OVER = threading.Event()


@pytest.fixture(autouse=True, scope="module")
def over():
    yield
    OVER.set()


class Naive(TTSProvider):
    name, sample_rate = "naive", 16_000

    async def start(self): ...
    async def close(self): ...

    async def synthesize(self, text, *, language=""):
        if text.strip():
            yield bytes(40_000)


class Contract(TTSContract):
    limit = 1.0

    @asynccontextmanager
    async def create(self):
        yield self.voice()


class Blocks(Naive):
    async def synthesize(self, text, *, language=""):
        time.sleep(1_000)
        yield b""


class Waits(Naive):
    async def synthesize(self, text, *, language=""):
        await self.more()
        yield b""

    async def more(self):
        await asyncio.Event().wait()


class KeepsOn(Naive):
    async def synthesize(self, text, *, language=""):
        if text.strip():
            yield await asyncio.to_thread(self.engine)

    def engine(self):
        OVER.wait()
        return bytes(40_000)


class LeavesAThread(Naive):
    async def start(self):
        threading.Thread(target=self.engine, name="naive-engine", daemon=True).start()

    def engine(self):
        threading.Event().wait()


class LeavesAChild(Naive):
    async def start(self):
        program = "import time; time.sleep(60)"
        self.child = await asyncio.create_subprocess_exec(sys.executable, "-c", program)


class ClosesNever(Naive):
    async def close(self):
        await asyncio.Event().wait()

"""

SUITES = {
    "Blocks": ("Blocks", ["a_sentence_becomes_sound"]),
    "Waits": ("Waits", ["a_sentence_becomes_sound"]),
    "GivesUp": ("Waits", ["odd_texts_are_spoken", "markup"]),
    "KeepsOn": ("KeepsOn", ["cancellation_at_any_stage"]),
    "LeavesAThread": ("LeavesAThread", ["markup"]),
    "LeavesAChild": ("LeavesAChild", ["markup"]),
    "ClosesNever": ("ClosesNever", ["markup"]),
}
"""By name, the voice of a suite and the rules that are tried."""

RUNS: dict[str, tuple[list[str], list[str]]] = {
    "alone": (["Blocks"], []),
    "pytest-timeout": (["Blocks"], ["-p", "pytest_timeout", "-o", "timeout=100"]),
    "others": ([name for name in SUITES if name != "Blocks"], []),
}
"""The suites that one pytest runs, and its further options. They mostly wait, so side by side."""

Shown = Callable[[str, str], list[str]]
"""What a run shows of the failures and the errors of a suite, one text each."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Run the suites, each run in a pytest of its own."""
    reports = {name: tmp_path_factory.mktemp(name) / "report.xml" for name in RUNS}
    running = {name: _start(reports[name], *RUNS[name]) for name in RUNS}

    def read(run: str, suite: str) -> list[str]:
        said, _ = running[run].communicate(timeout=150)
        assert running[run].returncode == 1, said
        return [
            str(fault.text)
            for case in ElementTree.parse(reports[run]).iter("testcase")  # noqa: S314 - our own
            if case.attrib["classname"].endswith(f".Test{suite}")
            for fault in (*case.findall("failure"), *case.findall("error"))
        ]

    yield read
    for process in running.values():
        if process.poll() is None:
            process.kill()
        process.communicate()


def _start(report: Path, suites: list[str], options: list[str]) -> subprocess.Popen[str]:
    test = report.with_name("test_naive.py")
    classes = [f"class Test{name}(Contract):\n    voice = {SUITES[name][0]}\n" for name in suites]
    test.write_text("\n\n".join([VOICES, *classes]))
    rules = [f"Test{name} and ({' or '.join(SUITES[name][1])})" for name in suites]
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--rootdir", "."]
    arguments += ["-p", "pytest_asyncio.plugin", f"--junitxml={report}", *options]
    return subprocess.Popen(
        [sys.executable, *arguments, "-k", " or ".join(rules), str(test)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=report.parent,
        # Other plugins take two seconds to import.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


@pytest.mark.parametrize("run", ["alone", "pytest-timeout"])
def test_a_voice_that_blocks_the_loop_is_interrupted(shown: Shown, run: str) -> None:
    assert re.search(
        r"the rule “a sentence becomes sound” hung: the event loop was blocked for 6 s "
        r"in \S+/test_naive.py:\d+ \(synthesize\)",
        "\n".join(shown(run, "Blocks")),
    )


def test_a_voice_that_waits_for_ever_is_cancelled(shown: Shown) -> None:
    assert re.search(
        r"the rule “a sentence becomes sound” hung: not over after 1 s, "
        r"waiting in \S+/test_naive.py:\d+ \(more\)",
        "\n".join(shown("others", "Waits")),
    )


def test_after_two_hung_rules_the_others_fail_at_once(shown: Shown) -> None:
    faults = shown("others", "GivesUp")
    assert len(faults) == 6
    assert sum(" hung: not over after 1 s" in fault for fault in faults) == 2
    not_tried = "not tried, since the provider has hung before: the rule"
    assert sum(not_tried in fault for fault in faults) == 4


def test_work_that_goes_on_in_a_thread_is_named(shown: Shown) -> None:
    assert re.search(
        r"still at work in a thread 1 s after close\(\): test_naive\.KeepsOn\.engine, "
        r"now in \S+/test_naive.py:\d+ \(engine\)",
        "\n".join(shown("others", "KeepsOn")),
    )


def test_a_thread_that_is_left_is_named(shown: Shown) -> None:
    assert re.search(
        r"thread naive-engine \(target test_naive\.LeavesAThread\.engine\), "
        r"now in \S+/test_naive.py:\d+ \(engine\): end it in close\(\)",
        "\n".join(shown("others", "LeavesAThread")),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_a_child_process_that_is_left_is_named(shown: Shown) -> None:
    faults = "\n".join(shown("others", "LeavesAChild"))
    assert re.search(r"child process \d+ \(\S+ -c import time; time.sleep\(60\)\)", faults)
    if sys.version_info < (3, 12):  # later ones need no thread for it
        assert re.search(
            r"thread asyncio-waitpid-\d+: asyncio waits in it for the child process \d+ \(", faults
        )


def test_a_close_that_never_ends_is_named(shown: Shown) -> None:
    assert re.search(
        r"close\(\) hung: not over after 1 s, waiting in \S+test_naive.py",
        "\n".join(shown("others", "ClosesNever")),
    )
