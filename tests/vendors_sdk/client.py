"""A vendor's own client, in a process and an environment of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
REQUIRED: Final = "VIXIO_TEST_VENDORS"
"""Variable with the environment of the clients. Where it is set, they have to be there."""

WITHIN_S: Final = 60.0


class VendorClient:
    """Calls functions of a program of tests/vendors_sdk/programs, from tests of any loop."""

    def __init__(self, program: str, process: subprocess.Popen[bytes]) -> None:
        self._program = program
        self._process = process

    async def call(self, name: str, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Call a function; return its answer."""
        try:
            async with asyncio.timeout(WITHIN_S):
                line = await asyncio.to_thread(self._ask, {"call": name, "given": given})
        except TimeoutError:
            self._process.kill()  # which ends the thread, too
            raise
        assert line, f"{self._program} has ended; it has said why on standard error"
        found: dict[str, Any] = json.loads(line)
        return found

    def _ask(self, question: object) -> bytes:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()
        return process.stdout.readline()


@contextmanager
def running(program: str, home: Path) -> Iterator[VendorClient]:
    """Run a program. ``home``: where clients look for settings."""
    if not (venv := os.environ.get(REQUIRED)):
        pytest.skip("the vendors' clients are not installed: make test-vendors")
    python = str(Path(venv, "bin", "python"))
    command = [python, "-m", f"tests.vendors_sdk.programs.{program}"]
    # Nothing of this environment: no keys, no proxies, no search path.
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield VendorClient(program, process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()  # a thread of the client still waits


def heard(answer: dict[str, Any]) -> bytes:
    """Return the sound of an answer."""
    assert "sound" in answer, answer
    return b64decode(answer["sound"])
