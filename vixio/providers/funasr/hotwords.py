"""The hotwords of an utterance, in FunASR's format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from vixio.core.tools.types import ToolDefinition
from vixio.providers.tool_words import MAX_WORDS, tool_words

_WORD: Final = re.compile(r"[^\W\d_]+")
"""Letters only. FunASR reads hotwords that begin with ``http`` as a URL, and hotwords that end in
``.txt`` as a file."""


def hotwords(configured: Iterable[str], tools: Iterable[ToolDefinition]) -> str:
    """Return the ``configured`` words and those of the tools, without duplicates.

    They are separated by spaces: the format of FunASR's argument ``hotword``.
    """
    found: dict[str, None] = {}
    for text in (*configured, *tool_words(tools)):
        for word in _WORD.findall(text):
            if not word.lower().startswith("http"):
                found[word] = None
    return " ".join(list(found)[:MAX_WORDS])
