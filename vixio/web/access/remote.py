"""Tool servers that are connected to other processes: their tools here, and calls to them there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from vixio.core.cluster import Cluster
from vixio.core.commands import Command, CommandResult, CommandStatus, Custom
from vixio.core.device import ACCESS_PREFIX
from vixio.core.errors import ToolError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.context import ToolContext
from vixio.core.tools.source import Scope, ToolSource
from vixio.core.tools.types import (
    ImagePart,
    JsonObject,
    SoundPart,
    ToolCallResult,
    ToolDefinition,
    ToolOptions,
)
from vixio.web.access.server import CALL_S, AccessServer

TOPIC: Final = "access"
LIST: Final = "list"
CALL: Final = "call"

LOOK_S: Final = 15.0
"""At the latest the others are asked again: a message may be lost, a process may end."""

APART_S: Final = 0.2
"""Between two looks; bounds the cost of a server whose list changes all the time."""

_OPTIONS: Final = ("timeout", "confirm", "idempotent", "read_only")

_GONE: Final = ToolError("disconnected", "the tool's server went away", retryable=True)

_log = logging.getLogger(__name__)


class RemoteServer(ToolSource):
    """The tools of one. ``gone`` is called when its process no longer has it."""

    def __init__(
        self, row: Mapping[str, Any], name: str, cluster: Cluster, gone: Callable[[], None]
    ) -> None:
        super().__init__(name, Scope(row["profile"], row["device"]))
        self.row = row
        self._key = f"{ACCESS_PREFIX}{row['id']}"
        self._cluster = cluster
        self._gone = gone
        self._tools: tuple[ToolDefinition, ...] = ()

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tools as last read."""
        return self._tools

    async def read(self, row: Mapping[str, Any]) -> None:
        """Read the list of ``row`` from its process."""
        self.row = row
        result = await self._cluster.commands.send(self._key, Custom(LIST))
        if result.ok:
            self._tools = tuple(
                ToolDefinition(
                    each["name"],
                    each["description"],
                    each["parameters"],
                    source=self.name,
                    options=ToolOptions(**each["options"]),
                    caller=self,
                )
                for each in result.value
            )
            self.changed()

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Have the other process call it; see :class:`~vixio.core.tools.types.ToolCaller`."""
        limit, error = timeout or CALL_S, _GONE
        call = Custom(CALL, {"tool": tool_name, "arguments": arguments, "timeout": limit})
        try:
            result = await self._cluster.commands.send(self._key, call, timeout=limit + 1.0)
        except ValueError as failure:
            return ToolCallResult.failure(ToolError("invalid_arguments", str(failure)))
        match result.status:
            case CommandStatus.DONE:
                images = tuple(ImagePart(**each) for each in result.value.pop("images"))
                sounds = tuple(SoundPart(**each) for each in result.value.pop("sounds", ()))
                return ToolCallResult("", images=images, sounds=sounds, **result.value)
            case CommandStatus.FAILED:
                error = ToolError("failed", result.message)
            case CommandStatus.TIMED_OUT:
                error = ToolError("timeout", f"no answer within {limit:g} s", retryable=True)
            case CommandStatus.NOT_CONNECTED:
                self._gone()
        return ToolCallResult.failure(error)


async def answer(server: AccessServer, command: Command) -> CommandResult:
    """Carry out what another process asks of a server of this one."""
    match command:
        case Custom(name=name) if name == LIST:
            tools = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                    "options": {each: getattr(tool.options, each) for each in _OPTIONS},
                }
                for tool in server.tools()
            ]
            return CommandResult(CommandStatus.DONE, tools)
        case Custom(name=name, arguments={"tool": str(tool), "arguments": dict(given), **more}):
            timeout = more.get("timeout")
            limit = min(timeout, CALL_S) if isinstance(timeout, int | float) else CALL_S
            result = await server.call_tool(tool, given, timeout=limit)
            fields = ("success", "result", "error", "error_type", "retryable")
            value: JsonObject = {each: getattr(result, each) for each in fields}
            value["images"] = [asdict(each) for each in result.images]
            value["sounds"] = [asdict(each) for each in result.sounds]
            return CommandResult(CommandStatus.DONE, value)
    raise ValueError("a tool server has no such command")


class RemoteServers:
    """Follows the servers of all other processes. ``rows``: of this one's own.

    ``exchange`` takes sources out and brings others in; ``free`` returns a name that no source of
    a scope has.
    """

    def __init__(
        self,
        cluster: Cluster,
        rows: Callable[[], list[JsonObject]],
        exchange: Callable[[Sequence[str], Sequence[ToolSource]], None],
        free: Callable[[str, Scope], str],
    ) -> None:
        self._cluster = cluster
        self._rows = rows
        self._exchange = exchange
        self._free = free
        self.servers: dict[str, RemoteServer] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        cluster.presence.publish(lambda: {"servers": rows()}, topic=TOPIC)
        cluster.broadcast.on_message(TOPIC, lambda _: self._wake.set())

    def begin(self) -> None:
        """Begin to follow; nothing to do where there is one process."""
        if self._cluster.shared and self._task is None:
            self._task = asyncio.create_task(self._follow(), name="tool servers elsewhere")

    def tell(self) -> None:
        """Have the others look: a server has come, changed or gone here."""
        if self._cluster.shared:
            self._cluster.broadcast.send(TOPIC, {})

    async def close(self) -> None:
        """End following. Idempotent."""
        await cancel_and_wait(self._task)

    async def _follow(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - what a process of another version sends
                fields = {"error": type(error).__name__}
                _log.warning("tool servers of other processes not read", extra=fields)
            await asyncio.sleep(APART_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._wake.wait()

    async def _look(self) -> None:
        own = {row["id"] for row in self._rows()}
        members = await self._cluster.presence.members(TOPIC)
        found = {
            row["id"]: row
            for member in members
            for row in member.get("servers", ())
            if row["id"] not in own
        }
        for each in [each for each in self.servers if each not in found]:
            self._exchange([self.servers.pop(each).key], ())
        for key, row in found.items():
            known = self.servers.get(key)
            if known is None:
                name = self._free(row["name"], Scope(row["profile"], row["device"]))
                server = RemoteServer(row, name, self._cluster, self._wake.set)
                await server.read(row)
                self.servers[key] = server
                self._exchange((), [server])
            elif known.row != row:
                await known.read(row)
