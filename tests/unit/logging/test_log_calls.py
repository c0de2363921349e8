"""Log calls of the code: constant messages, values in fields, no field with a reserved name."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from vixio.logging.fields import RESERVED

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("vixio", "examples")
RAYS_LOG = ROOT / "examples" / "ray_serve"
"""A program that does not log by Vixio: Ray's log shows the message alone, without fields."""

METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def log_calls(source: str) -> Iterator[ast.Call]:
    """Calls of a method of ``_log``."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in METHODS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "_log"
        ):
            yield node


def composed(source: str) -> Iterator[str]:
    """Log calls whose message is put together from values, here or by ``logging``."""
    for call in log_calls(source):
        assert isinstance(call.func, ast.Attribute)
        message, *values = call.args[1:] if call.func.attr == "log" else call.args
        if values or isinstance(message, ast.JoinedStr | ast.BinOp | ast.Call):
            yield f"line {call.lineno}: {ast.unparse(call)[:60]}"


def collisions(source: str) -> Iterator[str]:
    """Names in a literal ``extra={…}`` that ``logging`` refuses with a KeyError."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
                for key in keyword.value.keys:
                    if isinstance(key, ast.Constant) and key.value in RESERVED:
                        yield f"line {node.lineno}: {key.value}"


def sources() -> Iterator[tuple[str, str]]:
    """Every module: its path and its text."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.is_relative_to(RAYS_LOG):
                continue
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_messages_are_constant() -> None:
    found = [f"{path} {call}" for path, source in sources() for call in composed(source)]
    assert found == []


def test_no_field_has_a_reserved_name() -> None:
    found = [f"{path} {name}" for path, source in sources() for name in collisions(source)]
    assert found == []


@pytest.mark.parametrize(
    "call",
    ['_log.info(f"{x}")', '_log.info("%s", x)', '_log.log(10, "%s", x)', "_log.error(str(x))"],
)
def test_a_composed_message_is_found(call: str) -> None:
    assert list(composed(call)) == [f"line 1: {call}".replace('"', "'")]
    assert list(composed('_log.log(level, "constant", extra={"a": 1})')) == []


def test_a_reserved_name_is_found() -> None:
    source = '_log.info("x", extra={"device": 1, "name": 2, "args": 3, **more})'
    assert list(collisions(source)) == ["line 1: name", "line 1: args"]


@pytest.mark.parametrize("name", sorted(RESERVED - {"taskName"}))
def test_logging_refuses_each_reserved_name(name: str) -> None:
    # Since Python 3.12 it refuses taskName as well.
    with pytest.raises(KeyError):
        logging.getLogger("vixio.test").error("x", extra={name: 1})
