"""Log calls of the code: constant messages, values in fields, no field with a reserved name."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from vixio.telemetry.logging.fields import RESERVED

ROOT = Path(__file__).resolve().parents[4]
FOLDERS = ("vixio", "examples")
RAYS_LOG = ROOT / "examples" / "ray_serve"
"""A program that does not log by Vixio: Ray's log shows the message alone, without fields."""

METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def calls(source: str) -> Iterator[ast.Call]:
    """Calls of a method of ``_log``, and those with ``extra``."""
    if "_log" in source or "extra" in source:
        yield from (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))


def composed(source: str) -> Iterator[str]:
    """Log calls whose message is put together from values, here or by ``logging``."""
    for call in calls(source):
        yield from a_composed_message(call)


def a_composed_message(call: ast.Call) -> Iterator[str]:
    """The call, if it is one of ``_log`` with such a message."""
    if not (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in METHODS
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "_log"
    ):
        return
    message, *values = call.args[1:] if call.func.attr == "log" else call.args
    if values or isinstance(message, ast.JoinedStr | ast.BinOp | ast.Call):
        yield f"line {call.lineno}: {ast.unparse(call)[:60]}"


def collisions(source: str) -> Iterator[str]:
    """Names in a literal ``extra={…}`` that ``logging`` refuses with a KeyError."""
    for call in calls(source):
        yield from reserved_names(call)


def reserved_names(call: ast.Call) -> Iterator[str]:
    """Those of one call."""
    for keyword in call.keywords:
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
            for key in keyword.value.keys:
                if isinstance(key, ast.Constant) and key.value in RESERVED:
                    yield f"line {call.lineno}: {key.value}"


def sources() -> Iterator[tuple[str, str]]:
    """Every module: its path and its text."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.is_relative_to(RAYS_LOG):
                continue
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_messages_are_constant_and_no_field_has_a_reserved_name() -> None:
    """In one: the reading of all modules takes longest."""
    read, found = 0, []
    for path, source in sources():
        for call in calls(source):
            read += 1
            found += [f"{path} {it}" for it in (*a_composed_message(call), *reserved_names(call))]
    assert read > 1000
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
