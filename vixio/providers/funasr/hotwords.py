"""Which words a model is told to listen for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from vixio.core.tools.types import ToolDefinition

_MOST: Final = 100
_LONGEST: Final = 20
_WORD: Final = re.compile(r"[^\W\d_]+")
"""Letters alone. FunASR takes a text of hotwords for an address when it begins with ``http``, and
for a file when it ends in ``.txt``; tools, and so their words, come from a device."""
_TELLS_NOTHING: Final = frozenset({"self", "get", "set", "is", "to", "the", "of", "mcp", "tool"})


def hotwords(configured: Iterable[str], tools: Iterable[ToolDefinition]) -> str:
    """Return the ``configured`` words and those of the tools' names and choices, each once.

    Separated by spaces, as FunASR's ``hotword`` wants them.
    """
    found: dict[str, None] = {}
    for text in (*configured, *_words_of(tools)):
        for word in _WORD.findall(text):
            if len(word) <= _LONGEST and not word.lower().startswith("http"):
                found[word] = None
    return " ".join(list(found)[:_MOST])


def _words_of(tools: Iterable[ToolDefinition]) -> Iterator[str]:
    for tool in tools:
        for word in _WORD.findall(tool.name):
            if word.lower() not in _TELLS_NOTHING:
                yield word.lower()
        yield from _choices(tool.parameters)


def _choices(schema: Any) -> Iterator[str]:  # noqa: ANN401 - JSON, and not ours
    """The words of each parameter's ``enum``: rooms, themes, names."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for parameter in properties.values() if isinstance(properties, dict) else ():
        values = parameter.get("enum") if isinstance(parameter, dict) else None
        for value in values if isinstance(values, list) else ():
            if isinstance(value, str):
                yield value
