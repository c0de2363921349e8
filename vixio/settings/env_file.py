"""The file `.env` beside the settings: variables for ``${NAME}``, kept out of the settings.

One ``NAME=value`` a line, with the shell's quotes and comments and an optional ``export``, so that
a shell can load the same file. Nothing is expanded: ``$`` is a dollar sign.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError

ENV_NAME: Final = ".env"

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=")


def env_file(settings: Path) -> Path:
    """Return the path of the file that belongs to a settings file."""
    return settings.parent / ENV_NAME


def read_env(path: Path) -> dict[str, str]:
    """Return the variables of ``path``; none where there is no such file.

    Raises ConfigError with the line of a mistake, never with its text, which may be a secret.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except IsADirectoryError:
        return {}  # an environment of Python may have this name
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: save it in the encoding UTF-8") from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            raise ConfigError(f"{path}:{number}: a quote is not closed") from None
        if words[:1] == ["export"]:
            words = words[1:]
        if not words:
            continue
        assignment = _ASSIGNMENT.fullmatch(words[0])
        if assignment is None or len(words) > 1:
            raise ConfigError(
                f"{path}:{number}: expected NAME=value without spaces around =; a value with "
                "spaces in quotes"
            )
        found[assignment[1]] = assignment[2]
    return found


def load_env(settings: Path, environment: MutableMapping[str, str]) -> None:
    """Add the variables of the file beside ``settings``; those that are set keep their values."""
    for name, value in read_env(env_file(settings)).items():
        if not environment.get(name):
            environment[name] = value


def changed_env(text: str, changes: Mapping[str, str]) -> str:
    """Return the text of a file with other values for some variables; all else stays."""
    left = dict(changes)
    lines: list[str] = []
    for line in text.splitlines():
        matched = _LINE.match(line)
        name = matched[1] if matched else ""
        if name not in changes:
            lines.append(line)
        elif name in left:  # of a name that stands there twice, the first line is kept
            lines.append(f"{name}={shlex.quote(left.pop(name))}")
    lines += [f"{name}={shlex.quote(value)}" for name, value in left.items()]
    return "".join(f"{line}\n" for line in lines)
