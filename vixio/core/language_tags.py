"""Language tags (BCP 47), compared by the language alone: ``zh-CN`` and ``cmn`` are ``zh``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_SAME: Final = {"cmn": "zh", "nb": "no", "nn": "no", "iw": "he", "fil": "tl"}
"""Codes that providers use for the language of another code."""


_TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def check_language(tag: str) -> None:
    """Raise ValueError where ``tag`` has not the form of a language tag."""
    if not _TAG.fullmatch(tag):
        raise ValueError(f"expected a language tag such as en or zh-CN, found {tag!r}")


def primary(tag: str) -> str:
    """Return the language of a tag, without script, region and variant, in lower case."""
    main = tag.replace("_", "-").partition("-")[0].lower()
    return _SAME.get(main, main)


def covers(known: Iterable[str], wanted: str) -> bool:
    """Return whether the language of ``wanted`` is one of ``known``."""
    return primary(wanted) in map(primary, known)
