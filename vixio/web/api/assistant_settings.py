"""What the API does with settings that are changed in the browser. Cheap to import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel, Field

from vixio.core.errors import VixioError
from vixio.web.api.server_view import TriedPart

NOT_STARTED: Final = "not_started"


class Mistaken(Exception):
    """What was sent is not valid. ``mistakes``: paths and messages; ``reason``: NOT_STARTED where
    parts of it do not start, and it can be saved all the same."""

    def __init__(self, mistakes: Sequence[tuple[str, str]], reason: str = "") -> None:
        super().__init__("; ".join(": ".join(filter(None, each)) for each in mistakes))
        self.mistakes = mistakes
        self.reason = reason


class NotNow(VixioError):
    """It cannot be done in the present state. The message says why."""


class Unusable(Exception):
    """A server does not list its models. ``reason``: a key such as ``no_key``."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


SERVERS: Final = "mcp_servers."
"""In front of the name of a server of tools, as a part."""

TOOLS: Final = "tools."
"""In front of ``ready.NAME`` and ``media``, as a part."""


class AssistantState(BaseModel):
    """The settings that are changed in the browser, and those in force."""

    content: dict[str, Any] = Field(description="What was saved here; secrets are `***`.")
    in_force: dict[str, Any] = Field(description="The same sections as they are used, masked.")
    fixed: dict[str, str] = Field(description="What the settings file has: path, file and line.")
    editable: bool
    why_not: str = Field(description="Why it is not editable.")
    problem: str = Field(description="What is wrong with the file, which is not in force then.")
    set_up: bool = Field(description="Something was saved, or the file has asr, agent or tts.")
    can_undo: bool
    changed_at: int | None = Field(description="Milliseconds since 1970; null: never.")


class KnownTag(BaseModel):
    """A language."""

    tag: str
    name: str = Field(description="In that language.")


class PartChoice(BaseModel):
    """A recogniser or a voice."""

    name: str
    section: Any = Field(description="Of the settings; null: that of the service.")
    wait_s: float = Field(description="What it adds to a turn on this machine.")
    installed: bool
    can_install: bool
    remedy: str = Field(description="What a person has to do where it cannot be installed here.")


class ServiceChoice(BaseModel):
    """A service of language models."""

    name: str
    title: str
    base_url: str = Field(description="Empty: OpenAI's own.")
    needs_key: bool
    key_known: bool = Field(description="Then `***` stands for it.")
    model: str = Field(description="What is proposed.")
    agent: dict[str, Any] = Field(description="The section without model and key.")
    asr: dict[str, Any] | None = Field(description="Likewise, without key.")
    tts: dict[str, Any] | None


class Choices(BaseModel):
    """What the guide can offer."""

    language: str
    languages: list[KnownTag]
    pause_s: float = Field(description="Waited for behind the last word.")
    limit_s: float = Field(description="From the last word to the first sound of an answer.")
    ears: list[PartChoice]
    voices: list[PartChoice]
    services: list[ServiceChoice]
    phrasebook: bool = Field(description="Whether the phrase book has phrases in it.")
    preferred: dict[str, str] = Field(description="A name for asr, and one for tts.")
    home_assistant: dict[str, str]
    missing: dict[str, str] = Field(
        description="What installs the library of a ready tool, or of `media`, that has none."
    )
    programs: bool = Field(
        description="Whether folders of the server and addresses of its private network may be "
        "given here (`api.programs`)."
    )


class Models(BaseModel):
    """What a server of language models offers."""

    models: list[str] | None = Field(description="null: it does not say, but it answers.")
    ms: int


class PartTrial(TriedPart):
    """What became of a part that was used once with settings that are not saved."""

    tools: list[str] = Field(description="Names, of a server of tools.")
    sound: str = Field(description="What a voice has said: a WAV file, in base64.")


class Installation(BaseModel):
    """The last installation."""

    state: Literal["idle", "running", "done", "failed"] = "idle"
    names: list[str] = []
    seconds: float = 0.0
    line: str = Field(default="", description="The last line of its output.")
    error: str = ""


class AssistantSettingsPort(Protocol):
    """The settings that are changed in the browser."""

    async def show(self) -> AssistantState:
        """Return what was saved and what is in force."""
        ...

    async def save(
        self, content: dict[str, Any], seen: int | None, *, anyway: bool
    ) -> Sequence[str]:
        """Save and apply a content; return the names of the sections that changed.

        ``seen``: the ``changed_at`` that it was made from. ``anyway``: also with parts that do not
        start. Raises Mistaken, NotNow.
        """
        ...

    async def undo(self) -> Sequence[str]:
        """Apply what was saved before. Raises Mistaken, NotNow."""
        ...

    async def choices(self, language: str) -> Choices:
        """Return what the guide can offer for a language; empty: that of the assistant."""
        ...

    async def models(self, base_url: str, key: str) -> Models:
        """Return the models of a server. Raises Unusable, NotNow."""
        ...

    async def try_part(self, part: str, content: dict[str, Any]) -> PartTrial:
        """Use a part once with a content that is not saved. Raises Mistaken, NotNow."""
        ...

    async def install(self, names: Sequence[str]) -> Installation:
        """Begin to install choices. Raises Mistaken, NotNow."""
        ...

    async def installation(self) -> Installation:
        """Return how the last installation is."""
        ...

    async def close(self) -> None:
        """End what is under way. Idempotent."""
        ...
