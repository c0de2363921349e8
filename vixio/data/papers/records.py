"""Documents and their passages, as they are kept and as they are found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vixio.core.errors import VixioError
from vixio.core.facts import person_owner

EVERYBODY: Final = ""
"""The owner of documents that all devices may search."""

PROFILE: Final = "profile/"


class PaperError(VixioError):
    """A document that cannot be read, kept or found. One line, with the remedy."""


class State(StrEnum):
    """Of a document."""

    READING = "reading"
    """Not all of its passages are kept yet."""
    READY = "ready"
    FAILED = "failed"
    """It cannot be read; ``problem`` says why."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document. ``page``: from 1 on; 0: it has no pages. ``words``: what it is found
    by, those of its heading and of its text."""

    page: int
    heading: str
    text: str
    words: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Paper:
    """A document. ``origin``: its path in a folder, or the address of a web page; empty: it was
    given. ``digest``: SHA-256 of its content; or size and time of a file. Times are milliseconds
    since 1970."""

    id: str
    owner: str
    name: str
    origin: str
    digest: str
    size: int
    pages: int
    passages: int
    state: State
    problem: str
    added_at: int

    @property
    def followed(self) -> bool:
        """Whether it is a file of a folder: it comes again while the file is there."""
        return bool(self.origin) and not is_address(self.origin)


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that answers a question; the best has the highest ``score``."""

    paper_id: str
    document: str
    page: int
    heading: str
    text: str
    score: float


def is_address(origin: str) -> bool:
    """Whether an origin, or what is given to a command, is the address of a web page."""
    return origin.lower().startswith(("http://", "https://"))


def owner_of(*, profile: str = "", person: str = "") -> str:
    """Return the owner of documents: a person by id, or a profile by name, or everybody."""
    if person:
        return person_owner(person)
    return f"{PROFILE}{profile}" if profile else EVERYBODY
