"""Services that `vixio tool-service` cannot run: one line, before the first call."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vixio.bus import DynamicToolService, connect
from vixio.bus.runner import load_service, run_service
from vixio.core.errors import ConfigError

SERVICES = """
from vixio.bus import DynamicToolService

class Empty(DynamicToolService):
    pass

class Named(DynamicToolService):
    def __init__(self, name):
        self.name = name

    async def invoke(self, user, config, arguments):
        return self.name

class Plain:
    async def invoke(self, user, config, arguments):
        return ""
"""
MODULE = "services_of_test_runner"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder with the module."""
    (tmp_path / f"{MODULE}.py").write_text(SERVICES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop(MODULE, None)


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (f"{MODULE}:Empty", f"{MODULE}:Empty: Empty has no method invoke"),
        (
            f"{MODULE}:Named",
            (
                f"{MODULE}:Named: Named has to be made without arguments: "
                "missing a required argument: 'name'"
            ),
        ),
        (
            f"{MODULE}:Plain",
            (
                f"{MODULE}:Plain: Plain is not a subclass of vixio.bus.DynamicToolService: "
                "write class Plain(DynamicToolService)"
            ),
        ),
        (
            f"{MODULE}:Missing",
            (
                f"{MODULE}:Missing: Missing is not a subclass of vixio.bus.DynamicToolService: "
                "write class Missing(DynamicToolService)"
            ),
        ),
        (
            "no_such_module:A",
            (
                "no_such_module:A: No module named 'no_such_module': neither no_such_module.py in "
                "this folder nor an installed package"
            ),
        ),
        (MODULE, f"'{MODULE}': expected module:Class, as in joke:JokeService"),
        ("./joke:A", "'./joke:A': expected module:Class, as in joke:JokeService"),
    ],
)
def test_a_mistake_is_one_line(target: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_service(target)
    assert str(caught.value) == line


@pytest.mark.slow
def test_the_command_prints_that_line_alone(folder: Path) -> None:
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "vixio", "tool-service"),
            *(f"{MODULE}:Empty", "--url", "memory://unused"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == f"vixio: {MODULE}:Empty: Empty has no method invoke\n"


def test_a_service_without_invoke_cannot_be_made() -> None:
    class Empty(DynamicToolService):
        pass

    with pytest.raises(TypeError, match="invoke"):
        Empty()  # type: ignore[abstract] # that is the mistake


async def test_an_id_that_is_no_queue_ends_the_service_at_its_start() -> None:
    class Spaced(DynamicToolService):
        id = "my service"

        async def invoke(self, user: str, config: object, arguments: object) -> str:
            return ""

    bus = connect("memory://unused")
    with pytest.raises(ConfigError, match=r"^my service: request-queue: 'request:tg:my service'"):
        await run_service(Spaced(), bus, stop=asyncio.Event())
