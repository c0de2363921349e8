"""A task of the assistant: one turn of a context's conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from vixio.core.chunk import Chunk, Notice, TextDelta, ToolCalled, ToolReturned
from vixio.core.metrics import Counters
from vixio.core.session.conversation import Conversation
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.toolset import CLIENT_SOURCE
from vixio.web.a2a.client_tools import Announced, PendingCalls
from vixio.web.a2a.incoming import Incoming
from vixio.web.a2a.output import Output
from vixio.web.a2a.run import Run

CONSENT: Final = "This needs your yes."

COLLECT_S: Final = 0.25
"""Longest wait for parallel calls that have not begun: one may wait for a free slot."""


class AssistantRun(Run):
    """Asks ``conversation``; the calls of the caller's tools wait in :attr:`calls`."""

    def __init__(
        self,
        task_id: str,
        output: Output,
        counters: Counters,
        over: Callable[[Run], None],
        conversation: Conversation,
        turns: asyncio.Lock,
        text: str,
    ) -> None:
        """``turns``: held by the run whose turn it is."""
        super().__init__(task_id, output, counters, over)
        self._conversation = conversation
        self._text = text
        self.calls = PendingCalls(self._look)
        self._announced = Announced(self._is_client_tool)
        self._asked: set[str] = set()
        """The calls that the client has been told of."""
        self._asking: asyncio.Task[None] | None = None
        self._state = asyncio.Lock()
        self._progress = asyncio.Event()
        self._turns = turns
        self._said = ""
        self.begun = False
        """Whether its turn of the conversation has begun."""

    @property
    def waiting(self) -> bool:
        """Whether the client has been asked for results that have not all come."""
        return bool(self._asked) and any(call.id in self._asked for call in self.calls.waiting)

    @property
    def language(self) -> str:
        """Of the words for the client."""
        return self._conversation.language

    async def deliver(self, incoming: Incoming) -> None:
        """Take results; words that report none are the result of every call that waits."""
        async with self._state:
            if results := incoming.results or incoming.reported:
                unknown = self.calls.resolve(results)
                self._counters.add("a2a.results", len(results) - unknown)
                if unknown:
                    self._counters.add("a2a.results.unknown", unknown)
            elif incoming.text:
                self.calls.resolve_all(incoming.text)
                self._counters.add("a2a.results.text")
            await self._go_on()
        self._look()

    async def work(self) -> None:
        """Run the turn, when those before it are over."""
        async with self._turns:
            try:
                self.begun = True
                async with aclosing(self._conversation.stream(self._text)) as pieces:
                    async for piece in pieces:
                        await self._take(piece)
            finally:
                self.begun = False
                await cancel_and_wait(self._asking)
            self.awaits_words = self._conversation.awaits_consent
        self._counters.add("a2a.tasks.answered")
        if self.awaits_words:
            await self.output.ask(self._said.strip() or CONSENT)
        else:
            await self.output.complete()

    async def _take(self, piece: Chunk) -> None:
        match piece:
            case TextDelta(text=text):
                self._said += text
                self.output.text(text)
            case ToolCalled(call_id=call_id, name=name):
                self._said = ""
                self._announced.called(call_id, name)
                self._look()
            case ToolReturned(call_id=call_id):
                self._announced.returned(call_id)
                self._look()
            case Notice(text=text):
                await self.output.note(text)
            case _:
                pass

    def _is_client_tool(self, alias: str) -> bool:
        tool = self._conversation.tools.find(alias)
        return tool is not None and tool.source == CLIENT_SOURCE

    def _look(self) -> None:
        """Hand calls over once all of them wait; go on once none of them does."""
        self._progress.set()
        unasked = any(call.id not in self._asked for call in self.calls.waiting)
        if (unasked or self._asked) and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        while True:
            waiting = self.calls.waiting
            if not waiting:
                if not self._asked:
                    return
                async with self._state:
                    await self._go_on()
            elif all(call.id in self._asked for call in waiting):
                return
            else:
                await self._collected()
                async with self._state:
                    await self._hand_over()

    async def _collected(self) -> None:
        """Wait until all parallel calls wait, for a bounded time."""
        try:
            async with asyncio.timeout(COLLECT_S):
                while not self._announced.complete(self.calls):
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            pass  # the others are handed over when they begin

    async def _hand_over(self) -> None:
        calls = self.calls.waiting
        if calls:
            self._asked = {call.id for call in calls}
            self._counters.add("a2a.calls", len(calls))
            await self.output.call(calls)
            self.set_at_rest(at_rest=True)

    async def _go_on(self) -> None:
        """Leave the state in which the client is asked; calls that still wait are handed anew."""
        if self._asked:
            self._asked = set()
            self.set_at_rest(at_rest=False)
            await self.output.working()
