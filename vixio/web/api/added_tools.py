"""What the API does with tools that people add. Cheap to import."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field


class PasteMistake(BaseModel):
    """What is wrong with a paste, and what to do."""

    message: str
    line: int = Field(description="From 1; 0: of no place.")
    column: int


class ToolListed(BaseModel):
    """A tool of a source."""

    name: str
    description: str


class SourceTried(BaseModel):
    """A source of a paste, after it was started once."""

    name: str
    type: str = Field(description="mcp, openapi or a2a.")
    target: str = Field(description="Its program, or its host.")
    line: int = Field(description="Of the paste; 0: it is an address.")
    ok: bool
    problem: str = Field(description="Why it cannot be used.")
    tools: list[ToolListed]
    called: str = Field(description="The tool that was called; empty: none that does no harm.")
    answer: str = Field(description="Of that tool, at most 500 characters.")
    ms: int


class SourceAdded(BaseModel):
    """A source that was added."""

    name: str
    type: str
    target: str
    profile: str = Field(description="The profile that it is for; empty: all devices.")
    state: str = Field(description="ok, starting or failed, in the process that answers.")
    problem: str
    tools: list[ToolListed]


class PasteRefused(Exception):
    """A paste has mistakes."""

    def __init__(self, mistakes: Sequence[PasteMistake]) -> None:
        super().__init__("; ".join(each.message for each in mistakes))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Given:
    """What a person pastes. ``tool``, ``arguments``: what to call in a trial."""

    text: str
    headers: Mapping[str, str]
    profile: str
    tool: str = ""
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ToolAdding:
    """What is done with tools that people add for a profile, or for all devices.

    ``listed`` returns them, and whether programs may be added here. ``try_out`` starts each source
    of a paste once. ``add`` stores them for the profile; the last argument is the actor. ``remove``
    takes a name, a profile and the actor. They raise PasteRefused, NotNow, RegistryError.
    """

    listed: Callable[[], Awaitable[tuple[list[SourceAdded], bool]]]
    try_out: Callable[[Given], Awaitable[list[SourceTried]]]
    add: Callable[[Given, str], Awaitable[list[str]]]
    remove: Callable[[str, str, str], Awaitable[None]]
