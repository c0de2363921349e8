"""Writes the chosen sections of the settings; all else of a file that is there stays as it is."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from vixio.core.errors import ConfigError
from vixio.settings.env_file import changed_env, env_file, read_env

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*:(?=\s|$)")
_LANGUAGE = re.compile(r"^(\s+language:[ \t]*)([^#\n]*?)([ \t]*(?:#.*)?)$", re.MULTILINE)
_SECRET = re.compile(
    r"(?i)((?:key|token|secret|password|authorization)\w*['\"]?\s*:\s*)(?!.*\$\{).+"
)
_SHOWN_LINES: Final = 24
_COMMENT_COLUMN: Final = 28


class Present:
    """The settings file that is there, and the ``.env`` beside it. Raises ConfigError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""
        self.data: dict[str, Any] = {}
        self.env = read_env(env_file(path))
        try:
            self.text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{path}: cannot be read ({error}); name another: --config"
            ) from error
        try:
            data = yaml.safe_load(self.text)
        except yaml.YAMLError as error:
            raise self._unusable("is not valid YAML; `vixio check` says where") from error
        if data is not None and not isinstance(data, dict):
            raise self._unusable("has no sections; is it a settings file?")
        self.data = {str(key): value for key, value in (data or {}).items()}

    def section(self, name: str) -> Any:  # noqa: ANN401 - any YAML value
        """Return a section as it stands there, ``${VARIABLES}`` unexpanded; None if absent."""
        return self.data.get(name)

    @property
    def language(self) -> str:
        """The language of the assistant; empty: none stands there."""
        assistant = self.section("assistant")
        found = assistant.get("language") if isinstance(assistant, dict) else None
        return found if isinstance(found, str) else ""

    def _unusable(self, why: str) -> ConfigError:
        return ConfigError(
            f"{self.path}: {why}: mend it, move it away, or name another file with --config"
        )


def composed(
    present: Present, sections: Mapping[str, Any], comments: Mapping[str, str], header: str
) -> str:
    """Return the text of the settings with ``sections`` in the place of those that are there.

    ``sections``: each whole, but ``assistant``, which has the keys that change. ``comments``: one
    line for each new section. Lines of other sections, comments among them, stay.
    """
    data = dict(present.data)
    for name, value in sections.items():
        both = name == "assistant" and isinstance(data.get(name), dict)
        data[name] = {**data[name], **value} if both else value
    text = _edited(present, data, comments) if present.text.strip() else ""
    if text and _read(text) == data:
        return text
    lines = [*(f"# {line}" for line in header.splitlines())]
    for name, value in data.items():
        lines += ["", _section(name, value, comments.get(name, ""))]
    return "\n".join(lines) + "\n"


def _edited(present: Present, data: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """Return the present text with the sections replaced that differ; perhaps it is not right."""
    parts: list[str] = []
    seen: set[str] = set()
    for name, text in _blocks(present.text):
        seen.add(name)
        if not name or (name in data and data[name] == present.data.get(name)):
            parts.append(text)
        elif name == "assistant" and (edited := _with_language(text, data[name])) is not None:
            parts.append(edited)
        else:
            parts.append(_section(name, data.get(name), comments.get(name, "")) + "\n")
    parts += [
        "\n" + _section(name, value, comments.get(name, "")) + "\n"
        for name, value in data.items()
        if name not in seen
    ]
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts if part)


def _with_language(text: str, assistant: Mapping[str, Any]) -> str | None:
    edited, count = _LANGUAGE.subn(
        lambda found: f"{found[1]}{assistant['language']}{found[3]}", text, count=1
    )
    return edited if count and _read(edited) == {"assistant": assistant} else None


def _read(text: str) -> Any:  # noqa: ANN401 - any YAML value
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the top-level sections, each with its name; comments between them have none."""
    name, lines, between = "", list[str](), list[str]()
    for line in text.splitlines(keepends=True):
        if not line.strip() or line.startswith("#"):
            between.append(line)
        elif found := _KEY.match(line):
            yield name, "".join(lines)
            yield "", "".join(between)
            name, lines, between = found[1], [line], []
        else:
            lines += [*between, line]
            between = []
    yield name, "".join(lines)
    yield "", "".join(between)


def _section(name: str, value: Any, comment: str) -> str:  # noqa: ANN401 - any YAML value
    text: str = yaml.safe_dump({name: value}, allow_unicode=True, sort_keys=False, width=10_000)
    first, *rest = text.rstrip("\n").split("\n")
    if comment:
        first = f"{first:<{_COMMENT_COLUMN}}# {comment}"
    return "\n".join([first, *rest])


def difference(old: str, new: str) -> list[str]:
    """Return the lines that go (-) and come (+), a few of them, without secrets."""
    lines = [
        _SECRET.sub(r"\1***", line)
        for line in difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()
    ]
    more = len(lines) - _SHOWN_LINES
    return lines if more <= 0 else [*lines[:_SHOWN_LINES], f"… ({more})"]


def write(path: Path, text: str | None, env: Mapping[str, str]) -> Path | None:
    """Write the settings, and ``env`` into the ``.env`` beside them; return the backup, if any.

    ``text`` None: the settings stay. Each file is replaced as a whole, the one with the secrets
    first, which only its owner can read. Raises ConfigError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if env:
            secrets = env_file(path)
            before = secrets.read_text(encoding="utf-8") if secrets.is_file() else ""
            _replace(secrets, changed_env(before, env), 0o600)
        if text is None:
            return None
        backup = _backed_up(path) if path.exists() else None
        _replace(path, text, path.stat().st_mode & 0o777 if backup else 0o644)
    except OSError as error:
        raise ConfigError(
            f"{error.filename or path}: cannot be written: {error.strerror}"
        ) from error
    return backup


def _backed_up(path: Path) -> Path:
    number, backup = 1, path.with_name(f"{path.name}.bak")
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.bak.{number}")
    shutil.copy2(path, backup)
    return backup


def _replace(path: Path, text: str, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # for its owner alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path.resolve() if path.is_symlink() else path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
