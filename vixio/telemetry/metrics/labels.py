"""Values of labels, held to a bounded number: each makes another time series for good."""

from __future__ import annotations

from typing import Final

OTHER: Final = "other"
"""Takes the place of values over the limit."""

MAX_VALUES: Final = 64
"""Per label. Providers, models and sources of tools that one server's settings name are fewer."""

MAX_CHARS: Final = 100


class Bounded:
    """Lets the first ``limit`` different values through."""

    def __init__(self, limit: int = MAX_VALUES) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """Return ``value``, or :data:`OTHER`."""
        value = value[:MAX_CHARS]
        if value not in self._known:
            if len(self._known) >= self._limit:
                return OTHER
            self._known.add(value)
        return value
