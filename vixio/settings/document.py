"""Reads a YAML file, expands ``${VAR}`` and keeps the line of each key.

``${VAR}`` is the value of an environment variable, ``${VAR:default}`` has a default for an unset or
empty one, ``$${`` is ``${`` itself. YAML's rules give a plain scalar its type after expansion, so
``port: ${PORT:8000}`` is a number; a quoted one stays text.
"""

from __future__ import annotations

import codecs
import errno
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from vixio.core.errors import ConfigError
from vixio.settings.env_file import ENV_NAME, env_file, read_env
from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.origin import Origin
from vixio.settings.variables import expanded
from vixio.settings.yaml_errors import explain, find_typo, odd_quotes

_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""As YAML has it."""

_NO_NUMBER = re.compile(r"[+-]?0\d[\d_]*|.*:.*")
"""YAML 1.1 reads 010 as 8 and 1:30 as 90, which nobody means."""


@dataclass(slots=True)
class Document:
    """The content of a file, with the place of each value."""

    path: Path
    source: Sequence[str]
    """Its lines."""
    data: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    """The line (from 1) of each key and list item."""
    spans: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    """The first and last line of each plain scalar."""
    texts: dict[KeyPath, str] = field(default_factory=dict)
    """The text of each plain scalar, before YAML converted it to a number or a boolean."""

    expanded: set[KeyPath] = field(default_factory=set)
    """The places of the values with ``${VAR}``."""
    given: set[str] = field(default_factory=set)
    """These values, where the environment gave something of them, and those of the variables."""

    def origin(self) -> Origin:
        """Return where the values come from."""
        return Origin(
            dict(self.lines),
            frozenset(self.expanded),
            frozenset(self.given),
            str(self.path.absolute()),
        )

    def line(self, path: KeyPath) -> int:
        """Return the line of ``path``, or of the nearest key above it; 0: there is none."""
        return next(
            (self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines),
            0,
        )

    def typo(self, path: KeyPath, *, key: bool) -> ConfigError | None:
        """Return the error of a typo in the value at ``path``, or in its key.

        None: nothing looks like one.
        """
        span = (self.lines.get(path, 0),) * 2 if key else self.spans.get(path, (0, -1))
        typo = find_typo(self.source, *span)
        return None if typo is None else ConfigError(f"{self.path}:{typo.line}: {typo.message}")

    def error(self, path: KeyPath, message: str) -> ConfigError:
        """Return the one-line error for ``path``, at its line or that of the nearest key above."""
        line = self.line(path)
        place = f"{self.path}:{line}" if line else str(self.path)
        # A key may contain anything, including line breaks.
        words = f"{show_path(path)}: {message}" if path else message
        return ConfigError(f"{place}: {' '.join(words.split())}")


def read_document(path: Path, environment: Mapping[str, str]) -> Document:
    """Read ``path``. Raises ConfigError: no such file, not YAML, an unset variable."""
    text = read_text(path)
    document = Document(path, _LINE_BREAK.split(text))
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            if root is not None:
                document.data = _Reader(document, loader, environment).read(root, ())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        typo = explain(error, document.source)
        place = f"{path}:{typo.line}" if typo.line else str(path)
        raise ConfigError(f"{place}: {typo.message}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    return document


class _Reader:
    """Builds the data from the nodes and records the place of each."""

    def __init__(
        self, document: Document, loader: yaml.SafeLoader, environment: Mapping[str, str]
    ) -> None:
        self._document = document
        self._loader = loader
        self._environment = environment
        self._above: set[int] = set()

    def read(self, node: yaml.Node, path: KeyPath) -> Any:  # noqa: ANN401 - any YAML value
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._above:
            raise self._document.error(path, "an alias must not contain itself")
        self._above.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return self._sequence(node, path)
        finally:
            self._above.discard(id(node))
        return self._loader.construct_object(node, deep=True)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        self._refuse_duplicates(node, path)
        self._loader.flatten_mapping(node)
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            here = (*path, key)
            self._document.lines[here] = key_node.start_mark.line + 1
            data[key] = self.read(value_node, here)
        return data

    def _refuse_duplicates(self, node: yaml.MappingNode, path: KeyPath) -> None:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._document.error(path, f"a key must be a word (line {line})")
            if key_node.value in seen:
                first = seen[key_node.value]
                self._document.lines[(*path, key_node.value)] = line
                raise self._document.error(
                    (*path, key_node.value), f"stands in line {first} already: keep one of them"
                )
            seen[key_node.value] = line

    def _sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[Any]:
        items: list[Any] = []
        for index, item in enumerate(node.value):
            here = (*path, index)
            self._document.lines[here] = item.start_mark.line + 1
            items.append(self.read(item, here))
        return items

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:  # noqa: ANN401 - as above
        if node.style is None:
            self._document.spans[path] = (node.start_mark.line + 1, node.end_mark.line + 1)
            if message := odd_quotes(node.value):
                raise self._document.error(path, message)
        if "${" not in node.value:
            if node.style is None and not node.tag.endswith(":null"):
                self._document.texts[path] = node.value
            return self._construct(node)
        text = self._expand(node.value, path)
        if node.style is not None:  # quoted, or a block of text
            return text
        self._document.texts[path] = text
        tag = self._loader.resolve(  # type: ignore[no-untyped-call] # missing in its stubs
            yaml.ScalarNode, text, (True, False)
        )
        plain = yaml.ScalarNode(tag, text, node.start_mark, node.end_mark)
        try:
            return self._construct(plain)
        except yaml.YAMLError:
            return text

    def _construct(self, node: yaml.ScalarNode) -> Any:  # noqa: ANN401 - as above
        if node.tag.endswith(":int") and _NO_NUMBER.fullmatch(node.value):
            return node.value
        try:
            return self._loader.construct_object(node)
        except ValueError:  # looks like a date or a number, but is not
            return node.value

    def _expand(self, text: str, path: KeyPath) -> str:
        def remedy(name: str) -> str:
            return _remedy(name, self._document.path)

        def error(message: str) -> ConfigError:
            return self._document.error(path, message)

        values: set[str] = set()
        found = expanded(text, self._environment, error, remedy, values.add)
        self._document.expanded.add(path)
        if values:
            self._document.given |= {found, *values}
        return found


def _remedy(name: str, path: Path) -> str:
    """Return what to do about a variable without a value."""
    for file in (Path(ENV_NAME), env_file(path)):
        try:
            there = read_env(file).get(name)
        except ConfigError:
            continue
        if there:
            shown = file if file.parent.parts else f"./{file}"
            return f"{file} has it, load that file first: set -a; . {shown}; set +a"
    return f"set it, or write ${{{name}:default}}"


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path) -> str:
    """Return the text of ``path``. Raises ConfigError: no such file, not a text in UTF-8."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; {_instead(path)}") from None
    except IsADirectoryError:
        raise ConfigError(
            f"{path}: is a folder, not a file: give the file in it, such as {path / 'vixio.yaml'}"
        ) from None
    except OSError as error:
        why = (
            "you may not read it (chmod, chown)" if error.errno == errno.EACCES else error.strerror
        )
        raise ConfigError(f"{path}: cannot be read: {why}") from error
    if content.startswith(_UTF16):
        raise ConfigError(f"{path}: is UTF-16 text: save it in the encoding UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in content:
            raise ConfigError(f"{path}: is no text file: give a settings file (YAML)") from None
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: is not UTF-8 text (byte {error.start} of the file): save it in the "
            "encoding UTF-8"
        ) from None
    return text


def _instead(path: Path) -> str:
    """Return what to do about a file that is not there."""
    try:
        there = [each.name for each in path.parent.iterdir() if each.suffix in (".yaml", ".yml")]
    except OSError:
        there = []
    if close := get_close_matches(path.name, there, n=1):
        return f"did you mean {str(path.with_name(close[0]))!r}?"
    return "`vixio init DIR` writes one to start from"
