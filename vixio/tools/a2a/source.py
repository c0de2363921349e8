"""A remote agent as a tool source: keeps its card current, and asks it for each call.

While its card cannot be read the source has no tools; they return with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from vixio.core.errors import ToolError, describe
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.context import ToolContext
from vixio.core.tools.late import Deferred
from vixio.core.tools.source import Fault, ToolSource
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.tools.a2a.card import AgentCard, card_url, read_card
from vixio.tools.a2a.client import A2aClient
from vixio.tools.a2a.config import A2aConfig
from vixio.tools.a2a.conversation import Conversation
from vixio.tools.a2a.exchange import CANCEL_S, WORK_S, Exchange, Question
from vixio.tools.a2a.listing import to_definitions
from vixio.tools.a2a.protocol import Endpoint, clean

READINGS_APART = 0.5
"""Seconds between two readings of the card; bounds the cost of calls that fail all the time."""

CLOSE_S = CANCEL_S + 1.0

_log = logging.getLogger(__name__)


class A2aSource(ToolSource):
    """The skills of one agent, and their :class:`~vixio.core.tools.types.ToolCaller`."""

    def __init__(self, config: A2aConfig) -> None:
        super().__init__(config.name)
        self.config = config
        self.readings = 0
        """Of the card, successful ones."""
        self._client = A2aClient(config)
        self._card: AgentCard | None = None
        self._tools: tuple[ToolDefinition, ...] = ()
        self._skills: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._known = asyncio.Event()
        self._exchanges: set[Exchange] = set()
        self._cancelling: set[asyncio.Task[None]] = set()
        self._closed = False

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the agent's skills; none while it is away."""
        return self._tools

    @property
    def pending(self) -> bool:
        """Whether the first attempt is not over."""
        return not self._known.is_set()

    async def start(self) -> None:
        """Begin to read the card in the background."""
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._run(), name=f"a2a {self.name}")

    async def ready(self) -> None:
        """Wait until the first reading has succeeded or failed."""
        await self._known.wait()

    async def close(self) -> None:
        """Give up all tasks, which cancels them at the agent, and close all connections."""
        self._closed = True
        self._known.set()
        self._card = None
        await cancel_and_wait(self._task)
        for exchange in self._exchanges:
            exchange.stop()
        working = {exchange.task for exchange in self._exchanges} | self._cancelling
        if working:
            await asyncio.wait(working, timeout=CLOSE_S)
            for task in working:
                task.cancel()
        await self._client.close()

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """Ask the agent; see :class:`~vixio.core.tools.types.ToolCaller`."""
        limit = self.config.timeout if timeout is None else timeout
        try:
            exchange = await self._ask(tool_name, arguments, context or ToolContext())
            return await self._wait(exchange, limit)
        except ToolError as error:
            return ToolCallResult.failure(error)

    async def _ask(self, tool: str, arguments: JsonObject, context: ToolContext) -> Exchange:
        card = self._card
        if card is None:
            raise ToolError("disconnected", "the agent is not there just now", retryable=True)
        if tool not in self._skills:
            raise ToolError("not_found", f"the agent has no skill {tool}")
        text = clean(arguments.get("message")).strip()
        if not text:
            raise ToolError("invalid_arguments", "message: what to ask the agent, in words")
        conversation = Conversation(self._cancel_soon)
        if context.session is not None:
            conversation = await context.instance(self._converse)
        conversation.belongs_to(context.user)
        if self._closed:
            raise ToolError("disconnected", "the server is stopping")
        speaks = self.config.stream == "say" and context.can_speak
        exchange = Exchange(
            self._client,
            conversation,
            Question(
                card.endpoint,
                card.streaming,
                text,
                self._skills[tool],
                context.stream if speaks else None,
            ),
        )
        self._exchanges.add(exchange)
        exchange.task.add_done_callback(lambda _: self._exchanges.discard(exchange))
        if context.session is None:
            exchange.outcome.add_done_callback(lambda _: conversation.drop())
        return exchange

    async def _wait(self, exchange: Exchange, limit: float) -> ToolCallResult:
        """Wait for the answer, or put it off when the agent takes long."""
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        outcome, later = exchange.outcome, self.config.later
        try:
            while not outcome.done():
                until = min(end, exchange.last_word + later) if later else end
                if until <= loop.time():
                    break
                await asyncio.wait((outcome,), timeout=until - loop.time())
        except asyncio.CancelledError:
            outcome.cancel()
            raise
        if outcome.done():
            return self._noted(outcome.result())
        if later:
            exchange.defer()
            return ToolCallResult("", success=True, late=Deferred(outcome, timeout=WORK_S))
        outcome.cancel()
        raise ToolError("timeout", f"no answer within {limit:g} s", retryable=True)

    def _noted(self, result: ToolCallResult) -> ToolCallResult:
        """Log a failure; look for an agent that does not answer."""
        if result.error_type == "disconnected":
            self._wake.set()
        if not result.success:
            _log.info("A2A call failed", extra={"agent": self.name, "type": result.error_type})
        return result

    def _converse(self, context: ToolContext) -> Conversation:
        """Return the conversation of one session."""
        return Conversation(self._cancel_soon)

    def _cancel_soon(self, endpoint: Endpoint, task_id: str) -> None:
        """Cancel a task at the agent, in the background."""
        if not self._closed:
            task = asyncio.create_task(self._cancel(endpoint, task_id))
            self._cancelling.add(task)
            task.add_done_callback(self._cancelling.discard)

    async def _cancel(self, endpoint: Endpoint, task_id: str) -> None:
        with suppress(ToolError, TimeoutError):
            async with asyncio.timeout(CANCEL_S):
                await self._client.cancel(endpoint, task_id)

    # ── the card ─────────────────────────────────────────────────────────────────────────────

    async def _run(self) -> None:
        await asyncio.to_thread(import_module, "httpx2")
        failures = 0
        while True:
            try:
                await self._read()
                failures = 0
            except (ToolError, TimeoutError) as error:
                failures += 1
                self._down(str(error) or f"no card within {self.config.connect_timeout:g} s")
            except Exception as error:  # noqa: BLE001 - whatever a card leads to
                failures += 1
                self._down(describe(error))
            self._known.set()
            wait = self.config.reconnect.delay(failures) if failures else self.config.refresh
            with suppress(TimeoutError):
                async with asyncio.timeout(wait or None):
                    await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(READINGS_APART)

    async def _read(self) -> None:
        url = card_url(self.config.url)
        async with asyncio.timeout(self.config.connect_timeout):
            card = read_card(await self._client.card(url), url)
        found, faults = to_definitions(card, self.config, self)
        if self._card is None:
            fields = {
                "agent": self.name,
                "tool_count": len(found),
                "version": card.endpoint.version,
            }
            _log.info("A2A agent found", extra=fields)
        self.readings += 1
        self._card = card
        if faults != self.faults:
            self.faults = faults
            for fault in faults:
                left_out = {"location": fault.place, "reason": fault.reason}
                _log.warning("tools left out", extra=left_out)
        self._skills = {name: skill for name, (_, skill) in found.items()}
        self._offer(tuple(tool for tool, _ in found.values()))

    def _offer(self, tools: tuple[ToolDefinition, ...]) -> None:
        if tools != self._tools:
            self._tools = tools
            self.changed()

    def _down(self, reason: str) -> None:
        """Note that there is no card; logged as a warning once until the next one."""
        was_up = self._card is not None or not self._known.is_set()
        level = logging.WARNING if was_up else logging.DEBUG
        _log.log(level, "A2A agent not there", extra={"agent": self.name, "reason": reason})
        self._card = None
        self.faults = [Fault(self.config.place, reason)]
        self._offer(())
