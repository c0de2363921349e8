"""The tools that a caller brings along: a call is handed to it, and its result awaited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from vixio.core.errors import ToolError
from vixio.core.strict_json import depth_of
from vixio.core.tools.context import ToolContext
from vixio.core.tools.toolset import CLIENT_SOURCE
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition, ToolOptions
from vixio.core.well_formed import well_formed
from vixio.web.a2a.incoming import OfferedTool
from vixio.web.a2a.json_input import MAX_DEPTH
from vixio.web.a2a.results import Result

MAX_ARGUMENTS_BYTES: Final = 256 * 1024
"""Of one call, as JSON."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the caller is to make. ``arguments``: JSON text, exact."""

    id: str
    name: str
    arguments: str
    parsed: JsonObject


class PendingCalls:
    """The calls of one turn that wait for their results.

    ``changed`` is called when one begins or ends to wait.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._waiting: dict[str, tuple[Call, asyncio.Future[Result]]] = {}
        self.begun = 0
        """How many have begun to wait."""
        self.ended = 0

    @property
    def waiting(self) -> Sequence[Call]:
        """Those without a result, oldest first."""
        return [call for call, future in self._waiting.values() if not future.done()]

    async def wait(self, name: str, arguments: JsonObject, seconds: float) -> Result:
        """Wait for the result of a new call. Raises ToolError."""
        encoded = well_formed(json.dumps(arguments, ensure_ascii=False)).encode()
        if len(encoded) > MAX_ARGUMENTS_BYTES or depth_of(arguments) > MAX_DEPTH:
            raise ToolError("invalid_arguments", "the arguments are too large", retryable=True)
        text = encoded.decode()
        call = Call(f"call_{uuid4().hex[:16]}", name, text, json.loads(text))
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting[call.id] = call, future
        self.begun += 1
        self._changed()
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            message = f"the caller sent no result within {seconds:g} s"
            raise ToolError("timeout", message) from None
        finally:
            del self._waiting[call.id]
            self.ended += 1
            self._changed()

    def resolve(self, results: Iterable[Result]) -> int:
        """Hand results to the calls that wait for them; return how many nobody waits for."""
        unknown = 0
        for result in results:
            call_id = self._call_of(result)
            if call_id:
                self._waiting[call_id][1].set_result(result)
            else:
                unknown += 1
        return unknown

    def wait_for(self, results: Iterable[Result]) -> bool:
        """Whether a call waits for one of ``results``."""
        return any(self._call_of(result) for result in results)

    def resolve_all(self, text: str) -> None:
        """Take ``text`` as the result of each call that waits."""
        for call_id, (_, future) in self._waiting.items():
            if not future.done():
                future.set_result(Result(call_id, text))

    def _call_of(self, result: Result) -> str:
        """Return the id of the call that a result settles; empty: of none."""
        if result.call_id:
            known = (call.id for call in self.waiting if call.id == result.call_id)
        else:
            name = result.name.strip().casefold()
            known = (call.id for call in self.waiting if call.name.casefold() == name)
        return next(known, "")


FindCalls = Callable[[], PendingCalls | None]
"""Returns the pending calls of the turn that calls a tool; None: there is no such turn."""


class ClientToolCaller:
    """Calls the tools of one context (a :class:`~vixio.core.tools.types.ToolCaller`).

    ``seconds``: the longest wait for a result.
    """

    def __init__(self, find: FindCalls, seconds: float) -> None:
        self._find = find
        self._seconds = seconds

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Hand the call to the caller and wait for the result. Raises ToolError."""
        calls = self._find()
        if calls is None:
            raise ToolError("disconnected", "the task is over")
        seconds = min(timeout or self._seconds, self._seconds)
        result = await calls.wait(tool_name, arguments, seconds)
        if result.error:
            return ToolCallResult.failure(
                ToolError("failed", result.content[:2_000] or "it failed")
            )
        return ToolCallResult("", success=True, result=result.content)

    def definitions(self, offer: Iterable[OfferedTool]) -> list[ToolDefinition]:
        """Return offered tools as definitions, which this calls."""
        options = ToolOptions(timeout=self._seconds)
        return [
            ToolDefinition(
                tool.name,
                tool.description,
                tool.parameters,
                source=CLIENT_SOURCE,
                options=options,
                caller=self,
            )
            for tool in offer
        ]


class Announced:
    """Which of the model's calls are the caller's, and whether all of them wait.

    Parallel calls are handed over together. A call that fails its checks never begins to wait:
    its result says so.
    """

    def __init__(self, is_client_tool: Callable[[str], bool]) -> None:
        self._is_client_tool = is_client_tool
        self._open: set[str] = set()
        self._called = 0
        self._returned = 0

    def called(self, call_id: str, name: str) -> None:
        """Take note of a call of the model."""
        if self._is_client_tool(name):
            self._open.add(call_id)
            self._called += 1

    def returned(self, call_id: str) -> None:
        """Take note of its result."""
        if call_id in self._open:
            self._open.discard(call_id)
            self._returned += 1

    def complete(self, calls: PendingCalls) -> bool:
        """Whether each call has begun to wait, or never will."""
        failed = max(0, self._returned - calls.ended)
        return self._called > 0 and calls.begun + failed >= self._called
