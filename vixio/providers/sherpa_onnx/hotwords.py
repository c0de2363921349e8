"""Hotwords in the format of sherpa-onnx's transducers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

SPEAKABLE = re.compile(r"[^\W_]+(?:['’ -][^\W_]+)*")
"""In a hotword ``:``, ``#``, ``@`` and ``/`` are syntax of the library."""

MOST = 100
"""With more hotwords, a model recognises them where they are not said."""


class Hotwords:
    """Writes words with the symbols of the model.

    The library drops the whole list for one word with an unknown character, so such words are left
    out.
    """

    def __init__(self, tokens: Path, unit: str) -> None:
        """``unit``: unit of the symbols in ``tokens``; empty: no hotwords. Blocking."""
        lines = tokens.read_text("utf-8").splitlines() if unit else []
        self._symbols = {line.split(" ")[0] for line in lines}
        self._unit = unit
        letters = "".join(symbol for symbol in self._symbols if not symbol.startswith("<"))
        self._capitals = not re.search("[a-z]", letters)

    def __call__(self, words: Iterable[str]) -> str:
        """Return those of ``words`` that the model can write, separated by ``/``."""
        if not self._unit:
            return ""
        written = (self._written(word) for word in words if SPEAKABLE.fullmatch(word))
        return "/".join(list(dict.fromkeys(filter(None, written)))[:MOST])

    def _written(self, word: str) -> str:
        word = word.upper() if self._capitals else word
        spelt = [each for each in word if not each.isspace()]
        if self._unit == "cjkchar":
            known = all(each in self._symbols for each in spelt)
        elif self._unit == "cjkchar+bpe":
            known = all(each in self._symbols or each.isascii() for each in spelt)
        else:
            known = all(each.isascii() for each in spelt)
        return word if known else ""
