"""Prompts and keywords for a recogniser, made of words that the user is likely to say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from vixio.core.tools.types import ToolDefinition, own_words

_MAX_TERM: Final = 40
_MAX_TERMS: Final = 100
_EMPTY: Final = frozenset({"self", "get", "set", "is", "to", "the", "a", "mcp", "tool", "call"})
_OTHER_SCRIPTS: Final = frozenset(
    [
        "am",
        "ar",
        "be",
        "bg",
        "bn",
        "el",
        "fa",
        "gu",
        "he",
        "hi",
        "hy",
        "ja",
        "ka",
        "kk",
        "km",
        "kn",
        "ko",
        "lo",
        "mk",
        "ml",
        "mn",
        "mr",
        "my",
        "ne",
        "pa",
        "ps",
        "ru",
        "sa",
        "sd",
        "si",
        "sr",
        "ta",
        "te",
        "tg",
        "th",
        "tt",
        "uk",
        "ur",
        "yi",
        "yue",
        "zh",
    ]
)
"""Languages of Whisper that are not written in Latin letters."""

_WORDS: Final = re.compile(r"[^\W\d_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def terms_of(tools: Iterable[ToolDefinition]) -> list[str]:
    """Return the names of the tools in words, as ``lamp turn on``, and the values of their enums.

    Without duplicates; the same tools give the same terms in the same order.
    """
    found: dict[str, None] = {}
    for tool in tools:
        name = _CAMEL.sub(" ", tool.alias or tool.name)
        words = [word for word in _WORDS.findall(name) if word.lower() not in _EMPTY]
        if words:
            found[" ".join(words).lower()] = None
        for value in _choices(tool.parameters):
            found[value.encode("utf-8", "ignore").decode()] = None  # drops lone surrogates
        if len(found) >= _MAX_TERMS:
            break
    return [term for term in found if len(term) <= _MAX_TERM][:_MAX_TERMS]


def readable(terms: Iterable[str], language: str) -> list[str]:
    """Return the terms that suit a prompt for ``language`` (ISO 639-1).

    A prompt in Latin letters makes Whisper write Latin letters, so it must match the language.
    """
    if language not in _OTHER_SCRIPTS:
        return list(terms)
    return [term for term in terms if not term.isascii()]


def prompt_of(words: str, vocabulary: Sequence[str], terms: Sequence[str], most: int) -> str:
    """Return one prompt of at most ``most`` characters.

    Whisper reads only the end of a long prompt, so the order is: terms of the tools, vocabulary,
    configured words. Where space is short, terms of the tools are dropped first.
    """
    own = words.strip()[-most:] if most > 0 else ""
    listed: list[str] = []
    left = most - len(own) - 2
    for term in dict.fromkeys((*vocabulary, *terms)):
        left -= len(term) + 2
        if left < 0:
            break
        listed.append(term)
    return " ".join(filter(None, (f"{', '.join(reversed(listed))}." if listed else "", own)))


def _choices(schema: Any) -> Iterable[str]:  # noqa: ANN401 - JSON, and not ours
    """Yield the values of each parameter's ``enum``: rooms, themes, names."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for parameter in properties.values() if isinstance(properties, dict) else ():
        yield from own_words(parameter) if isinstance(parameter, dict) else ()
        values = parameter.get("enum") if isinstance(parameter, dict) else None
        for value in values if isinstance(values, list) else ():
            if isinstance(value, str) and _WORDS.search(value):
                yield value.replace("_", " ")
