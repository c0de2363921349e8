"""The service's side: requests are taken from a queue, executed within limits, and answered."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from vixio.bus.broker import Broker, Message, Subscription
from vixio.bus.errors import BrokerError
from vixio.bus.queues import beside
from vixio.bus.wire import (
    EXPIRED,
    MAX_ID_CHARS,
    SIGN_OF_LIFE,
    Answer,
    BadMessage,
    Request,
    call_id,
    dump,
    load,
    seconds_left,
)
from vixio.core.errors import ToolError, describe
from vixio.core.metrics import Counters
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait

SIGN_OF_LIFE_S: Final = 5.0
"""Seconds between the messages that show that a request is still at work."""

LONGEST_S: Final = 600.0
"""Seconds for a request without a deadline, as TrustGraph's client waits."""

SEND_S: Final = 10.0
"""Seconds for sending one message of an answer."""

_REMEMBERED: Final = 4_096
"""Ids of requests that were taken or cancelled, to recognise what is delivered twice."""

_ENVELOPE_BYTES: Final = 4_096
"""Room for headers and the JSON around a piece."""

Invoke = Callable[[Request], Any]
"""Executes a request: returns text, a JSON value, an async iterator of text, or an awaitable of one
of them. Raises ToolError for a failure that the caller should understand."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """``concurrency``: requests executed at the same time. ``backlog``: further ones that wait for
    their turn; beyond it a request is answered with ``busy``."""

    concurrency: int = 8
    backlog: int = 64


class _Unsent(Exception):
    """A message of an answer could not be sent; the rest would be useless."""


class _Job:
    """A request that was taken.

    ``begun`` is done when its execution begins, or will not. ``spoke``: when something was last
    sent for it, or it was taken.
    """

    __slots__ = ("answered", "begun", "id", "reply_to", "seq", "spoke", "task")

    def __init__(self, id: str, reply_to: str, loop: asyncio.AbstractEventLoop) -> None:
        self.id = id
        self.reply_to = reply_to
        self.begun: asyncio.Future[None] = loop.create_future()
        self.answered = False
        self.seq = 0
        self.spoke = loop.time()
        self.task: asyncio.Task[None] | None = None


class Serving:
    """Serves one queue. Several instances share the requests of a queue.

    Counters: ``service.calls``, ``.failed``, ``.cancelled``, ``.busy``, ``.expired`` (deadline
    passed), ``.duplicates``, ``.bad`` (not of the wire), ``.unsent`` (answers that could not be
    sent).
    """

    def __init__(
        self,
        broker: Broker,
        request_queue: str,
        response_queue: str,
        invoke: Invoke,
        *,
        limits: ServingLimits | None = None,
        counters: Counters | None = None,
    ) -> None:
        self.instance = uuid4().hex
        self.counters = counters or Counters()
        self.limits = limits or ServingLimits()
        self._broker = broker
        self._request_queue = request_queue
        self._response_queue = response_queue
        self._invoke = invoke
        self._slots = asyncio.Semaphore(self.limits.concurrency)
        self._jobs: dict[str, _Job] = {}
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._subscriptions: list[Subscription] = []
        self._living: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def at_work(self) -> int:
        """Requests that are executed or wait for their turn."""
        return len(self._jobs)

    async def start(self) -> None:
        """Begin to take requests."""
        prefetch = self.limits.concurrency + self.limits.backlog
        subscribe = self._broker.subscribe
        cancels = beside(self._request_queue, "cancel")
        self._subscriptions = [
            await subscribe(cancels, "broadcast", self._cancel),
            await subscribe(self._request_queue, "shared", self._take, prefetch=prefetch),
        ]
        self._living = asyncio.create_task(self._show_life(), name="signs of life")

    async def stop(self, grace: float) -> None:
        """Take no more requests, and give those that are at work ``grace`` seconds to end."""
        self._stopping = True
        for subscription in reversed(self._subscriptions[1:]):
            await self._broker.unsubscribe(subscription)
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=SEND_S)
        for subscription in self._subscriptions[:1]:
            await self._broker.unsubscribe(subscription)
        await cancel_and_wait(self._living)

    # ── taking ───────────────────────────────────────────────────────────────────────────────

    async def _take(self, message: Message) -> None:
        """Take a request; returns when it has begun or was answered without beginning."""
        loop = asyncio.get_running_loop()
        try:
            name = call_id(message.headers)
        except BadMessage:
            self.counters.add("service.bad")
            _log.warning("request without an id ignored")
            return
        if name in self._seen:
            self.counters.add("service.duplicates")
            return
        self._remember(name)
        job = _Job(name, message.headers.get("reply_to", ""), loop)
        try:
            request = self._check(message)
        except ToolError as error:
            with suppress(_Unsent):
                await self._fail(job, error)
            return
        self._jobs[name] = job
        job.task = loop.create_task(self._work(job, request), name="tool service call")
        job.task.add_done_callback(lambda _: self._ended(job))
        # The broker's acknowledgement follows the return. What still waits goes to another instance
        # if this one ends; what has begun does not, because it must not be executed twice.
        await job.begun

    def _check(self, message: Message) -> Request:
        """Return the request of a message that may be executed. Raises ToolError."""
        if self._stopping:
            raise ToolError("busy", "the service is stopping", retryable=True)
        if self.at_work >= self.limits.concurrency + self.limits.backlog:
            self.counters.add("service.busy")
            raise ToolError("busy", "the service has too many calls", retryable=True)
        left = seconds_left(message.headers)
        if left is not None and left <= 0:
            self.counters.add("service.expired")
            raise ToolError("timeout", EXPIRED, retryable=True)
        try:
            request = Request.decode(message.body, message.headers)
        except BadMessage as error:
            self.counters.add("service.bad")
            _log.warning("request not understood", extra={"part": str(error)})
            raise ToolError("invalid_arguments", f"not understood: {error}") from error
        if message.redelivered and not request.idempotent:
            self.counters.add("service.duplicates")
            raise ToolError("disconnected", "another instance may have executed the call")
        return request

    async def _cancel(self, message: Message) -> None:
        """Stop the work for a request; one that has not come yet is not begun."""
        try:
            name = load(message.body).get("id")
        except BadMessage:
            self.counters.add("service.bad")
            return
        if not isinstance(name, str) or len(name) > MAX_ID_CHARS:
            self.counters.add("service.bad")
            return
        job = self._jobs.get(name)
        if job is None:
            self._remember(name)
        elif job.task is not None:
            self.counters.add("service.cancelled")
            job.reply_to, job.answered = "", True  # nobody waits for it
            job.task.cancel()

    def _remember(self, id: str) -> None:
        self._seen[id] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def _ended(self, job: _Job) -> None:
        self._jobs.pop(job.id, None)
        if not job.begun.done():
            job.begun.set_result(None)

    # ── executing ────────────────────────────────────────────────────────────────────────────

    async def _work(self, job: _Job, request: Request) -> None:
        """Execute a request in its turn and answer it."""
        try:
            async with self._slots:
                if not job.begun.done():
                    job.begun.set_result(None)
                self.counters.add("service.calls")
                await self._execute(job, request)
        except _Unsent:
            pass  # counted
        except asyncio.CancelledError:
            if not job.answered:
                # Only what had begun may have had an effect.
                kind = "disconnected" if job.begun.done() else "busy"
                error = ToolError(kind, "the service was stopped", retryable=True)
                with suppress(_Unsent):
                    await self._fail(job, error)
            raise
        except ToolError as error:
            await self._failed(job, error)
        except Exception as error:  # noqa: BLE001 - the service's own code; the caller reads the error
            _log.warning("tool service raised", extra={"error": describe(error)})
            lines = f"{type(error).__name__}: {error}".splitlines()
            await self._failed(job, ToolError("failed", lines[0]))

    async def _execute(self, job: _Job, request: Request) -> None:
        left = seconds_left(request.headers)
        limit = LONGEST_S if left is None else min(left, LONGEST_S)
        timer = asyncio.timeout(limit)
        try:
            async with timer:
                result = self._invoke(request)
                if inspect.isawaitable(result):
                    result = await result
                if isinstance(result, AsyncIterator):
                    async with closing(result) as pieces:
                        async for piece in pieces:
                            await self._say(job, str(piece))
                    result = ""
        except TimeoutError:
            if not timer.expired():
                raise
            message = "the service did not finish in time"
            raise ToolError("timeout", message, retryable=True) from None
        if result is None:
            result = ""
        text = result if isinstance(result, str) else dump(result).decode()
        await self._say(job, text, end=True)

    async def _failed(self, job: _Job, error: ToolError) -> None:
        self.counters.add("service.failed")
        with suppress(_Unsent):
            await self._fail(job, error)

    # ── answering ────────────────────────────────────────────────────────────────────────────

    async def _say(self, job: _Job, text: str, *, end: bool = False) -> None:
        """Send a piece of an answer, in several messages where it is long."""
        # A character takes up to six bytes as JSON.
        most = max(1, (self._broker.max_bytes - _ENVELOPE_BYTES) // 6)
        while len(text) > most:
            await self._send(job, Answer(text[:most]))
            text = text[most:]
        if text or end:
            await self._send(job, Answer(text, end_of_stream=end))

    async def _fail(self, job: _Job, error: ToolError) -> None:
        await self._send(job, Answer(end_of_stream=True, error=error))

    async def _send(self, job: _Job, answer: Answer) -> None:
        job.answered = answer.end_of_stream
        seq, job.seq = job.seq, job.seq + 1
        await self._put(job, answer.encode(), {"seq": str(seq)})

    async def _put(self, job: _Job, body: bytes, headers: dict[str, str]) -> None:
        headers |= {"id": job.id, "instance": self.instance}
        job.spoke = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(SEND_S):
                if job.reply_to:
                    await self._broker.reply(job.reply_to, body, headers)
                elif self._response_queue:
                    await self._broker.publish(self._response_queue, body, headers)
        except (BrokerError, TimeoutError) as error:
            self.counters.add("service.unsent")
            raise _Unsent from error

    async def _show_life(self) -> None:
        """Send a sign of life for each request that has been silent.

        Not to callers without ``reply_to``, which know the original wire alone: many of them take
        the first message for the whole answer.
        """
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SIGN_OF_LIFE_S / 2)
            for job in tuple(self._jobs.values()):
                # A second one could overtake a message that is being sent: it has no number.
                silent = loop.time() - job.spoke >= SIGN_OF_LIFE_S / 2
                if silent and job.reply_to and not job.answered:
                    with suppress(_Unsent):
                        await self._put(job, SIGN_OF_LIFE, {})
