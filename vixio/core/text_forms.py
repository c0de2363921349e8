"""Checks of the form of a text in settings, which say in words what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable


def of_form(pattern: str, expected: str) -> Callable[[str], str]:
    """Return a check that a text matches the whole of ``pattern``, for a field's validator.

    It returns the text, or raises ValueError: ``expected`` says it in words, with an example.
    """
    form = re.compile(pattern)

    def check(value: str) -> str:
        if not form.fullmatch(value):
            raise ValueError(f"expected {expected}, found {value!r}")
        return value

    return check
