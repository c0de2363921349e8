"""The caller's side: requests that wait for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from vixio.bus.broker import Broker, Message
from vixio.bus.errors import BrokerError, NobodyServes, TooLarge
from vixio.bus.queues import beside
from vixio.bus.wire import (
    EXPIRED,
    MAX_ANSWER_CHARS,
    Answer,
    BadMessage,
    Request,
    call_id,
    deadline_after,
    dump,
)
from vixio.core.errors import ToolError
from vixio.core.metrics import Counters

MAX_WAITING: Final = 4_096
"""Requests of one process that wait for answers; further ones are refused."""

CANCEL_S: Final = 5.0
"""Seconds for sending the message that cancels a request."""

_MAX_CANCELS: Final = 256
"""Cancelling messages on their way; beyond it, a service ends its work at the deadline."""

GONE: Final = "the connection to the broker was lost"


@dataclass(frozen=True, slots=True)
class Route:
    """How a service is reached. ``response_queue``: where it answers if not to ``reply_to``.

    ``idle_timeout``: seconds without any message after which a service counts as gone that gives
    signs of life: one that is ``lively``, and any other from its first one on. ``consumer_queue``:
    the RabbitMQ queue that it takes requests from, if that is not one of this package.
    """

    request_queue: str
    response_queue: str = ""
    idle_timeout: float | None = None
    lively: bool = False
    consumer_queue: str = ""


class _Waiting:
    """A request that waits. ``done`` gets the whole text."""

    __slots__ = (
        "chars",
        "done",
        "heard",
        "idle",
        "instance",
        "next_seq",
        "on_piece",
        "pieces",
        "timer",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_piece: Callable[[str], None] | None
    ) -> None:
        self.done: asyncio.Future[str] = loop.create_future()
        self.on_piece = on_piece
        self.pieces: list[str] = []
        self.chars = 0
        self.next_seq = 0
        self.instance = ""
        self.heard = loop.time()
        self.idle: float | None = None
        self.timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Fail it when nothing has been heard for ``idle`` seconds."""
        if self.idle is None:
            return
        loop = asyncio.get_running_loop()
        left = self.heard + self.idle - loop.time()
        if left > 0:
            self.timer = loop.call_later(left, self.watch)
            return
        message = f"no sign of life from the service within {self.idle:g} s"
        self.fail(ToolError("disconnected", message, retryable=True))

    def end(self) -> None:
        """Let nothing fail it any more; an error that nobody awaited is no news."""
        if self.timer is not None:
            self.timer.cancel()
        if not self.done.cancel() and not self.done.cancelled():
            self.done.exception()

    def fail(self, error: ToolError) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Calls:
    """Sends requests and matches answers to them.

    Counters: ``bus.answers.bad`` (not of the wire), ``.late`` (nothing waits for them).
    """

    def __init__(self, broker: Broker, counters: Counters) -> None:
        self._broker = broker
        self._counters = counters
        self._waiting: dict[str, _Waiting] = {}
        self._cancels: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Return the number of requests that wait."""
        return len(self._waiting)

    async def call(
        self,
        route: Route,
        request: Request,
        timeout: float,
        on_piece: Callable[[str], None] | None = None,
    ) -> str:
        """Return the answer of a service as one text.

        ``on_piece`` is called with each piece of a streamed answer, in order, as it comes.
        ``timeout``: seconds for the whole answer. Raises ToolError. A call that times out or is
        cancelled is cancelled at the service too.
        """
        if not self._broker.connected:
            raise ToolError("disconnected", "the broker is not connected", retryable=True)
        if len(self._waiting) >= MAX_WAITING:
            raise ToolError("busy", f"{MAX_WAITING} calls wait for answers", retryable=True)
        loop = asyncio.get_running_loop()
        name = uuid4().hex
        headers = {
            **request.headers,
            "id": name,
            "reply_to": self._broker.reply_to(name),
        }
        headers.setdefault("deadline", deadline_after(timeout))
        body = request.encode()
        waiting = self._waiting[name] = _Waiting(loop, on_piece)
        waiting.idle = route.idle_timeout
        if route.lively:
            waiting.watch()
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                await self._publish(route, body, headers)
                return await waiting.done
        except TimeoutError:
            self._cancel(route, name)
            message = f"no answer within {timeout:g} s"
            raise ToolError("timeout", message, retryable=True) from None
        except asyncio.CancelledError:
            self._cancel(route, name)
            raise
        except ToolError as error:
            if error.type == "disconnected":
                self._cancel(route, name)  # it may still be at work
            raise
        finally:
            del self._waiting[name]
            waiting.end()

    async def ping(self, route: Route, timeout: float) -> float:
        """Return the seconds in which a service refuses a request that is too late to be executed.

        Raises ToolError if it does not answer. Only for services of this package: others may not
        look at the deadline.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await self.call(route, Request(headers={"deadline": "0"}), timeout)
        except ToolError as error:
            if str(error) != EXPIRED:
                raise
        return loop.time() - began

    async def take(self, message: Message) -> None:
        """Take an answer. Never raises: it may be anything."""
        try:
            waiting = self._waiting.get(call_id(message.headers))
            if waiting is None or waiting.done.done():
                self._counters.add("bus.answers.late")
                return
            if message.nobody:
                waiting.fail(ToolError("disconnected", str(NobodyServes()), retryable=True))
                return
            if not self._in_order(waiting, message):
                return
            answer = Answer.decode(message.body)
        except BadMessage:
            self._counters.add("bus.answers.bad")
            return
        waiting.heard = asyncio.get_running_loop().time()
        if waiting.timer is None and "instance" in message.headers:
            waiting.watch()
        if answer.error is not None:
            waiting.fail(answer.error)
            return
        self._add(waiting, answer)

    def fail_all(self, message: str) -> None:
        """Fail every request that waits."""
        for waiting in self._waiting.values():
            waiting.fail(ToolError("disconnected", message, retryable=True))

    async def close(self) -> None:
        """Fail every request, and wait until cancelling messages are sent or given up."""
        self.fail_all("the connection to the broker is closed")
        if self._cancels:
            await asyncio.wait(tuple(self._cancels), timeout=CANCEL_S)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _publish(self, route: Route, body: bytes, headers: dict[str, str]) -> None:
        queue, consumers = route.request_queue, route.consumer_queue
        try:
            await self._broker.publish(queue, body, headers, answers=True, consumer_queue=consumers)
        except TooLarge as error:
            raise ToolError("invalid_arguments", f"the call is too large: {error}") from error
        except NobodyServes as error:
            raise ToolError("disconnected", str(error), retryable=True) from error
        except BrokerError as error:
            raise ToolError("disconnected", GONE, retryable=True) from error

    def _in_order(self, waiting: _Waiting, message: Message) -> bool:
        """Whether the message is the next one. A service without numbers is believed."""
        instance = message.headers.get("instance", "")
        if waiting.instance and instance != waiting.instance:
            self._counters.add("bus.answers.late")  # another instance has begun to answer
            return False
        seq = message.headers.get("seq")
        if seq is None:
            return True
        if not seq.isascii() or not seq.isdigit():
            raise BadMessage("seq")
        waiting.instance = instance
        number = int(seq[:12])
        if number > waiting.next_seq:
            waiting.fail(ToolError("disconnected", "a part of the answer was lost", retryable=True))
            return False
        if number < waiting.next_seq:
            return False  # delivered twice
        waiting.next_seq += 1
        return True

    def _add(self, waiting: _Waiting, answer: Answer) -> None:
        if answer.response:
            waiting.chars += len(answer.response)
            if waiting.chars > MAX_ANSWER_CHARS:
                message = f"the answer has more than {MAX_ANSWER_CHARS} characters"
                waiting.fail(ToolError("failed", message))
                return
            waiting.pieces.append(answer.response)
            if waiting.on_piece is not None:
                waiting.on_piece(answer.response)
        if answer.end_of_stream:
            waiting.done.set_result("".join(waiting.pieces))

    def _cancel(self, route: Route, id: str) -> None:
        """Tell the service to stop, in the background."""
        if not self._broker.connected or len(self._cancels) >= _MAX_CANCELS:
            return
        task = asyncio.create_task(self._send_cancel(route, id), name="cancel a tool call")
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    async def _send_cancel(self, route: Route, id: str) -> None:
        try:
            async with asyncio.timeout(CANCEL_S):
                queue = beside(route.request_queue, "cancel")
                await self._broker.publish(queue, dump({"id": id}), {"id": id})
        except (BrokerError, TimeoutError):
            self._counters.add("bus.cancels.lost")  # it ends at its deadline
