"""Which words a model is told to listen for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from vixio.core.tools.types import ToolDefinition
from vixio.providers.tool_words import MAX_WORDS, tool_words

_WORD: Final = re.compile(r"[^\W\d_]+")
"""Letters alone. FunASR takes a text of hotwords for an address when it begins with ``http``, and
for a file when it ends in ``.txt``."""


def hotwords(configured: Iterable[str], tools: Iterable[ToolDefinition]) -> str:
    """Return the ``configured`` words and those of the tools, each once.

    Separated by spaces, as FunASR's ``hotword`` wants them.
    """
    found: dict[str, None] = {}
    for text in (*configured, *tool_words(tools)):
        for word in _WORD.findall(text):
            if not word.lower().startswith("http"):
                found[word] = None
    return " ".join(list(found)[:MAX_WORDS])
