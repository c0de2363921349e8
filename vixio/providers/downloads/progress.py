"""How far a command on a model is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["waiting", "asking", "downloading", "copying", "unpacking", "checking", "trouble"]


@dataclass(frozen=True, slots=True)
class Progress:
    """``waiting``: for another command; ``asking``: a hub about its files; ``trouble``: a source
    failed, ``text`` says why, and the next one is tried. ``done`` and ``total`` are bytes.
    """

    model: str
    stage: Stage
    done: int = 0
    total: int = 0
    text: str = ""
    """The host, the file or the trouble."""


Report = Callable[[Progress], None]
"""Called in the event loop, many times a second."""


def ignore(_: Progress) -> None:
    """Report nothing."""
