"""Words of users, by language: a TOML file for each kind, with a table for each language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from vixio.core.language_tags import primary
from vixio.core.whole_phrases import WholePhrases


@cache
def word_list(kind: str) -> Mapping[str, Mapping[str, Any]]:
    """Return a list by the name of its file: language (the first part of BCP 47) → its words.

    Takes some milliseconds the first time.
    """
    return tomllib.loads((Path(__file__).parent / f"{kind}.toml").read_text("utf-8"))


@lru_cache(256)
def exit_phrases(
    language: str, phrases: Sequence[str] | None = None, name: str = ""
) -> WholePhrases:
    """Return what ends a conversation in ``language`` (BCP 47).

    ``phrases`` (a tuple): in the place of those of the language; none: nothing does. ``name``: of
    the device, which the user may add.
    """
    words = word_list("exits").get(primary(language), {"phrases": (), "fill": ()})
    return WholePhrases(
        words["phrases"] if phrases is None else phrases, (*words["fill"], name), language
    )
