"""What is changed in the browser: `assistant.yaml` in the data folder, below the settings file.

Of ``assistant``, ``mcp_servers`` and ``tools`` single keys, else whole sections. What the settings
file has wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from vixio.core.errors import ConfigError
from vixio.data.database.paths import state_folder
from vixio.settings.data import DataSection
from vixio.settings.key_path import KeyPath

FILE_NAME: Final = "assistant.yaml"

SECTIONS: Final = ("assistant", "vad", "asr", "agent", "tts", "mcp_servers", "tools")

KEYED: Final = ("assistant", "mcp_servers", "tools")
"""Of these a key may stand in either file."""

OF_TOOLS: Final = ("ready", "media")
"""The keys of ``tools`` that are changed in the browser."""


_KEYS: Final = "expected a mapping (`key: value` lines)"


class LayerError(ConfigError):
    """It cannot be used. ``mistakes``: paths and messages, without values of variables."""

    def __init__(self, message: str, mistakes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.mistakes = mistakes


def layer_file(sections: Mapping[str, Any]) -> Path | None:
    """Return the path of the file for the sections of a settings file.

    None: nothing is kept, or there are several nodes, for which their settings files decide.
    """
    try:
        data = DataSection.model_validate(sections.get("data") or {})
    except ValidationError:
        return None  # a mistake of the settings file
    if not data.kept or sections.get("cluster") is not None:
        return None
    return (data.place or state_folder()) / FILE_NAME


def below(sections: Mapping[str, Any], content: Any) -> tuple[dict[str, Any], set[KeyPath]]:  # noqa: ANN401 - YAML
    """Return ``sections`` with those of ``content`` below them, and the places of what was taken.

    Raises LayerError.
    """
    if not isinstance(content, Mapping):
        raise LayerError("expected sections", [("", "expected sections")])
    taken: set[KeyPath] = set()
    found = dict(sections)
    for name, value in content.items():
        if name not in SECTIONS:
            message = f"this is not changed here, but only {', '.join(SECTIONS)}"
            raise LayerError(f"{name}: {message}", [(str(name), message)])
        given = sections.get(name)
        if value is None:
            continue
        if name in KEYED and not isinstance(value, Mapping):
            raise LayerError(f"{name}: {_KEYS}", [(name, _KEYS)])
        if name == "tools" and (others := [key for key in value if key not in OF_TOOLS]):
            message = f"this is not changed here, but only {', '.join(OF_TOOLS)}"
            raise LayerError(f"tools.{others[0]}: {message}", [(f"tools.{others[0]}", message)])
        if given is None:
            found[name] = value
            taken.add((name,))
        elif name in KEYED and isinstance(given, Mapping):
            found[name] = {**value, **given}
            taken |= {(name, key) for key in value if key not in given}
    return found, taken
