"""What the set-up says, in the language that is chosen first: English or Chinese.

These are the words of one command on a terminal; what the assistant itself says stands elsewhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vixio.core.language_tags import primary

LANGUAGES: Final[Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)

ENGLISH: Final = LANGUAGES["en"]


class Words:
    """The words for who speaks ``language`` (BCP 47); English where there are none."""

    def __init__(self, language: str) -> None:
        self.language = primary(language) if primary(language) in LANGUAGES else "en"
        self._texts = LANGUAGES[self.language]

    def __call__(self, key: str, **values: object) -> str:
        """Return the text of ``key`` with its ``{names}`` filled in."""
        return self._texts[key].format(**values)
