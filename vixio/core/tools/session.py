"""The tools of one session, and of one of its turns."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vixio.core.chunk import Chunk, TextDelta
from vixio.core.device import DeviceProfile
from vixio.core.errors import ToolError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.arguments import read_arguments
from vixio.core.tools.confirm import Confirmations
from vixio.core.tools.context import ToolContext
from vixio.core.tools.late import LateDelivery, Play
from vixio.core.tools.late_results import LateCall, LateResults
from vixio.core.tools.limits import Limits
from vixio.core.tools.source import is_scoped
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition

if TYPE_CHECKING:
    from vixio.core.tools.runtime import ToolRuntime

CLOSE_TIMEOUT = 5.0
"""Seconds that a stateful tool gets for its ``close`` when the session ends."""

NOT_PLAYED: Final = (
    "the audio is not played: the operator has to switch on tools.media, with its links"
)

_log = logging.getLogger(__name__)


class SessionTools:
    """The tools of one session; :meth:`~vixio.core.tools.runtime.ToolRuntime.open` makes them.

    ``toolset``: what the session can call; only what its device may use.
    """

    def __init__(
        self, runtime: ToolRuntime, device_id: str, session_id: str, profile: DeviceProfile
    ) -> None:
        self.runtime = runtime
        self.device_id = device_id
        self.session_id = session_id
        self.user, self.person, self.place = profile.user, profile.person, profile.place
        self.profile = profile.assigned
        self._served = profile
        self.policy = runtime.settings.policy.for_profile(profile.tools)
        self.toolset = ToolSet(self._offered, runtime.renamed)
        self.confirmations = Confirmations()
        self.device_limits = Limits(runtime.settings.source_concurrency)
        self.late = LateResults(runtime.counters)
        self.play: Play | None = None
        """How sounds are played here; None: there is no loudspeaker."""
        self._instances: dict[object, asyncio.Future[object]] = {}
        self._made: list[object] = []
        self._closed = False

    def begin_turn(
        self,
        turn_id: int,
        language: str,
        emit: Callable[[Chunk], None] | None = None,
        may_act: Callable[[], Awaitable[None]] | None = None,
    ) -> TurnTools:
        """Return the tools of a new turn. This alone has no effect.

        ``emit`` takes what tools say and show meanwhile; it is called from any thread. ``may_act``
        is awaited before any tool that is not read-only; it raises ToolError if that must not run.
        """
        return TurnTools(self, turn_id, language, emit, may_act)

    def reconfigure(self, profile: DeviceProfile) -> None:
        """Follow the user, the tool policy and the sources of another profile, from the next turn
        on."""
        self.user, self.person, self.place = profile.user, profile.person, profile.place
        self.profile = profile.assigned
        self._served = profile
        self.policy = self.runtime.settings.policy.for_profile(profile.tools)
        self.toolset.replace_scoped({})  # before others of the same names come
        self.toolset.change_overlay(self._offered)
        self.toolset.replace_scoped(self.runtime.scoped(self.device_id, self.profile))

    def _offered(self, tool: ToolDefinition) -> ToolDefinition | None:
        """Return a tool as the session has it; None: it has not."""
        if tool.for_profile is not None:
            found = tool.for_profile(tool, self._served)
            return None if found is None else self.policy(found)
        return self.policy(tool)

    def has(self, tool: ToolDefinition) -> bool:
        """Whether a tool is still the session's: one of a source with a scope may have gone."""
        if not is_scoped(tool.source):
            return True
        return any(each.name == tool.name for each in self.toolset.source(tool.source))

    def hear(self, turn_id: int, text: str, *, asked: bool) -> None:
        """Take what the user says in a turn; it may be the consent to a pending call."""
        agreed = self.confirmations.hear(turn_id, text, asked=asked)
        if agreed is not None:
            self.runtime.counters.add(f"tool.confirm.{'agreed' if agreed else 'cancelled'}")

    @property
    def awaits_consent(self) -> bool:
        """Whether a call waits for the user's yes."""
        return self.confirmations.waiting

    @property
    def working(self) -> bool:
        """Whether deferred work goes on, or its result waits to be told."""
        return self.late.working

    def withdraw(self) -> None:
        """Drop a question that waits for the user's yes: a yes may now be meant for other words."""
        if self.confirmations.withdraw():
            self.runtime.counters.add("tool.confirm.cancelled")

    def deliver_by(self, delivery: LateDelivery) -> None:
        """Deliver late results by ``delivery``; without it, deferred calls wait for their work."""
        self.late.deliver = delivery

    async def call_device(
        self, tool_name: str, arguments: JsonObject, context: ToolContext
    ) -> ToolCallResult:
        """Call a tool of this session's device for another tool."""
        tools = self.toolset.source(DEVICE_SOURCE)
        tool = next((tool for tool in tools if tool.name == tool_name), None)
        if tool is None:
            return ToolCallResult.failure(ToolError("not_found", f"the device has no {tool_name}"))
        if tool.options.confirm:
            # The user was not asked about this one.
            return ToolCallResult.failure(ToolError("denied", f"{tool_name} needs the user's yes"))
        return await self.runtime.run_checked(self, tool, arguments, context)

    def speaker(self) -> Play:
        """Return how sounds are played in this session. Raises ToolError."""
        if self.play is None or self._closed:
            raise ToolError("no_device", "there is no loudspeaker here that could play it")
        return self.play

    async def instance(self, make: Callable[[ToolContext], object], context: ToolContext) -> object:
        """Return the session's own result of ``make``, made at the first call."""
        if self._closed:
            raise ToolError("disconnected", "the session is over")
        known = self._instances.get(make)
        if known is None or (known.done() and (known.cancelled() or known.exception())):
            making = self._make(make, context.without_turn())
            known = self._instances[make] = asyncio.ensure_future(making)
        return await asyncio.shield(known)

    async def _make(self, make: Callable[[ToolContext], object], context: ToolContext) -> object:
        made = make(context)
        if inspect.isawaitable(made):
            made = await made
        self._made.append(made)
        return made

    async def close(self) -> None:
        """Close the session's stateful tools, the newest first. Idempotent."""
        self._closed = True
        self.runtime.forget(self)
        await self.late.close()
        await cancel_and_wait(*self._instances.values())
        self._instances.clear()
        made, self._made = self._made, []
        for instance in reversed(made):
            await _close(instance)


