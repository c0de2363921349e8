"""Words that a session's tools make likely, for recognisers that take hotwords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from vixio.core.tools.types import ToolDefinition, own_words

MAX_WORDS: Final = 100
"""With more hotwords, a model recognises them where they are not said."""

MAX_CHINESE: Final = 10
"""Characters of a Chinese hotword: FunASR's limit."""

_WORD: Final = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]{3,}")
_CHINESE: Final = re.compile("[\u4e00-\u9fff]{2,}")

# Programmers' terms in the names of tools, which users do not say.
_NOISE: Final = frozenset(
    """
    self tool tools get set put add has can the and for with from this that all any new one two
    list status state info value name call run use index type mode level true false none auto
    default enable disable update create delete remove read write send fetch query device
    """.split()  # noqa: SIM905 - a list of eighty quoted words would be long
)


def tool_words(tools: Iterable[ToolDefinition], limit: int = MAX_WORDS) -> tuple[str, ...]:
    """Return at most ``limit`` words without duplicates, those of the tools' names first.

    From names: their parts, without programmers' terms. From the ``enum`` of a parameter: its words
    and Chinese runs. From descriptions: short Chinese runs, which are usually nouns.
    """
    tools = tuple(tools)
    found: dict[str, None] = {}
    for tool in tools:
        found.update(dict.fromkeys(_words(tool.name)))
    for tool in tools:
        for choice in _choices(tool.parameters):
            found.update(dict.fromkeys([*_words(choice), *_chinese(choice)]))
    for tool in tools:
        found.update(dict.fromkeys(_chinese(tool.description[:200])))
    return tuple(found)[:limit]


def _words(text: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(text))
    # FunASR would fetch hotwords that begin with "http" as a URL, and devices name their tools.
    return [word for word in words if word not in _NOISE and not word.startswith("http")]


def _chinese(text: str) -> list[str]:
    return [run for run in _CHINESE.findall(text) if len(run) <= MAX_CHINESE]


def _choices(parameters: Mapping[str, Any]) -> list[str]:
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return []
    found: list[str] = []
    for schema in properties.values():
        if not isinstance(schema, Mapping):
            continue
        found += own_words(schema)[:MAX_WORDS]
        choices = schema.get("enum")
        if isinstance(choices, list):
            found += [choice for choice in choices[:MAX_WORDS] if isinstance(choice, str)]
    return found
