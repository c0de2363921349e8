"""A tool source whose errors and delays cost its own tools only.

A source may be third-party code. Whatever its methods raise, and whenever they do not return, is
logged once, counted as ``tool.<source>.…`` (all sources of profiles, and of devices, as one) and
kept as a :class:`~vixio.core.tools.source.Fault`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.core.timeouts import Timeouts
from vixio.core.tools.source import Fault, ToolSource
from vixio.core.tools.types import ToolDefinition

_log = logging.getLogger(__name__)

_MAX_PLACE = 200


class Step(StrEnum):
    """What can fail; the value is the counter's name."""

    START = "start_failed"
    SLOW_START = "start_late"
    READY = "ready_failed"
    LIST = "list_failed"
    CLOSE = "close_failed"


class GuardedSource:
    """One source of a runtime. ``started_late``: called when it has started behind its limit."""

    def __init__(
        self,
        source: ToolSource,
        counters: Counters,
        timeouts: Timeouts,
        started_late: Callable[[ToolSource], None],
    ) -> None:
        self.source = source
        self.name = source.key
        self._counted = f"tool.{source.scope.kind or source.name}"
        self.tools: tuple[ToolDefinition, ...] = ()
        """The last list that could be read."""
        self._counters = counters
        self._timeouts = timeouts
        self._started_late = started_late
        self._failed: dict[Step, Fault] = {}
        self._malformed: Sequence[Fault] = ()
        self._starting: asyncio.Task[None] | None = None

    @property
    def faults(self) -> Sequence[Fault]:
        """What does not work now."""
        return (*self._failed.values(), *self._malformed, *self.source.faults)

    @property
    def pending(self) -> bool:
        """Whether it is not known yet if it works."""
        if self._starting is None or not self._starting.done():
            return True
        try:
            return bool(self.source.pending)
        except Exception:  # noqa: BLE001 - third-party code
            return False

    async def start(self) -> None:
        """Start the source. Returns at its limit at the latest; the start goes on then."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(), name=f"start {self.name}")
        limit = self._timeouts.tool_start
        await asyncio.wait((self._starting,), timeout=limit)
        if not self._starting.done():
            self._fail(Step.SLOW_START, f"it is still starting after {limit:g} s")
        elif self._starting.cancelled():
            self._fail(Step.START, "did not start: it was cancelled")

    async def ready(self, limit: float) -> None:
        """Wait until it is known whether the source works, at most ``limit`` seconds."""
        timer = asyncio.timeout(limit)
        try:
            async with timer:
                if self._starting is not None:
                    await asyncio.wait((self._starting,))
                await self.source.ready()
        except Exception as error:  # noqa: BLE001 - third-party code
            if not timer.expired():
                self._fail(Step.READY, _reason(error))
            elif Step.SLOW_START not in self._failed:
                self._fail(Step.READY, f"it is not ready after {limit:g} s")
        else:
            self._works(Step.READY)

    def read(self) -> bool:
        """Read the list into :attr:`tools`; return whether it could not be read the last time."""
        try:
            listed = self.source.tools()
            if listed is not self.tools:
                self._take(tuple(listed))
        except Exception as error:  # noqa: BLE001 - third-party code; the last list stays
            self._fail(Step.LIST, f"its tools cannot be listed: {_reason(error)}")
            return False
        return self._works(Step.LIST)

    def _take(self, listed: Sequence[ToolDefinition]) -> None:
        """Keep the tools of a list; one that is malformed costs itself."""
        mistakes = [(tool, _mistake(tool)) for tool in listed]
        if mistakes and not any(isinstance(tool, ToolDefinition) for tool in listed):
            raise TypeError(mistakes[0][1])
        self.tools = tuple(tool for tool, mistake in mistakes if not mistake)
        malformed = [
            Fault(f"{self.name}/{getattr(tool, 'name', '') or number}"[:_MAX_PLACE], mistake)
            for number, (tool, mistake) in enumerate(mistakes, 1)
            if mistake
        ]
        if malformed == self._malformed:
            return
        self._malformed = malformed
        for fault in malformed:
            self._counters.add(f"{self._counted}.malformed")
            _log.warning("tool left out", extra={"location": fault.place, "reason": fault.reason})

    async def close(self) -> None:
        """Close the source, within its limit. A start that is under way is cancelled first."""
        limit = self._timeouts.tool_close
        closing = asyncio.create_task(self._close(), name=f"close {self.name}")
        try:
            _, late = await asyncio.wait((closing,), timeout=limit)
        finally:
            closing.cancel()
        if late:
            self._fail(Step.CLOSE, f"it is still closing after {limit:g} s")

    async def _start(self) -> None:
        try:
            await self.source.start()
        except Exception as error:  # noqa: BLE001 - third-party code
            self._failed.pop(Step.SLOW_START, None)
            self._fail(Step.START, f"did not start: {_reason(error)}")
        else:
            self._works(Step.START)
            if self._works(Step.SLOW_START):
                self._started_late(self.source)

    async def _close(self) -> None:
        await cancel_and_wait(self._starting)
        try:
            await self.source.close()
        except Exception as error:  # noqa: BLE001 - third-party code; the others are closed too
            self._fail(Step.CLOSE, f"did not close: {_reason(error)}")

    def _fail(self, step: Step, reason: str) -> None:
        """Keep a fault; log it if it is new."""
        self._counters.add(f"{self._counted}.{step}")
        if step not in self._failed:
            _log.warning("tool source failed", extra={"source": self.name, "reason": reason})
        self._failed[step] = Fault(self.name, reason)

    def _works(self, step: Step) -> bool:
        """Drop the fault of a step; return whether there was one."""
        if self._failed.pop(step, None) is None:
            return False
        _log.info("tool source works again", extra={"source": self.name})
        return True


def _mistake(tool: Any) -> str:  # noqa: ANN401 - third-party code makes it, with any fields
    """Return why ``tool`` cannot be offered; empty if it can be."""
    if not isinstance(tool, ToolDefinition):
        return f"{type(tool).__name__} is no ToolDefinition"
    name: Any = tool.name
    if not isinstance(name, str) or not name:
        return "its name is no text, or empty"
    description: Any = tool.description
    if not isinstance(description, str):
        return "its description is no text"
    parameters: Any = tool.parameters
    if not isinstance(parameters, Mapping):
        return "its parameters are no JSON Schema"
    return ""


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
