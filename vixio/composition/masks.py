"""Secrets of settings that a browser shows and sends back: masked, and put in again.

A mask stands only for a secret that is stored for the same address, so that it cannot be sent to
another server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.shown import MASK, hides, without_passwords

_ADDRESS: Final = re.compile("url|host|server|endpoint|address|proxy|region", re.IGNORECASE)

_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_]\w*\}")
"""The name of a variable is no secret."""

_OPEN: Final = "extra_body"
"""Usually no secret; what is one below it has a key that says so."""

_LINKS: Final = "addresses"
"""Of calendars: whoever has such an address reads the calendar."""

_PLAIN: Final = "assistant"
"""A section of texts for people, without secrets."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text of a content. ``where``: the addresses above it, and the provider's name, as JSON;
    ``below``: its keys from there on. ``hidden``: a key says that it is secret."""

    path: KeyPath = ()
    where: Mapping[str, str] = field(default_factory=dict)
    below: KeyPath = ()
    hidden: bool = False

    @property
    def place(self) -> tuple[frozenset[tuple[str, str]], KeyPath]:
        """What the secret is for: an address, or a provider that has one of its own."""
        addresses = [each for each in self.where.items() if each[0] != "name"]
        return frozenset(addresses or self.where.items()), self.below

    def shown(self, text: str) -> str:
        """Return a text as a browser gets it."""
        if not text or _REFERENCE.fullmatch(text):
            return text
        return MASK if self.hidden else without_passwords(text) if "://" in text else text


Change = Callable[[str, Leaf], str]


def masked(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content of the settings without its secrets."""
    return _mapped(content, lambda text, leaf: leaf.shown(text))


def secrets(content: Mapping[str, Any]) -> set[str]:
    """Return the secrets of a content."""
    found: set[str] = set()

    def note(text: str, leaf: Leaf) -> str:
        if leaf.shown(text) != text:
            found.add(text)
        return text

    _mapped(content, note)
    return found


def restored(
    content: Mapping[str, Any], stored: Mapping[str, Any], known: Callable[[str], str]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return a content with its secrets, and mistakes: paths and messages.

    ``known`` returns the key of a ``base_url`` for which none is stored; empty: there is none.
    """
    texts: dict[str, str] = {}
    keys: dict[Any, str] = {}
    mistakes: list[tuple[str, str]] = []

    def note(text: str, leaf: Leaf) -> str:
        if (shown := leaf.shown(text)) == MASK:
            keys[leaf.place] = keys[leaf.path, leaf.place] = text
        elif shown != text:
            texts[shown] = text
        return text

    def put(text: str, leaf: Leaf) -> str:
        if text == MASK:
            text = keys.get((leaf.path, leaf.place)) or keys.get(leaf.place) or text
            if text == MASK and leaf.below == ("api_key",) and leaf.where.get("name") == '"openai"':
                text = known(json.loads(leaf.where.get("base_url", '""'))) or text
        if MASK in text:
            words = "type it in again: none is stored for this address"
            mistakes.append((show_path(leaf.path), words))
        return text

    _mapped(stored, note)
    addressed = _mapped(content, lambda text, _: texts.get(text, text))
    return _mapped(addressed, put), mistakes


def _mapped(content: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Return a content with its texts changed, but for those of :data:`_PLAIN`."""
    return {
        name: value if name == _PLAIN else _changed(value, Leaf((name,)), change)
        for name, value in content.items()
    }


def _changed(value: Any, leaf: Leaf, change: Change) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        own = {
            str(key): json.dumps(each)
            for key, each in value.items()
            if key == "name"
            or (key != _LINKS and _ADDRESS.search(str(key)) and isinstance(each, str | list))
        }
        if own:
            leaf = replace(leaf, where={**leaf.where, **own}, below=())
        return {key: _changed(each, _at(leaf, key, each), change) for key, each in value.items()}
    if isinstance(value, list):
        return [
            _changed(each, replace(leaf, path=(*leaf.path, index)), change)
            for index, each in enumerate(value)
        ]
    if leaf.hidden and isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return change(value, leaf) if isinstance(value, str) else value


def _at(leaf: Leaf, key: str, value: object) -> Leaf:
    hidden = (
        leaf.hidden or key == _LINKS or (key != _OPEN and hides(str(key), value, declared=True))
    )
    return replace(leaf, path=(*leaf.path, key), below=(*leaf.below, key), hidden=hidden)
