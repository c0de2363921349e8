"""Names of tools as the model APIs accept them."""

from __future__ import annotations

import hashlib
import re

MAX_NAME = 64
"""Longest function name that the model APIs accept."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def safe_tool_name(name: str) -> str:
    """Return ``name`` as the model APIs accept it: ``[A-Za-z0-9_-]{1,64}``.

    A name that is shortened, or has no safe character, gets a digest of the original, so that
    different names stay different.
    """
    safe = _UNSAFE.sub("_", name)
    if len(safe) <= MAX_NAME and safe.strip("_"):
        return safe
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{safe[: MAX_NAME - 9].strip('_') or 'tool'}_{digest}"
