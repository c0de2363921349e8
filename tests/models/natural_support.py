"""``make demo-natural``, as a person runs it."""

from __future__ import annotations

import asyncio
import os
import sys
import wave
from pathlib import Path

from examples.demos.natural_script import Script
from examples.demos.natural_words import contains
from tests.e2e.processes import running

BOUND = 600.0

ROOT = Path(__file__).parents[2]

RUN = "import sys; from examples.demos.__main__ import main; sys.exit(main())"


async def check_conversation(script: Script, ready: str, folder: Path) -> None:
    """Run the demo, and look at what it prints and records.

    ``ready``: what the server begins with. The last answer is the fact as it was heard: the demo
    compares it with the memory, and the recogniser need not have heard every word.
    """
    wav = folder / "demo.wav"
    options = ("natural", "--language", script.language, "--wav", str(wav))
    command = (sys.executable, "-c", RUN, *options)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    async with running(command, folder, environment) as demo:
        last = await demo.line("turns as expected", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    count = len(script.exchanges)
    assert last.strip() == f"{count} of {count} turns as expected", printed
    assert demo.process.returncode == 0
    assert ready in printed
    answers = [line for line in demo.out if line.startswith("  vixio")]
    assert contains(answers[-1], script.exchanges[-1].answered, script.language), answers[-1]
    assert "% of what was said was heard" in printed
    assert "the model's history has " in printed
    assert "FAILED" not in printed
    assert "Traceback" not in "".join(demo.out + demo.err)
    with wave.open(str(wav)) as file:
        assert file.getnchannels() == 2
        assert file.getnframes() / file.getframerate() > 30
