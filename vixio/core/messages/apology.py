"""What is said to words that were not understood."""

from __future__ import annotations

from collections.abc import Iterable

from vixio.core.messages import message


def not_understood(language: str, said: Iterable[str], first: str = "") -> str:
    """Return the apology, which is the message ``first``, if there is one, until it has been heard.

    ``said``: what the assistant has said so far, each as far as it was heard.
    """
    hint = message(first, language) if first else ""
    heard = any(_letters(each) and _letters(hint).startswith(_letters(each)) for each in said)
    return hint if hint and not heard else message("not_understood", language)


def _letters(text: str) -> str:
    return "".join(text.split())
