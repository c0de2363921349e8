"""The switches of libraries that would send something: set early, once, and kept if given."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source_code import statements
from vixio.core.telemetry import ONNXRUNTIME, SWITCHES, decided_otherwise, switch_off

ROOT = Path(__file__).resolve().parents[3]
LOADER = "vixio/providers/onnx_runtime.py"


def test_every_switch_is_set() -> None:
    environment: dict[str, str] = {}
    switch_off(environment)
    assert environment == dict(SWITCHES)


def test_a_value_of_the_operator_is_kept() -> None:
    environment = {ONNXRUNTIME: "0"}
    switch_off(environment)
    assert environment[ONNXRUNTIME] == "0"
    assert decided_otherwise(ONNXRUNTIME, environment)


def test_an_empty_value_decides_nothing() -> None:
    environment = {ONNXRUNTIME: ""}
    switch_off(environment)
    assert environment[ONNXRUNTIME] == "1"
    assert not decided_otherwise(ONNXRUNTIME, environment)


@pytest.mark.parametrize("module", ["vixio", "vixio.core.audio", "vixio.providers.vad"])
def test_importing_anything_of_vixio_sets_them(module: str) -> None:
    bare = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    program = f"import {module}, os; print(*(os.environ.get(name) for name in {list(SWITCHES)}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=bare,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == list(SWITCHES.values())


def test_onnxruntime_is_imported_in_one_place() -> None:
    """There its telemetry is off. A program of an example sets the variable before."""
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("vixio", "firmware-test-client", "scripts", "examples")
        for path in (ROOT / folder).rglob("*.py")
        if "onnxruntime" in (text := path.read_text(encoding="utf-8"))
        and "onnxruntime" in imported(text)
    }
    assert found == {LOADER, "examples/ray_serve/speech_service/voice.py"}


def imported(text: str) -> set[str]:
    """The packages that a program imports, anywhere in it."""
    names: set[str] = set()
    for node in statements(ast.parse(text).body):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_the_image_has_the_same_switches() -> None:
    """For programs in it that do not import Vixio."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    pairs = re.findall(r"\b([A-Z_]+)=(\S+)", "\n".join(re.findall(r"^ENV .*", text, re.MULTILINE)))
    assert SWITCHES.items() <= set(pairs)


@pytest.mark.parametrize("name", list(SWITCHES))
def test_the_documents_name_each_switch(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
