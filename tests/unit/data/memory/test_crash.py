"""A killed process leaves whole turns, and every turn that it reported as saved."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import pytest

from tests.support import warm
from tests.unit.data.memory.doubles import Server
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem, UserMessage

ROOT = Path(__file__).resolve().parents[4]
A = "02:00:00:00:00:0a"

WRITER = """
import asyncio, sys
from pathlib import Path
from tests.unit.data.memory.doubles import Server
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem

async def run():
    server = Server(Path(sys.argv[1]), max_turns=6)
    history = await server.connect("02:00:00:00:00:0a")
    for number in range(10_000):
        history.begin(number + 1, f"question {number}")
        history.append(number + 1, ToolCallItem(f"call {number}", "lamp", "{}"))
        history.append(number + 1, ToolResultItem(f"call {number}", "true"))
        history.append(number + 1, AssistantMessage(f"answer {number}"))
        history.close(number + 1)
        while server.count("saved") <= number:
            await asyncio.sleep(0.001)  # a busy loop would delay the other thread
        print(number, flush=True)

asyncio.run(run())
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "memory.db"
    process = await warm.create_subprocess_exec(
        *(sys.executable, "-c", WRITER, str(path)),
        cwd=ROOT,
        env=warm.kept(),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    said = b""
    try:
        for _ in range(8):
            said += await process.stdout.readline()
        await asyncio.sleep(random.Random(seed).uniform(0.05, 0.4))  # killed at a random moment
    finally:
        process.kill()
        said += await process.stdout.read()
        await process.wait()
    # On a slow disk there may be no further report.
    said_saved = int(said.split()[-1])
    server = Server(path, max_turns=6)
    history = await server.connect(A)
    await server.stop()
    turns = [turn.items for turn in history.turns]
    assert len(turns) == 6
    first = turns[0][0]
    assert isinstance(first, UserMessage)
    start = int(first.text.split()[-1])
    assert start + 5 >= said_saved
    for number, items in enumerate(turns, start):
        assert items == [
            UserMessage(f"question {number}"),
            ToolCallItem(f"call {number}", "lamp", "{}"),
            ToolResultItem(f"call {number}", "true"),
            AssistantMessage(f"answer {number}"),
        ]
