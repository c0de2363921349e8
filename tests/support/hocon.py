"""As much of HOCON as the documented configuration of EMQX uses: objects, lists, values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(r'\s*(#[^\n]*|"(?:[^"\\]|\\.)*"|[{}\[\],=:]|[^\s{}\[\],=:#"]+)')


def read(text: str) -> dict[str, Any]:
    """Return the configuration. Raises ValueError."""
    tokens = [each for each in _TOKEN.findall(text) if not each.startswith("#")]
    found = _object(iter([*tokens, "}"]))
    assert isinstance(found, dict)
    return found


def _object(tokens: Iterator[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for token in tokens:
        if token == "}":
            return found
        if token == ",":
            continue
        key, sign = _scalar(token), next(tokens)
        if sign not in "{=:":
            raise ValueError(f"{key!r} is followed by {sign!r}")
        found[str(key)] = _object(tokens) if sign == "{" else _value(next(tokens), tokens)
    raise ValueError("an object does not end")


def _value(token: str, tokens: Iterator[str]) -> Any:  # noqa: ANN401
    if token == "{":
        return _object(tokens)
    if token == "[":
        return [_value(each, tokens) for each in iter(lambda: next(tokens), "]") if each != ","]
    return _scalar(token)


def _scalar(token: str) -> Any:  # noqa: ANN401
    if token.startswith('"') or token in {"true", "false"} or token.isdigit():
        return json.loads(token)
    return token
