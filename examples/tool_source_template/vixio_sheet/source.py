"""The source: settings, the source itself, the factory that the entry point names.

A sheet is a text file with a fact on each line, ``name: value``. Each line is a tool: ``pool
temperature: 24 degrees`` is ``get_pool_temperature``. The file is read again at intervals, and its
tools change with it, in the middle of a conversation.

This module is imported to check the settings, so it imports nothing slow. What a library takes to
load belongs into ``start``, and into a thread: ``await asyncio.to_thread(load)``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from vixio import Fault, ToolCallResult, ToolContext, ToolDefinition, ToolError, ToolSource
from vixio.tools.registry import SourceContext, ToolSourceFactory

_log = logging.getLogger(__name__)


class SheetSettings(BaseModel):
    """Options of an entry of ``tools.sources`` whose type is ``sheet``.

    ``extra="forbid"`` turns a mistyped key into one line that says so. For a password or a token
    use ``pydantic.SecretStr``: it is never shown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1)
    refresh: float = Field(default=2.0, gt=0, le=3_600, description="s")


class SheetSource(ToolSource):
    """One for the whole process. It is also the caller of its tools: it runs them by name."""

    def __init__(self, settings: SheetSettings, context: SourceContext) -> None:
        super().__init__(context.name)
        self._settings = settings
        self._place = context.place
        self._facts: dict[str, str] = {}
        self._tools: tuple[ToolDefinition, ...] = ()
        self._following: asyncio.Task[None] | None = None
        self._read = asyncio.Event()

    async def start(self) -> None:
        """Begin to follow the file. A file that is missing is no error: it may come later."""
        if self._following is None:
            self._following = asyncio.create_task(self._follow())

    async def ready(self) -> None:
        """Wait for the first attempt to read; `vixio check` does."""
        await self._read.wait()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return what the sheet has now."""
        return self._tools

    async def call_tool(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Return a fact. ``context`` has the device and the language, where they matter.

        A failure is a ToolError; the model reads its type and message.
        """
        if tool_name not in self._facts:
            raise ToolError("not_found", f"the sheet has no {tool_name} any more")
        return ToolCallResult("", success=True, result=self._facts[tool_name])

    async def close(self) -> None:
        """Stop following. Idempotent."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait((self._following,))

    async def _follow(self) -> None:
        while True:
            try:
                text = await asyncio.to_thread(
                    Path(self._settings.file).read_text, encoding="utf-8"
                )
            except (OSError, UnicodeError) as error:
                self._fail(f"cannot be read: {error}")
            else:
                self._offer(parse(text))
            self._read.set()
            await asyncio.sleep(self._settings.refresh)

    def _offer(self, facts: dict[str, str]) -> None:
        """Offer a tool for each fact, and report the change if there is one."""
        self.faults = []
        self._facts = facts
        tools = tuple(
            ToolDefinition(name, f"Get the {_words(name)}.", caller=self) for name in facts
        )
        if tools != self._tools:
            self._tools = tools
            _log.info("sheet read", extra={"source": self.name, "tools": len(tools)})
            self.changed()

    def _fail(self, reason: str) -> None:
        """Note what is wrong; `vixio check` shows it. The tools so far stay."""
        self.faults = [Fault(f"{self._place}.file", reason)]


def parse(text: str) -> dict[str, str]:
    """Return the facts of a sheet by the names of their tools; other lines are left out."""
    facts: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        words = "".join(letter if letter.isalnum() else " " for letter in name.lower()).split()
        if colon and words and value.strip():
            facts[f"get_{'_'.join(words)}"] = value.strip()
    return facts


def _words(name: str) -> str:
    return name.removeprefix("get_").replace("_", " ")


def _create(settings: SheetSettings, context: SourceContext) -> SheetSource:
    return SheetSource(settings, context)


FACTORY = ToolSourceFactory(settings_model=SheetSettings, create=_create)
