"""What ``vixio init`` writes: a settings file that explains every key, and the secrets' example."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from vixio.core.errors import ConfigError

_TEMPLATES = {"vixio.yaml": "vixio.yaml", ".env.example": "env.example"}
"""By the name it gets, the name in the package (where no file is hidden)."""


def template(name: str) -> str:
    """Return the text of ``vixio.yaml`` or ``.env.example``."""
    return (files("vixio") / "settings" / "templates" / _TEMPLATES[name]).read_text(
        encoding="utf-8"
    )


def write_scaffold(directory: Path, *, force: bool = False) -> list[Path]:
    """Write the files into ``directory``, made if need be, and return their paths.

    Raises ConfigError, with nothing written, when one exists and ``force`` is false.
    """
    paths = {name: directory / name for name in _TEMPLATES}
    if not force and (there := [str(path) for path in paths.values() if path.exists()]):
        raise ConfigError(f"{', '.join(there)}: there already; --force overwrites")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, path in paths.items():
            path.write_text(template(name), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{error.filename or directory}: {error.strerror}") from error
    return list(paths.values())
