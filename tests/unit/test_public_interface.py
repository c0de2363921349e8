"""The public interface: light to import, complete, and the same as docs/api.md says."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import vixio
from vixio import Settings, ToolDefinition, tool

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "onnxruntime", "agents", "openai", "pydantic", "yaml", "loguru", "websockets")


def documented() -> dict[str, list[str]]:
    """The names in the tables of docs/api.md, by the module in the heading above."""
    found: dict[str, list[str]] = {}
    module = ""
    for line in (ROOT / "docs" / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = re.fullmatch(r"## `([\w.]+)`", line)
            module = heading[1] if heading else ""
        elif module and line.startswith("| `"):
            cell = line.split("|")[1]
            found.setdefault(module, []).extend(re.findall(r"`(\w+)`", cell))
    return found


def public(name: str) -> set[str]:
    """The public names of a module: its __all__, or the classes that it defines."""
    short = name.removeprefix("vixio.")
    module = getattr(vixio, short) if short in vixio.__all__ else import_module(name)
    names = getattr(module, "__all__", None)
    return set(names) if names is not None else set(_classes(module))


def _classes(module: ModuleType) -> Iterator[str]:
    for name, member in inspect.getmembers(module, inspect.isclass):
        if member.__module__ == module.__name__ and not name.startswith("_"):
            yield name


@pytest.mark.slow
def test_importing_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, vixio\n"
        "from vixio import tool, ToolContext, Deferred, ToolSource, Device, DeviceProfile, events\n"
        f"print(sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=150, check=True
    )
    assert done.stdout == "[]\n"


def test_every_name_is_there() -> None:
    for name in vixio.__all__:
        assert getattr(vixio, name) is not None
    assert set(dir(vixio)) == set(vixio.__all__)
    assert len(set(vixio.__all__)) == len(vixio.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'vixio' has no attribute 'Sever'"):
        _ = vixio.Sever  # type: ignore[attr-defined]  # that is what is tested


@pytest.mark.parametrize("module", sorted(documented()))
def test_the_document_names_what_there_is_and_nothing_else(module: str) -> None:
    names = documented()[module]
    assert len(names) == len(set(names))
    assert set(names) == public(module)


def test_the_document_has_the_arguments_of_the_server() -> None:
    signature = inspect.signature(vixio.Server)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    signature = signature.replace(parameters=bare, return_annotation=signature.empty)
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert f"| `Server` | `Server{signature}`" in text


def test_the_document_has_every_public_module() -> None:
    assert set(documented()) == {
        "vixio",
        "vixio.commands",
        "vixio.endpointing",
        "vixio.events",
        "vixio.interruption",
        "vixio.providers.registry",
        "vixio.stations.registry",
        "vixio.testing",
        "vixio.tools.registry",
    }


@tool(confirm=True)
def unlock() -> str:
    """Unlock the door."""
    return "unlocked"


async def lock() -> str:
    """Lock the door."""
    return "locked"


class Door:
    """A set of tools with a state."""

    @vixio.tool
    async def ring(self) -> str:
        """Ring."""
        return "rung"


def test_tools_of_the_program_are_a_source_of_their_own() -> None:
    settings = Settings.model_validate(
        {"tools": {"deny": ["app/lock"]}, "memory": {"store": "none"}}
    )
    bell = ToolDefinition("bell", "Ring a bell.")
    server = vixio.Server(settings, tools=[unlock, lock, vixio.toolbox(Door), bell])
    tools = server.tools.open("d", "s").toolset.source("app")
    assert [tool.name for tool in tools] == ["unlock", "ring", "bell"]
    assert tools[0].options.confirm


def test_a_tool_that_cannot_be_described_is_refused() -> None:
    def undocumented() -> None: ...

    with pytest.raises(TypeError, match="the docstring is missing"):
        vixio.Server(tools=[undocumented])


def test_settings_are_loaded_from_a_file_or_are_the_default(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text("assistant: {language: zh}\n", encoding="utf-8")
    assert Settings.load(path).assistant.language == "zh"
    assert Settings.load(str(path)) == Settings.load(path)
    assert Settings.load(None) == Settings()
    with pytest.raises(vixio.ConfigError, match="no such file"):
        Settings.load(tmp_path / "none.yaml")