class TurnTools:
    """The tools of one turn: a :class:`~vixio.core.tools.runner.ToolRunner` that knows what the
    user said."""

    def __init__(
        self,
        session: SessionTools,
        turn_id: int,
        language: str,
        emit: Callable[[Chunk], None] | None,
        may_act: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._session = session
        self._may_act = may_act
        self._context = ToolContext(
            device_id=session.device_id,
            session_id=session.session_id,
            user=session.user,
            person=session.person,
            place=session.place,
            language=language,
            turn_id=turn_id,
            emit=emit,
            session=session,
        )

    def hear(self, text: str, *, asked: bool) -> None:
        """Take the user's words of this turn, before any tool that needs consent is run.

        This is where a yes or no to a pending call is heard; nothing else can confirm. Not called
        for words that are not the user's own. ``asked``: the user heard the assistant's words
        before, at least in part.
        """
        self._session.hear(self._context.turn_id, text, asked=asked)

    async def run(self, tool: ToolDefinition, arguments: str, call_id: str = "") -> ToolCallResult:
        """Run a call of the model: checked, confirmed where it must be, limited, counted."""
        session = self._session
        if self._may_act is not None and (not tool.options.read_only or tool.may_ask):
            try:
                await self._may_act()
            except ToolError as error:
                return ToolCallResult.failure(error, call_id)
        began = time.perf_counter()
        try:
            if not session.policy.permits(tool):
                raise ToolError("denied", f"{tool.name} must not be used here")
            if not session.has(tool):
                raise ToolError("not_found", f"{tool.name} is not there any more")
            parsed = read_arguments(tool, arguments, lambda: session.runtime.repaired(tool))
            if tool.needs_yes(parsed):
                session.confirmations.check(tool, parsed, self._context.turn_id)
        except ToolError as error:
            session.runtime.count(tool, error.type, time.perf_counter() - began)
            return ToolCallResult.failure(error, call_id)
        voice = _Voice(self._context)
        try:
            result = await session.runtime.run_checked(
                session, tool, parsed, voice.context, call_id
            )
        finally:
            voice.end()
        if result.sounds:
            return await self._played(tool, result)
        if result.late is None:
            return result
        written = json.dumps(parsed, ensure_ascii=False)
        call = LateCall(tool, written, call_id, self._context.language)
        return await session.late.accept(call, result.late)

    async def _played(self, tool: ToolDefinition, result: ToolCallResult) -> ToolCallResult:
        """Have the audio of a result played, and return the result with what becomes of it."""
        tools = self._session.toolset.definitions()
        play = next((each.plays for each in tools if each.plays and not each.may_ask), None)
        told = NOT_PLAYED
        if play is not None:
            name = tool.name.replace("_", " ")
            sounds = [replace(each, title=each.title or name) for each in result.sounds]
            try:
                if self._may_act is not None:
                    await self._may_act()
                told = await play(sounds, self._context)
            except ToolError as error:
                told = f"the audio is not played: {error}"
        return replace(result, result=f"{result.result or ''}\n[{told}]".lstrip(), sounds=())


class _Voice:
    """What one call says. ``context``: for the call."""

    def __init__(self, context: ToolContext) -> None:
        self._turn = context
        self._open = False
        self.context = context if context.emit is None else replace(context, emit=self._emit)

    def _emit(self, chunk: Chunk) -> None:
        if isinstance(chunk, TextDelta):
            self._open = not chunk.complete
        if self._turn.emit is not None:
            self._turn.emit(chunk)

    def end(self) -> None:
        """Complete the running text: what follows it is another sentence."""
        if self._open and self._turn.emit is not None:
            self._turn.emit(TextDelta(self._turn.turn_id, " ", complete=True))


async def _close(instance: object) -> None:
    close = getattr(instance, "close", None)
    if close is None:
        return
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT):
            if inspect.iscoroutinefunction(close):
                await close()
            else:
                await asyncio.to_thread(close)
    except Exception as error:  # noqa: BLE001 - third-party code; the others are closed too
        _log.warning(
            "stateful tool did not close",
            extra={"tool": type(instance).__name__, "error": type(error).__name__},
        )
