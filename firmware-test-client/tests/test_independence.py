"""The package shares no code with the server that it tests."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import firmware_test_client

PACKAGE = Path(firmware_test_client.__file__).parent
DECLARED = {"cryptography", "espeakng_loader", "numpy", "opuslib", "soxr", "websockets"}
ALLOWED = DECLARED | {"firmware_test_client"}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def imported_roots(source: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {source}"
            roots.add((node.module or "").split(".")[0])
    return roots


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_are_the_standard_library_or_declared(source: Path) -> None:
    assert imported_roots(source) <= ALLOWED | sys.stdlib_module_names


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_small(source: Path) -> None:
    assert len(source.read_text(encoding="utf-8").splitlines()) <= 400


def test_vixio_is_not_loaded_by_the_whole_package() -> None:
    modules = [
        ".".join(["firmware_test_client", *path.relative_to(PACKAGE).with_suffix("").parts])
        for path in SOURCES
        if path.name != "__init__.py"
    ]
    program = (
        f"import sys, importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'vixio'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
