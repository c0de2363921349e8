"""Reads ``tokenizer.bin``, the symbols of a Moonshine model.

The format is that of ``core/bin-tokenizer`` in the model's repository: for each id in order the
length of its symbol and its bytes. A length from 128 on takes two bytes: its remainder by 128 plus
128, then its quotient by 128. An id that is not used has a symbol without bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

_SPACE = "▁".encode()
_FIRST_SYMBOL = 3
"""The ids before it are ``<unk>``, ``<s>`` and ``</s>``, which are no text."""


class Tokenizer:
    """The symbols by id."""

    def __init__(self, data: bytes) -> None:
        """Raises ValueError if ``data`` is cut short."""
        self._symbols: list[bytes] = []
        place = 0
        while place < len(data):
            length = data[place]
            place += 1
            if length >= 128:
                if place == len(data):
                    raise ValueError("a length is cut short")
                length = length - 128 + 128 * data[place]
                place += 1
            symbol = data[place : place + length]
            if len(symbol) < length:
                raise ValueError("a symbol is cut short")
            self._symbols.append(symbol)
            place += length

    def __len__(self) -> int:
        return len(self._symbols)

    def text(self, ids: Iterable[int]) -> str:
        """Return the text of ``ids``; ids without a text add nothing."""
        return b"".join(map(self._bytes, ids)).replace(_SPACE, b" ").decode(errors="ignore").strip()

    def _bytes(self, id: int) -> bytes:
        if not _FIRST_SYMBOL <= id < len(self._symbols):
            return b""
        symbol = self._symbols[id]
        special = symbol.startswith(b"<<") and symbol.endswith(b">>")
        return b"" if special else symbol
