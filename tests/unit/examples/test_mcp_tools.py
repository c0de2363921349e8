"""The example's own settings start the example's own server."""

from __future__ import annotations

import ast
import asyncio
import sys
import textwrap
from pathlib import Path

import pytest

from vixio.core.metrics import Counters
from vixio.settings import load_settings
from vixio.tools.from_settings import make_runtime

EXAMPLE = Path(__file__).parents[3] / "examples" / "mcp_tools.py"


@pytest.mark.slow
async def test_the_settings_in_the_example_work(tmp_path: Path) -> None:
    words = ast.get_docstring(ast.parse(EXAMPLE.read_text(encoding="utf-8"))) or ""
    _, _, rest = words.partition("::\n\n")
    text = textwrap.dedent(rest.partition("\n\nThe same")[0])
    assert "command: python\n" in text
    text = text.replace("command: python", f"command: {sys.executable}")
    text = text.replace("examples/mcp_tools.py", str(EXAMPLE))
    path = tmp_path / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    runtime = make_runtime(load_settings(path, {}), Counters())
    await runtime.start()
    try:
        (source,) = (each for each in runtime.sources if each.name == "shopping")
        async with asyncio.timeout(30):
            await source.ready()
        tools = {tool.name: tool for tool in source.tools()}
        assert set(tools) == {"add_to_shopping_list", "read_shopping_list"}
        session = runtime.open("aa:bb", "s")
        turn = session.begin_turn(1, "en")
        added = await turn.run(tools["add_to_shopping_list"], '{"item": "two lemons"}')
        assert added.success
        assert (await turn.run(tools["read_shopping_list"], "{}")).result == "two lemons"
        await session.close()
    finally:
        await runtime.close()
