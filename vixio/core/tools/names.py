"""Names of tools as the model APIs accept them."""

from __future__ import annotations

import hashlib
import re

MAX_NAME = 64
"""Longest function name that the model APIs accept."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

_LETTER = re.compile(r"[^\W_]")
"""A letter or digit of any script."""


def safe_tool_name(name: str) -> str:
    """Return ``name`` as the model APIs accept it: ``[A-Za-z0-9_-]{1,64}``.

    A name that is shortened, or loses letters or digits, gets a digest of the original, so that
    different names stay different. The first sign is a letter or an underscore, as Gemini wants it.
    """
    safe = _UNSAFE.sub("_", name)
    lost = any(_LETTER.match(sign) for sign in _UNSAFE.findall(name))
    if len(safe) > MAX_NAME or not safe.strip("_") or lost:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        safe = f"{safe[: MAX_NAME - 9].strip('_') or 'tool'}_{digest}"
    if safe[0].isdigit() or safe[0] == "-":
        safe = f"_{safe}"[:MAX_NAME]
    return safe
