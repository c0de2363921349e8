"""One message to an agent, and everything until the agent's task stops.

It runs beside the call that began it: a call may return before the answer is there, and a task that
is given up is still cancelled at the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from uuid import uuid4

from vixio.core.backoff import Backoff
from vixio.core.errors import ToolError
from vixio.core.streams import closing
from vixio.core.tools.types import ToolCallResult
from vixio.tools.a2a.answer import Answer
from vixio.tools.a2a.client import A2aClient, AgentError
from vixio.tools.a2a.conversation import Conversation
from vixio.tools.a2a.protocol import (
    FAILURES,
    STOPPED,
    Endpoint,
    State,
    Update,
    message_params,
)

WORK_S = 600.0
"""For one task in all, also when its answer comes later."""

CANCEL_S = 5.0
"""For the request that cancels a task; and for learning its id, if it is given up before."""

POLL = Backoff(first=0.5, longest=5.0)
"""Delays between questions for a task whose agent does not stream, or whose stream broke."""

MAX_POLL_FAILURES = 5

_AT_REST = STOPPED - {State.AUTH_REQUIRED}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """What is sent, and how. ``say``: speaks words as they come; None keeps them for the result."""

    endpoint: Endpoint
    streaming: bool
    text: str
    skill: str
    say: Callable[[str], None] | None


class Exchange:
    """``outcome`` is done when the task has stopped; cancelling it gives the task up."""

    def __init__(self, client: A2aClient, conversation: Conversation, question: Question) -> None:
        loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[ToolCallResult] = loop.create_future()
        self.last_word = loop.time()
        """When the user last heard something of it, or it began; the loop's time."""
        self._client = client
        self._conversation = conversation
        self._question = question
        self._say = question.say
        self._answer = Answer()
        self._spoken = False
        self._unsaid = ""
        self._task_id = ""
        self._continued = ""
        """The task that the message goes to, if it waited for one."""
        self._state: State | None = None
        self._given_up = False
        self._talking = True
        """Until the task has stopped or is given up; then it is cancelled, where that is needed."""
        self._late = False
        self.task = loop.create_task(self._run(), name="a2a exchange")
        self.task.add_done_callback(self._ended)
        self.outcome.add_done_callback(self._decided)

    def defer(self) -> None:
        """Speak no further words: the result consists of them, and is spoken itself."""
        self._say = None
        self._late = True

    def give_up(self) -> None:
        """Cancel the task, at the agent too as far as its id is known soon. Idempotent."""
        if self._given_up or self.task.done():
            return
        self._given_up = True
        self._say = None
        if self._task_id or self._continued:
            self.stop()
        else:
            asyncio.get_running_loop().call_later(CANCEL_S, self.stop)

    def stop(self) -> None:
        """Give up at once; only the cancellation of the task at the agent goes on. Idempotent."""
        self._given_up = True
        if self._talking:
            self._talking = False  # a second cancellation would end that of the agent's task
            self.task.cancel()

    def _decided(self, outcome: asyncio.Future[ToolCallResult]) -> None:
        if outcome.cancelled():
            self.give_up()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not self.outcome.done():  # the task was cancelled before its first step
            self.outcome.set_result(_given_up())

    async def _run(self) -> None:
        result = _given_up()
        try:
            async with asyncio.timeout(WORK_S):
                result = await self._talk()
        except ToolError as error:
            result = ToolCallResult.failure(error)
        except TimeoutError:
            late = ToolError("timeout", f"the agent is not done within {WORK_S:g} s")
            result = ToolCallResult.failure(late)
        except asyncio.CancelledError:
            pass  # it is given up; what follows still has to be done
        except Exception as error:  # noqa: BLE001 - whatever an agent's answer leads to
            _log.warning("A2A exchange failed", extra={"error": type(error).__name__})
            result = ToolCallResult.failure(ToolError("failed", type(error).__name__))
        self._talking = False
        if not self.outcome.done():
            self.outcome.set_result(result)
        await self._cancel()

    async def _talk(self) -> ToolCallResult:
        context_id, self._continued = await self._conversation.begin(self)
        try:
            if self._given_up:
                return _given_up()
            try:
                await self._follow(context_id, self._continued)
            except AgentError as error:
                nothing_done = not self._task_id and error.of_the_task
                if not nothing_done or not (context_id or self._continued):
                    raise
                self._conversation.forget()  # the agent was restarted, perhaps
                self._continued = ""
                await self._follow("", "")
        except ToolError:
            if self._continued and not self._task_id:  # the agent has not got the answer
                self._conversation.wait_for_answer(self._question.endpoint, self._continued)
            raise
        finally:
            self._conversation.end(self)
        return self._result()

    async def _follow(self, context_id: str, task_id: str) -> None:
        async with closing(self._updates(context_id, task_id)) as updates:
            async for update in updates:
                self._take(update)
                if self._state in STOPPED or (self._given_up and self._task_id):
                    return

    async def _updates(self, context_id: str, task_id: str) -> AsyncIterator[Update]:
        """Yield what the agent says, from its answer and then by asking for the task."""
        question, endpoint = self._question, self._question.endpoint
        params = message_params(
            endpoint, question.text, uuid4().hex, context_id, task_id, question.skill
        )
        sending = self._client.send(endpoint, params, stream=question.streaming, timeout=WORK_S)
        try:
            async with closing(sending) as updates:
                async for update in updates:
                    yield update
        except ToolError as error:
            if error.type not in {"disconnected", "timeout"} or not self._task_id:
                raise
        if not self._task_id:
            raise ToolError("failed", "the agent's answer ended before its end")
        asked = failures = 0
        while True:
            asked += 1
            await asyncio.sleep(POLL.delay(asked))
            try:
                update = await self._client.get(endpoint, self._task_id)
            except ToolError as error:
                failures += 1
                if not error.retryable or failures >= MAX_POLL_FAILURES:
                    raise
                continue
            failures = 0
            yield update

    def _take(self, update: Update) -> None:
        self._task_id = update.task_id or self._task_id
        if update.context_id:
            self._conversation.learned(self, update.context_id)
        for piece in update.pieces:
            new = self._answer.take(piece)
            if new and self._say is not None:
                self._say(new)
                self._spoken = self._spoken or bool(new.strip())
                self.last_word = asyncio.get_running_loop().time()
            else:
                self._unsaid += new
        self._state = update.state or self._state

    def _result(self) -> ToolCallResult:
        if self._state in FAILURES:
            return ToolCallResult.failure(self._failure())
        asks = self._state is State.INPUT_REQUIRED
        if asks and self._task_id and not self._given_up:
            self._conversation.wait_for_answer(self._question.endpoint, self._task_id)
        spoken = self._spoken
        text = self._unsaid.strip() if spoken and self._late else self._answer.text
        data = self._answer.data
        if data and self._late:
            text = text or data  # it is spoken as it is
        elif data:
            text = f"{text}\n[data, not spoken: {data}]" if spoken else f"{text}\n{data}"
        return ToolCallResult(
            "",
            success=True,
            result=text.strip() or ("" if self._late or spoken else "done"),
            images=self._answer.images,
            spoken=spoken and not self._late,
            asks=asks,
        )

    def _failure(self) -> ToolError:
        words = self._answer.error[:500]
        match self._state:
            case State.AUTH_REQUIRED:
                return ToolError("failed", "the agent needs an authorization that is not set up")
            case State.REJECTED:
                what = "the agent declined"
            case State.CANCELED:
                what = "the task was cancelled at the agent"
            case _:
                what = "the agent failed"
        return ToolError("failed", f"{what}: {words}" if words else what)

    async def _cancel(self) -> None:
        """Cancel the task at the agent, if it is known and has not stopped for good."""
        task_id, at_rest = self._task_id, _AT_REST
        if self._given_up:
            task_id, at_rest = task_id or self._continued, _AT_REST - {State.INPUT_REQUIRED}
        if not task_id or self._state in at_rest:
            return
        try:
            async with asyncio.timeout(CANCEL_S):
                await self._client.cancel(self._question.endpoint, task_id)
        except (ToolError, TimeoutError) as error:
            _log.debug("A2A task not cancelled", extra={"error": type(error).__name__})


def _given_up() -> ToolCallResult:
    return ToolCallResult.failure(ToolError("disconnected", "the task was given up"))
