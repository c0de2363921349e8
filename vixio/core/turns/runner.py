"""One turn of the agent, and what it changes: history, consent, tools, usage.

A turn is prepared and then committed. A prepared turn already asks the agent, but has no effect:
the history does not have it, the user's yes or no is not taken, and tools wait unless they are
marked ``read_only``. ``commit`` makes the effects of what has happened so far, in order, and lets
the rest happen. A turn that is closed without a commit leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from vixio.core.agent import Agent, AgentRequest
from vixio.core.chunk import Chunk, TextDelta, ToolCalled, ToolReturned, UserTurn
from vixio.core.clock import now
from vixio.core.errors import ProviderTimeout, ToolError
from vixio.core.history import AssistantMessage, ToolCallItem, ToolResultItem
from vixio.core.metrics import ModelUse
from vixio.core.station import StationContext
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait
from vixio.core.timeouts import Timeouts
from vixio.core.tools.session import TurnTools
from vixio.core.tools.types import ToolDefinition
from vixio.core.turns.buffer import ReplyBuffer, from_any_thread
from vixio.core.waiters import Waiters


class TurnRunner:
    """Runs the turns of one conversation, one at a time.

    ``follow_tools``: hand every change of the conversation's tool set to the agent.
    """

    def __init__(
        self,
        agent: Agent,
        context: StationContext,
        timeouts: Timeouts | None = None,
        *,
        follow_tools: bool = False,
    ) -> None:
        self.agent = agent
        self.context = context
        self.timeouts = timeouts or Timeouts()
        self._follow_tools = follow_tools
        self._stale = False
        """Whether the tools have changed since the agent was last given them."""
        self._following = False
        """Whether a task gives them to the agent."""
        self._unwatch: Callable[[], None] = lambda: None
        if follow_tools:
            self._unwatch = context.tools.watch(self._tools_changed)

    def close(self) -> None:
        """Follow the tools no longer. Idempotent."""
        self._unwatch()

    def prepare(self, turn: UserTurn) -> PreparedTurn:
        """Begin to ask the agent, without any effect.

        The result has to be closed. Needs a running event loop.
        """
        return PreparedTurn(self, turn)

    async def ready(self, turn_id: int) -> None:
        """Wait for what the request is made of. Each of these waits bounds itself."""
        await self.context.history.ready()
        await self.context.tools_ready(turn_id)
        if self._follow_tools:
            await self._update_tools()

    def _tools_changed(self, tools: tuple[ToolDefinition, ...]) -> None:
        """Give the tools to the agent in the background.

        One task at a time: on a busy machine they change faster than the agent converts them, and
        each further task would convert them once more.
        """
        self._stale = True
        if not self._following:
            self._following = True
            self.context.spawn(self._follow())

    async def _follow(self) -> None:
        try:
            while self._stale:
                self._stale = False
                await self._update_tools()
        finally:
            self._following = False

    async def _update_tools(self) -> None:
        await self.agent.update_tools(self.context.tools.definitions())


class PreparedTurn:
    """A turn that is under way. Close it with ``aclose``, for example by ``contextlib.aclosing``.

    Without a tool runtime the agent runs tools itself, so it is not asked before the commit.
    """

    def __init__(self, runner: TurnRunner, turn: UserTurn) -> None:
        self.turn = turn
        self._runner = runner
        self._context = runner.context
        self._buffer = ReplyBuffer()
        self._tools: TurnTools | None = None
        self._timer: asyncio.Timeout | None = None
        self._limit = runner.timeouts.agent_first
        self._decided = False
        """By the commit, or by closing."""
        self._decision = Waiters()
        self._committed = False
        self._ready = False
        """Whether the conversation before this turn is known."""
        self._begun = False
        """Whether effects are made at once: the turn is committed and ready."""
        self._events: list[tuple[Chunk, float]] = []
        """What has happened before, and when."""
        self._uses: list[ModelUse] = []
        self._task = asyncio.create_task(self._ask())

    async def events(self) -> AsyncIterator[Chunk]:
        """Yield the reply: text, tool calls and results, and what tools say and show.

        For one reader. Before the commit only text is handed out; the first chunk that is more
        waits for it, and so does the end: who closes the turn before has no effects. Raises
        ProviderError.
        """
        while (chunk := await self._buffer.head()) is not None:
            if self._decided or isinstance(chunk, TextDelta):
                yield self._buffer.take()
            else:
                await self._decision.wait()
        if not self._decided:  # the text is whole: its last sentence need not wait
            yield TextDelta(self.turn.turn_id, "", complete=True)
        while not self._decided:
            await self._decision.wait()

    def commit(self) -> None:
        """Let the turn have its effects. Idempotent; nothing happens if the turn is closed."""
        if self._decided:
            return
        self._committed = True
        self._decided = True
        self._decision.wake()
        if self._ready:
            self._begin()
        self._restart_timer()

    async def aclose(self) -> None:
        """Stop the model and its tools. Effects of a committed turn stay. Idempotent."""
        self._decided = True
        self._decision.wake()
        self._buffer.close()
        await cancel_and_wait(self._task)  # the last words wait for this

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    async def _ask(self) -> None:
        failure: Exception | None = None
        try:
            await self._stream(await self._request())
        except Exception as error:  # noqa: BLE001 - raised again where the reply is read
            failure = error
        finally:
            self._buffer.finish(failure)

    async def _request(self) -> AgentRequest:
        turn, context = self.turn, self._context
        await self._runner.ready(turn.turn_id)
        before = context.history.items()
        voice = context.language or turn.language
        if context.session_tools is not None:
            self._tools = context.session_tools.begin_turn(
                turn.turn_id, voice, from_any_thread(self._said), self._may_act
            )
        self._ready = True
        if self._committed:
            self._begin()
        elif self._tools is None:
            await self._may_act()
        return AgentRequest(
            turn.turn_id,
            turn.text,
            before,
            turn.language or voice,
            self._tools,
            context.device_id,
            self._note,
            turn.emotion,
            self._may_act,
            voice,
        )

    async def _stream(self, request: AgentRequest) -> None:
        async with closing(self._runner.agent.reply(request)) as reply:
            while True:
                try:
                    async with asyncio.timeout(self._limit) as self._timer:
                        event = await anext(reply)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    agent = self._runner.agent.name
                    raise ProviderTimeout(agent, "answer", self._limit) from None
                finally:
                    self._timer = None
                self._limit = self._runner.timeouts.agent_next
                self._happened(event)
                self._buffer.put(event)
                await self._buffer.room()

    def _said(self, chunk: Chunk) -> None:
        """Take what a tool says or shows."""
        if self._buffer.takes_from_tools:
            self._limit = self._runner.timeouts.agent_next
            self._restart_timer()
            self._happened(chunk)
            self._buffer.put_said(chunk)

    def _happened(self, event: Chunk) -> None:
        if self._begun:
            self._record(event, now())
        else:
            self._events.append((event, now()))

    def _restart_timer(self) -> None:
        if self._timer is not None and not self._timer.expired():
            self._timer.reschedule(now() + self._limit)

    # ── effects ──────────────────────────────────────────────────────────────────────────────

    async def _may_act(self) -> None:
        """Wait until the turn may have effects. Raises ToolError if it is closed instead."""
        while not self._decided:
            await self._decision.wait()
        if not self._committed:
            raise ToolError("disconnected", "the turn was given up")

    def _begin(self) -> None:
        """Make the effects so far; from now on they are made as they come."""
        turn, history = self.turn, self._context.history
        session_tools = self._context.session_tools
        if turn.commanded and session_tools is not None:
            session_tools.withdraw()
        elif self._tools is not None:
            # The user has heard a question only if the last thing of the turn before was spoken.
            before = history.items()
            asked = bool(before) and isinstance(before[-1], AssistantMessage)
            self._tools.hear(turn.text, asked=asked)
        history.begin(turn.turn_id, turn.text)
        self._begun = True
        for event, at in self._events:
            self._record(event, at)
        self._events.clear()
        self._context.timeline(turn.turn_id).models.extend(self._uses)

    def _record(self, event: Chunk, at: float) -> None:
        """Put an event into the history and on the turn's timeline."""
        history, turn_id = self._context.history, self.turn.turn_id
        match event:
            case TextDelta(text=text):
                self._context.timeline(turn_id).mark("first_token", at)
                history.append(turn_id, AssistantMessage(text))
            case ToolCalled(call_id=call_id, name=name, arguments=arguments):
                self._context.timeline(turn_id).called_tools = True
                history.append(turn_id, ToolCallItem(call_id, name, arguments))
            case ToolReturned(call_id=call_id, output=output):
                history.append(turn_id, ToolResultItem(call_id, output))

    def _note(self, use: ModelUse) -> None:
        """Count a model's answer, which costs its tokens even if the turn is never committed."""
        count = self._context.counters.add
        count(f"model.answers.{use.model}")
        count("model.tokens.input", use.input_tokens)
        count("model.tokens.cached", use.cached_tokens)
        count("model.tokens.output", use.output_tokens)
        for name in use.passed_over:
            count(f"model.passed_over.{name}")
        if self._begun:
            self._context.timeline(self.turn.turn_id).models.append(use)
        else:
            self._uses.append(use)
