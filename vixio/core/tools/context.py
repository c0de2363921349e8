"""The conversation that a tool is called for: what the tool can read and do in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, cast

from vixio.core.chunk import Chunk, Farewell, Notice, TextDelta
from vixio.core.errors import ToolError
from vixio.core.tools.late import Play
from vixio.core.tools.types import JsonObject, ToolCallResult

T = TypeVar("T")


class ToolSession(Protocol):
    """The session behind a context."""

    async def call_device(
        self, tool_name: str, arguments: JsonObject, context: ToolContext
    ) -> ToolCallResult:
        """Call the device's tool of this name."""
        ...

    def speaker(self) -> Play:
        """Return how sounds are played in this session. Raises ToolError."""
        ...

    async def instance(self, make: Callable[[ToolContext], object], context: ToolContext) -> object:
        """Return the session's one result of ``make``, made at first use."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a call. The runtime passes it to the parameter annotated with this class.

    ``user``: name of the device's user, empty if unknown. ``person``: id of the person that the
    device belongs to, empty if it is nobody's; facts are stored by person, else by device.
    ``place``: where the device stands, such as ``Berlin``, empty if its profile says nothing.
    ``language``: of the device's voice (BCP 47). One made without arguments, as in a test, belongs
    to no session, and what is said through it is dropped.
    """

    device_id: str = ""
    session_id: str = ""
    user: str = ""
    person: str = ""
    place: str = ""
    language: str = ""
    turn_id: int = 0
    emit: Callable[[Chunk], None] | None = field(default=None, repr=False, compare=False)
    session: ToolSession | None = field(default=None, repr=False, compare=False)

    def say(self, text: str) -> None:
        """Speak ``text`` now, in the order of the reply. From any thread."""
        if self.emit is not None and text.strip():
            self.emit(TextDelta(self.turn_id, f"{text.strip()} ", complete=True))

    @property
    def can_speak(self) -> bool:
        """Whether what is said through it can be heard: it belongs to a turn."""
        return self.emit is not None

    def stream(self, text: str) -> None:
        """Speak a piece of running text, in the order of the reply. From any thread.

        Pieces join to sentences, each spoken once it is complete; the end of the call, or
        :meth:`say`, completes the last one. The call's result then has ``spoken`` set.
        """
        if self.emit is not None and text:
            self.emit(TextDelta(self.turn_id, text))

    def show(self, text: str) -> None:
        """Show ``text`` on the device's screen, in the order of the reply. From any thread."""
        if self.emit is not None and text.strip():
            self.emit(Notice(self.turn_id, text.strip()))

    def end_conversation(self) -> None:
        """Close the conversation once the reply to this turn has been spoken to its end."""
        if self.emit is not None:
            self.emit(Farewell(self.turn_id))

    async def call_device(self, tool_name: str, /, **arguments: object) -> ToolCallResult:
        """Call a tool of this session's device by its own name, as ``self.lamp.turn_on``.

        A failure is a result; a tool that needs the user's yes is refused.
        """
        if self.session is None:
            return ToolCallResult.failure(ToolError("not_found", "there is no device here"))
        return await self.session.call_device(tool_name, arguments, self)

    def speaker(self) -> Play:
        """Return how sounds are played where this is heard. Raises ToolError.

        It may be kept, and used in a pause; the handle that it returns is over with its sound.
        """
        if self.session is None:
            raise ToolError("no_device", "there is no loudspeaker here that could play it")
        return self.session.speaker()

    async def instance(self, make: Callable[[ToolContext], Awaitable[T] | T]) -> T:
        """Return the session's one result of ``make``, made at first use.

        Its method ``close`` (async or not), if any, is called when the session ends.
        """
        if self.session is None:
            raise ToolError("failed", "a stateful tool needs a session")
        return cast(T, await self.session.instance(make, self))

    def without_turn(self) -> ToolContext:
        """Return the context for work that outlives the turn; nothing can be said through it."""
        return replace(self, turn_id=0, emit=None)
