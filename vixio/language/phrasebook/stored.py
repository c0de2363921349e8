"""Phrase books as they are packaged: the YAML files with every template parsed, as JSON.

Reading YAML and parsing templates takes 0.2 s with its imports, at the start of the server and of
each recogniser's process. ``scripts/compile_phrasebook.py`` (``make phrasebook``) does it once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from vixio.core.errors import ConfigError
from vixio.language.phrasebook.nodes import Alt, Node, Rule, Seq, Slot, Word
from vixio.language.phrasebook.template import Language, read_language

DATA: Final = Path(__file__).parent / "data"

_PAIRS: Final = "$pairs"
"""Marks a mapping with keys that JSON does not have, such as true or 5, as a list of pairs."""


@dataclass(frozen=True, slots=True)
class StoredBook:
    """A book's content, the words of tool names, and the trees of all templates in both."""

    book: Mapping[str, Any]
    tool_names: Mapping[str, Any]
    templates: Mapping[str, Node]

    def dump(self) -> str:
        """Return the text of the file: a template a line, so that a change of one is a line."""
        templates = ",\n".join(
            f"  {_json(text)}: {_json(_dump_node(node))}" for text, node in self.templates.items()
        )
        return (
            f'{{"book": {_json(_dump(self.book))},\n'
            f'"tool_names": {_json(_dump(self.tool_names))},\n'
            f'"templates": {{\n{templates}\n}}}}\n'
        )


def load_language(code: str) -> Language:
    """Return the packaged book of ``code``. Raises ConfigError."""
    name = f"{code}.json"
    try:
        text = (DATA / name).read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no phrase book for the language {code!r}") from None
    stored = json.loads(text, object_hook=_load)
    return read_language(code, stored["book"], stored["tool_names"], _parser(stored), name)


def _parser(stored: Mapping[str, Any]) -> Callable[[str], Node]:
    templates = stored["templates"]

    def parse(template: str) -> Node:
        if template not in templates:
            raise ValueError(f"{template!r} is not compiled: run make phrasebook")
        return _load_node(templates[template])

    return parse


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dump(value: object) -> object:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _dump(item) for key, item in value.items()}
        return {_PAIRS: [[key, _dump(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [_dump(item) for item in value]
    return value


def _load(value: dict[str, Any]) -> dict[Any, Any]:
    return dict(value[_PAIRS]) if _PAIRS in value else value


def _dump_node(node: Node) -> object:
    """Return a word as a string, everything else as a list that begins with its kind."""
    if isinstance(node, Word):
        return node.text
    if isinstance(node, Slot):
        return ["slot", node.name]
    if isinstance(node, Rule):
        return ["rule", node.name]
    kind = "seq" if isinstance(node, Seq) else "alt"
    return [kind, *map(_dump_node, node.items)]


def _load_node(value: str | Sequence[Any]) -> Node:
    if isinstance(value, str):
        return Word(value)
    kind, parts = value[0], value[1:]
    if kind == "slot":
        return Slot(parts[0])
    if kind == "rule":
        return Rule(parts[0])
    items = tuple(map(_load_node, parts))
    return Seq(items) if kind == "seq" else Alt(items)
