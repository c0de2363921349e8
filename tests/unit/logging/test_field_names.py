"""``logging`` raises ``KeyError`` for some names in ``extra``; the code uses none of them."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from vixio.logging.fields import RESERVED

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("vixio", "examples")


def collisions(source: str) -> Iterator[str]:
    """Names in a literal ``extra={…}`` that ``logging`` refuses, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg != "extra" or not isinstance(keyword.value, ast.Dict):
                continue
            for key in keyword.value.keys:
                if isinstance(key, ast.Constant) and key.value in RESERVED:
                    yield f"line {node.lineno}: {key.value}"


def test_no_field_has_a_reserved_name() -> None:
    found = [
        f"{path.relative_to(ROOT)} {collision}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for collision in collisions(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_reserved_name_is_found() -> None:
    source = 'log.info("x", extra={"device": 1, "name": 2, "args": 3, **more})'
    assert list(collisions(source)) == ["line 1: name", "line 1: args"]


@pytest.mark.parametrize("name", sorted(RESERVED - {"taskName"}))
def test_logging_refuses_each_reserved_name(name: str) -> None:
    # Since Python 3.12 it refuses taskName as well.
    with pytest.raises(KeyError):
        logging.getLogger("vixio.test").error("x", extra={name: 1})
