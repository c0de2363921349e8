"""Reads the text of a settings file; what is none is one line that says what to do."""

from __future__ import annotations

import codecs
import errno
from difflib import get_close_matches
from pathlib import Path

from vixio.core.errors import ConfigError

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
