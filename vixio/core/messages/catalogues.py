"""Catalogues of several folders as one, with the language to fall back to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError
from vixio.core.messages.po import Catalogue, read_po

PACKAGED: Final = Path(__file__).resolve().parents[2] / "language" / "locale"

FALLBACK: Final = "en"

MAX_READ: Final = 64
"""Languages that are kept in memory, those without a catalogue among them."""

_NAME: Final = re.compile(r"\{(\w+)\}")


class Catalogues:
    """Reads the catalogue of a language when it is first needed, in less than a millisecond.

    Of several ``folders`` the last one that has a message has precedence.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._read: dict[str, tuple[Catalogue, ...]] = {}

    def words(self, key: str, language: str, values: Mapping[str, str | int]) -> str:
        """Return a message with ``values`` in it, in English where ``language`` has none."""
        for catalogue in (*self._of(language), *self._named(FALLBACK)):
            texts = catalogue.forms.get(key)
            if texts is not None:
                number = values.get("n")
                plural = isinstance(number, int) and len(texts) > 1
                text = texts[catalogue.plural(int(number or 0))] if plural else texts[0]
                return _NAME.sub(lambda name: str(values.get(name.group(1), name.group(0))), text)
        raise KeyError(key)

    def of(self, language: str) -> Catalogue | None:
        """Return the catalogue with the highest precedence for ``language``, if there is one."""
        return next(iter(self._of(language)), None)

    def _of(self, language: str) -> tuple[Catalogue, ...]:
        """Return those for a tag: its own before those of its base language."""
        tag = language.replace("_", "-").lower()
        base = tag.partition("-")[0]
        return (*self._named(tag), *(self._named(base) if base != tag else ()))

    def _named(self, name: str) -> tuple[Catalogue, ...]:
        found = self._read.get(name)
        if found is None:
            found = tuple(
                read_po(path)
                for folder in reversed(self._folders)
                if (path := _file(folder, name)) is not None
            )
            if found or len(self._read) < MAX_READ:  # recognisers name languages as they like
                self._read[name] = found
        return found


def names(text: str) -> set[str]:
    """Return the names in braces."""
    return set(_NAME.findall(text))


def check_folder(folder: Path) -> None:
    """Read all files of ``folder``. Raises ConfigError, one line, for what is wrong."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder")
    files = sorted(folder.glob("*.po"))
    if not files:
        raise ConfigError(f"{folder} has no file <language>.po")
    english = read_po(PACKAGED / f"{FALLBACK}.po").forms
    for path in files:
        for key, texts in read_po(path).forms.items():
            if key not in english:
                raise ConfigError(f"{path}: there is no message {key!r}; compare en.po")
            if unknown := sorted(names("".join(texts)) - names("".join(english[key]))):
                raise ConfigError(f"{path}: {key} has no {{{unknown[0]}}}; compare en.po")


def _file(folder: Path, name: str) -> Path | None:
    """Return the file of a language: ``zh-tw`` is also ``zh-TW.po`` and ``zh_TW.po``."""
    if not re.fullmatch(r"[a-z0-9-]+", name):
        return None
    return next(
        (
            path
            for path in sorted(folder.glob("*.po"))
            if path.stem.lower().replace("_", "-") == name
        ),
        None,
    )
