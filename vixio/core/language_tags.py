"""Language tags (BCP 47), compared by the language alone: ``zh-CN`` and ``cmn`` are ``zh``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_SAME: Final = {"cmn": "zh", "nb": "no", "nn": "no", "iw": "he", "fil": "tl"}
"""Codes that providers use for the language of another code."""


def primary(tag: str) -> str:
    """Return the language of a tag, without script, region and variant, in lower case."""
    main = tag.replace("_", "-").partition("-")[0].lower()
    return _SAME.get(main, main)


def covers(known: Iterable[str], wanted: str) -> bool:
    """Return whether the language of ``wanted`` is one of ``known``."""
    return primary(wanted) in map(primary, known)
