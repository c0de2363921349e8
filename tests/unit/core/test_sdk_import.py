"""The agent SDK is imported without the package that no turn needs, which is whole when used."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from vixio.core import imports
from vixio.core.imports import sdk_import

TURN = """
import asyncio, sys
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.backend import PhraseBookAgentBackend
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings

async def turn():
    backend = PhraseBookAgentBackend(PhraseBookAgentSettings())
    await backend.start()
    return [event async for event in backend.create().reply(AgentRequest(1, "hello"))]

assert asyncio.run(turn())
"""

Make = Callable[..., ModuleType]


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_turn_does_without_the_mcp_package() -> None:
    """Fails when the SDK uses more of it: then see what, and whether postponing still pays."""
    run(
        TURN + "assert 'mcp.shared.exceptions' in sys.modules\n"
        "assert 'mcp.client' not in sys.modules"
    )


def test_the_mcp_package_is_whole_when_it_is_used() -> None:
    run(
        TURN + "from mcp import Client, MCPError\n"
        "import agents.mcp._compat, mcp.shared.exceptions\n"
        "assert agents.mcp._compat.MCPError is mcp.shared.exceptions.MCPError is MCPError\n"
        "assert vars(sys.modules['mcp'])['Client'] is Client\n"
        "assert type(sys.modules['mcp']) is type(sys)\n"
        "from agents.mcp import MCPServerStdio"
    )


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Give a function that writes a package with a submodule and imports the latter."""
    name = "postponed_acme"

    def write_and_import(init: str) -> ModuleType:
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text(init, encoding="utf-8")
        (package / "part.py").write_text("PART = 1\n", encoding="utf-8")
        with sdk_import():
            assert importlib.import_module(f"{name}.part").PART == 1
        return sys.modules[name]

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(imports, "POSTPONED", name)
    yield write_and_import
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


def test_its_own_code_runs_once_and_sees_itself(make: Make) -> None:
    package = make("from postponed_acme import part\nimport postponed_acme\nRUNS = [1]\n")
    assert "RUNS" not in object.__getattribute__(package, "__dict__")
    assert package.RUNS == [1]
    assert package.part.PART == 1
    with sdk_import():
        assert importlib.import_module("postponed_acme") is package
    assert package.RUNS is package.RUNS
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing


def test_several_threads_that_use_it_at_once_find_it_whole(make: Make) -> None:
    package = make("FIRST = 1\nfor _ in range(100_000): pass\nLAST = 2\n")
    start, found = threading.Barrier(8), list[int]()

    def use() -> None:
        start.wait(10)
        found.append(package.FIRST + package.LAST)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [3] * 8


def test_what_its_code_raises_is_raised_at_each_use(make: Make) -> None:
    package = make("import postponed_acme_needs_this\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="needs_this"):
            _ = package.anything
