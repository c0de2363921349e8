"""What the API shows of the server that it belongs to, and the interface by which it gets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

PartName = Literal["tts", "vad", "asr", "agent", "vision", "tools", "database"]
"""What can be tried alone."""

LevelName = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


class CheckBusy(Exception):
    """A trial of all parts runs already."""


class CheckEnded(Exception):
    """The trial was ended, because the server stops."""


class ServerFacts(BaseModel):
    """What does not change while the server runs, and since when it does."""

    ota_url: str
    language: str
    access: str
    mqtt: str
    uptime_s: float
    troubles: dict[str, str]


class Candidate(BaseModel):
    """A provider or a model of a fallback list, or one of several servers of a provider."""

    name: str
    state: str = Field(description="ready, resting, trying, starting or not_started")
    server: str = Field(default="", description="Host and port, where there are several servers.")
    reason: str = Field(default="", description="Of its last failure, in a few words.")
    detail: str = Field(default="", description="Its last failure, where it is known.")
    failures: int = Field(default=0, description="In a row.")
    rests_until: int | None = Field(
        default=None, description="Milliseconds since 1970; then the next turn tries it again."
    )
    served: int | None = None
    failed: int | None = None
    pending: int | None = Field(default=None, description="Uses under way, of one of several.")
    servers: list[Candidate] = Field(default_factory=list)


class ProviderPart(BaseModel):
    """A provider in use."""

    kind: str = Field(description="vad, asr, agent, tts or vision")
    name: str
    state: str = Field(description="ready, loading or failed")
    reason: str = Field(default="", description="In a few words.")
    detail: str = Field(default="", description="What is wrong, in one line.")
    default: bool = Field(description="Of the default profile; else of profiles of devices.")
    users: int = Field(description="How many sessions and profiles hold it.")
    candidates: list[Candidate] = Field(
        description="Of a fallback list, or of several servers, in their order; else empty."
    )


class ToolPart(BaseModel):
    """A tool."""

    name: str
    description: str


class FaultPart(BaseModel):
    """What of a source does not work."""

    place: str
    reason: str


class SourcePart(BaseModel):
    """A source of tools."""

    name: str
    type: str = Field(description="builtin, local, rest, openapi, mcp, a2a, broker, ...")
    state: str = Field(description="ready, loading or failed")
    faults: list[FaultPart]
    tools: list[ToolPart]


class PartList(BaseModel):
    """The parts of the server, as one of its processes knows them."""

    process: int = Field(description="Its id in the system.")
    providers: list[ProviderPart]
    sources: list[SourcePart]


class TriedPart(BaseModel):
    """What became of a part that was used once."""

    part: str = Field(description="As in the settings: `tts`, `tts[1]`, `tools.NAME`, ...")
    name: str
    ok: bool
    ms: int | None = Field(description="All of it, without loading; null: it was not over.")
    first_ms: int | None = Field(description="To the first words or sounds.")
    detail: str = Field(description="What came of it, or what is wrong and what to do.")


class Load(BaseModel):
    """One sample for each interval, oldest first; all lists have one length."""

    interval_s: int
    processes: int
    at: list[int] = Field(description="The end of each interval, milliseconds since 1970.")
    connected: list[int] = Field(description="Devices.")
    turns: list[int] = Field(description="Begun in the interval.")
    failures: list[int] = Field(
        description="Turns of the interval that failed, or whose tool failed."
    )
    not_understood: list[int] = Field(description="Turns of the interval.")
    lag_ms: list[float] = Field(description="By how much the event loop is late; the worst.")
    rss_bytes: list[int] = Field(description="Memory; 0: not known on this system.")
    cpu: list[float] = Field(description="Cores in use; 1 is a whole one.")


class LogLine(BaseModel):
    """A line of the log."""

    id: int = Field(description="Microseconds since 1970; rises within a process.")
    at: int = Field(description="Milliseconds since 1970.")
    process: str = Field(description="Its number, or its node's name; 1 where there is one.")
    level: str
    logger: str
    message: str
    fields: dict[str, Any]


class LogTail(BaseModel):
    """The last lines, oldest first."""

    lines: list[LogLine]
    next: int = Field(description="`after` of the next request.")
    withheld: int = Field(
        description="Lines with private content that were left out since the start."
    )


class SettingsInForce(BaseModel):
    """The settings, with all defaults; `***` stands for a value that is not shown."""

    settings: dict[str, Any]
    sources: dict[str, Literal["file", "console", "environment", "program"]] = Field(
        description="By key path, for what is no default; console: set in the browser; "
        "program: also the command line."
    )
    file: str = Field(description="The path of the settings file; empty: there is none.")


class ServerView(Protocol):
    """The server as its operator sees it. What is not async returns at once."""

    def begin(self) -> None:
        """Begin to take samples; the ports are open."""

    async def close(self) -> None:
        """End all tasks. Idempotent."""

    def facts(self) -> ServerFacts:
        """Return what a banner needs."""
        ...

    def parts(self) -> PartList:
        """Return all parts, from what is known already."""
        ...

    async def settings(self) -> SettingsInForce:
        """Return the settings in force, without secrets."""
        ...

    async def check(self, part: PartName | None) -> Sequence[TriedPart]:
        """Use each part once, or one. Bounded. Raises CheckBusy, CheckEnded."""
        ...

    async def load(self, minutes: int) -> Load:
        """Return the samples of the last minutes, of all processes together."""
        ...

    async def log(self, after: int, level: LevelName, limit: int) -> LogTail:
        """Return the last lines of all processes."""
        ...
