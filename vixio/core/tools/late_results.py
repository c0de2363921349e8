"""The work of one session's tools that goes on after their turns, and the delivery of its results.

Counters: ``tool.late.started``, ``.delivered`` (heard, at least in part), ``.failed`` (the work),
``.lost`` (the session ended first, or there was no voice), ``.refused`` (too many at once).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from dataclasses import dataclass, replace

from vixio.core.errors import ToolError
from vixio.core.history import ToolCallItem, ToolResultItem
from vixio.core.messages import message
from vixio.core.metrics import Counters
from vixio.core.session.speech import SpeechOutcome
from vixio.core.tools.function import to_result
from vixio.core.tools.late import LATE_CALL, Deferred, LateDelivery
from vixio.core.tools.types import ToolCallResult, ToolDefinition

MAX_WORKING = 8
"""Deferred calls of one session at the same time; further ones are refused."""

CLOSE_TIMEOUT = 5.0
"""Seconds that cancelled work gets for its clean-up."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LateCall:
    """The call that was deferred. ``arguments``: JSON."""

    tool: ToolDefinition
    arguments: str
    call_id: str
    language: str


class LateResults:
    """Runs deferred work until the session is closed.

    ``deliver``: set by the session; without one, a call waits for its work.
    """

    def __init__(self, counters: Counters) -> None:
        self.deliver: LateDelivery | None = None
        self._counters = counters
        self._working: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def working(self) -> bool:
        """Whether there is work whose result has not been told."""
        return bool(self._working)

    async def accept(self, call: LateCall, deferred: Deferred) -> ToolCallResult:
        """Begin the work and return the acknowledgement; a failure if it cannot begin."""
        refusal = self._refusal(call)
        if refusal is not None:
            discard(deferred)
            return ToolCallResult.failure(refusal, call.call_id)
        if self.deliver is None:
            limit = min(deferred.timeout, call.tool.options.timeout)
            return await finish(replace(deferred, timeout=limit), call.tool.name)
        self._counters.add("tool.late.started")
        task = asyncio.create_task(self._work(call, deferred), name=f"late {call.tool.name}")
        self._working.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._working.discard(task)
            discard(deferred)  # for a task that was cancelled before its first step
            if task.cancelled():
                self._lost(call)

        task.add_done_callback(ended)
        text = deferred.acknowledgement.strip() or message("late_started", call.language)
        return ToolCallResult(call.call_id, success=True, result=text)

    async def close(self) -> None:
        """Cancel all work, and wait for a bounded time until it has ended. Idempotent."""
        self._closed = True
        working = tuple(self._working)
        for task in working:
            task.cancel()
        if working:
            await asyncio.wait(working, timeout=CLOSE_TIMEOUT)

    def _refusal(self, call: LateCall) -> ToolError | None:
        if call.tool.options.read_only:
            # Such a call may belong to a turn that is given up before it has any effect.
            return ToolError("failed", "a read_only tool cannot defer its result")
        if self._closed:
            return ToolError("disconnected", "the session is over")
        if len(self._working) >= MAX_WORKING:
            self._counters.add("tool.late.refused")
            message = f"{MAX_WORKING} such calls are still at work; try again when one is done"
            return ToolError("busy", message)
        return None

    async def _work(self, call: LateCall, deferred: Deferred) -> None:
        result = await finish(deferred, call.tool.name)
        if not result.success:
            self._counters.add("tool.late.failed")
        outcome = await self._say(call, result)
        if outcome.heard:
            self._counters.add("tool.late.delivered")
        else:
            self._lost(call)

    async def _say(self, call: LateCall, result: ToolCallResult) -> SpeechOutcome:
        assert self.deliver is not None  # noqa: S101 - accept has looked
        limit = call.tool.options.max_result_chars
        words = _words(result.result or "", limit) if result.success else ""
        result = result.capped(limit)
        key = "late_done" if result.success else "late_failed"
        call_id = f"{LATE_CALL}{call.call_id}"
        items = (
            ToolCallItem(call_id, call.tool.alias or call.tool.name, call.arguments),
            ToolResultItem(call_id, result.for_model()),
        )
        handle = self.deliver(words or message(key, call.language), items)
        return await handle.played()

    def _lost(self, call: LateCall) -> None:
        self._counters.add("tool.late.lost")
        _log.info("late tool result not delivered", extra={"tool": call.tool.name})


def _words(text: str, most: int) -> str:
    """Return what of a result can be said: text for people, but no data, which have no language."""
    text = text.strip()
    try:
        value = json.loads(text)
    except ValueError:
        return text if len(text) <= most else f"{text[:most]}…"
    if isinstance(value, str):
        return _words(value, most)
    return "" if isinstance(value, dict | list | bool) or value is None else text


async def finish(deferred: Deferred, tool: str) -> ToolCallResult:
    """Await the work within its time and return its result. Only cancellation is raised."""
    timer = asyncio.timeout(deferred.timeout)
    try:
        async with timer:
            result = to_result(await deferred.work)
    except ToolError as error:
        return ToolCallResult.failure(error)
    except Exception as error:  # noqa: BLE001 - third-party code
        if isinstance(error, TimeoutError) and timer.expired():
            late = f"not done within {deferred.timeout:g} s"
            return ToolCallResult.failure(ToolError("timeout", late))
        _log.warning("deferred tool raised", extra={"tool": tool, "error": type(error).__name__})
        return ToolCallResult.failure(ToolError("failed", f"{type(error).__name__}: {error}"))
    if result.late is not None:
        discard(result.late)
        return ToolCallResult.failure(ToolError("failed", "deferred work deferred its result"))
    return result


def discard(deferred: Deferred) -> None:
    """Give up work that is not going to be awaited."""
    if inspect.iscoroutine(deferred.work):
        deferred.work.close()
    elif isinstance(deferred.work, asyncio.Future):
        deferred.work.cancel()
