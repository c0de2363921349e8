"""Tools without an agent framework: definition, call, result. Providers convert them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from vixio.core.errors import ToolError
from vixio.core.tools.late import Deferred
from vixio.core.well_formed import well_formed

if TYPE_CHECKING:
    from vixio.core.device import DeviceProfile
    from vixio.core.tools.context import ToolContext

JsonObject = dict[str, Any]

SPOKEN_NOTE = "[already spoken to the user]"
"""Stands before a result that the user has heard, so that the model does not repeat it."""

ASKS_NOTE = "[a question for the user: call this tool again with their answer]"
"""Stands before the question of a tool that waits for what the user says to it."""

USERS_WORDS = "What to ask or tell the agent, in words, with all that it has to know."
"""The description of an argument that may be the user's sentence as it is: the phrase book fills it
so, a language model words it."""

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How a tool is run.

    ``timeout``: seconds for one try. ``retries``: further tries after a retryable failure, the
    first after ``backoff`` seconds, doubled each time; only for ``idempotent`` tools.
    ``max_result_chars``: longer results are cut for the model. ``confirm``: runs only after the
    user has said yes. ``concurrency``: concurrent calls, 0 for no limit. ``read_only``: has no
    effect besides its answer, so it may run before it is certain that the turn takes place.
    """

    timeout: float = 30.0
    retries: int = 0
    idempotent: bool = False
    max_result_chars: int = 16_000
    backoff: float = 0.2
    confirm: bool = False
    concurrency: int = 0
    read_only: bool = False


ForProfile = Callable[["ToolDefinition", "DeviceProfile"], "ToolDefinition | None"]

PlaySounds = Callable[[Sequence["SoundPart"], "ToolContext"], Awaitable[str]]
"""Plays what a tool has returned; gives what the model is told. Raises ToolError."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolDefinition:
    """A tool: its name at its source, its description and its full JSON Schema.

    ``caller`` executes it: the device's client, an MCP client, a
    :class:`~vixio.core.tools.function.FunctionCaller` around a local function, …
    ``source`` says where it comes from: ``device``, ``local``, an MCP server's name, …
    ``alias`` is the name that the model sees (``[A-Za-z0-9_-]{1,64}``); a
    :class:`~vixio.core.tools.toolset.ToolSet` assigns it, unique in the session.
    ``needs``: names of the device's own tools without which this one is not offered.
    ``for_profile``: returns it as a profile's devices have it; None: they do not have it.
    ``asks``: whether a call (name, arguments) needs the user's yes, where ``options.confirm`` does
    not ask for every one. ``phrases_only``: for the phrase book; a language model has other tools
    for the same. ``plays``: plays the audio that any tool of the session returns.

    A text parameter may list what users say for it, in groups that a phrase book's template names:
    ``"x-words": {"light": ["Ceiling Lamp"]}``. Other words are allowed.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(EMPTY_SCHEMA))
    source: str = "local"
    options: ToolOptions = ToolOptions()
    caller: ToolCaller | None = None
    alias: str = ""
    needs: tuple[str, ...] = ()
    for_profile: ForProfile | None = None
    asks: Callable[[str, JsonObject], bool] | None = None
    phrases_only: bool = False
    plays: PlaySounds | None = None

    def needs_yes(self, arguments: JsonObject) -> bool:
        """Return whether a call with these arguments runs only after the user's yes."""
        asked = self.asks is not None and self.asks(self.name, arguments)
        return asked or self.options.confirm

    @property
    def may_ask(self) -> bool:
        """Whether some call of it runs only after the user's yes."""
        return self.asks is not None or self.options.confirm


def own_words(schema: Mapping[str, Any], groups: Sequence[str] | None = None) -> list[str]:
    """Return the words that a parameter's schema lists for its values (``x-words``).

    ``groups``: only of these; None: all.
    """
    listed = schema.get("x-words")
    if not isinstance(listed, Mapping):
        return []
    chosen = listed if groups is None else [group for group in groups if group in listed]
    words = [word for group in chosen if isinstance(listed[group], list) for word in listed[group]]
    return list(dict.fromkeys(word for word in words if isinstance(word, str)))


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A call made by the model, its arguments parsed."""

    tool_name: str
    arguments: JsonObject
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a tool's answer: base64 ``data`` of ``mime_type``."""

    data: str
    mime_type: str

    @property
    def url(self) -> str:
        """The image as a ``data:`` URL (RFC 2397)."""
        return f"data:{self.mime_type};base64,{self.data}"


@dataclass(frozen=True, slots=True)
class SoundPart:
    """Audio in a tool's answer: base64 ``data`` of ``mime_type``, or the ``address`` of it."""

    mime_type: str
    data: str = field(default="", repr=False)
    address: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """A tool's answer: ``result`` when it succeeded, else ``error`` and its class.

    ``error_type``, ``retryable`` and ``retry_after`` as in :class:`~vixio.core.errors.ToolError`.
    ``late``: work that gives the result later; the runtime replaces it with an acknowledgement.
    ``spoken``: the user hears the result already, by ``ToolContext.stream``. ``asks``: the result
    is a question, and the tool goes on when it is called with the user's answer.
    """

    call_id: str
    success: bool
    result: str | None = None
    error: str | None = None
    error_type: str = ""
    retryable: bool = False
    retry_after: float = 0.0
    images: tuple[ImagePart, ...] = ()
    sounds: tuple[SoundPart, ...] = ()
    late: Deferred | None = None
    spoken: bool = False
    asks: bool = False

    @classmethod
    def failure(cls, error: ToolError, call_id: str = "") -> ToolCallResult:
        """Return ``error`` as a result."""
        return cls(
            call_id,
            success=False,
            error=str(error),
            error_type=error.type,
            retryable=error.retryable,
            retry_after=error.retry_after,
        )

    def capped(self, max_chars: int) -> ToolCallResult:
        """Return it with at most ``max_chars`` of result; a note gives the full length."""
        text = self.result or ""
        if len(text) <= max_chars:
            return self
        return replace(self, result=f"{text[:max_chars]}… [cut: {len(text)} characters in all]")

    def for_model(self) -> str:
        """Return the text for the model: the result, or a structured error as JSON."""
        if self.success:
            # Model APIs reject every request that contains half a surrogate pair.
            text = well_formed(self.result or "")
            notes = f"{SPOKEN_NOTE} " * self.spoken + f"{ASKS_NOTE} " * self.asks
            return f"{notes}{text}".rstrip() if notes else text
        error = {
            "type": self.error_type or "failed",
            "message": (self.error or "the tool failed")[:2_000],
            "retryable": self.retryable,
        }
        return json.dumps({"error": error}, ensure_ascii=False)

    def in_words(self) -> str:
        """Return the text for a model that cannot see the images: they are only mentioned."""
        text = self.for_model()
        if not self.images:
            return text
        kinds = ", ".join(image.mime_type for image in self.images)
        return f"{text}\n[the tool also returned images that you cannot see: {kinds}]".strip()


class ToolCaller(Protocol):
    """Executes tools, by their names at the source.

    One whose attribute ``keeps_time`` is true ends each call within its ``timeout`` by itself; a
    call of any other is cancelled a little later.
    """

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Run a tool with checked arguments and return its answer.

        A failure is a result, or a raised :class:`~vixio.core.errors.ToolError`. Cancellation ends
        the call at the source too, where that is possible. ``timeout``: seconds, None for the
        caller's default. ``context``: the conversation that the call belongs to.
        """
        ...
