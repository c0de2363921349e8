"""Server-sent events as a response of Starlette.

The A2A library's own response starts a task that polls for the end of the process, for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from typing import Any, Final

from sse_starlette.event import ServerSentEvent, ensure_bytes
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from vixio.core.clock import now
from vixio.core.tasks import cancel_and_wait
from vixio.web.a2a.error_words import event_in_own_words

PING_S: Final = 15.0
"""Between two comments that keep an idle stream open."""

LONGEST_S: Final = 3_600.0
"""Of one stream; the client may subscribe again."""

_END: Final = object()
_SEPARATOR: Final = "\r\n"


class EventStream(StreamingResponse):
    """Sends ``events``, those of an ``EventSourceResponse``. ``over`` is called at the end."""

    def __init__(self, events: AsyncIterable[Any], over: Callable[[], None]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_encoded(events), media_type="text/event-stream", headers=headers)
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events, or those until the client is gone."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


async def _encoded(events: AsyncIterable[Any]) -> AsyncGenerator[bytes, None]:
    iterator = aiter(events)
    waiting: asyncio.Task[Any] | None = None
    end = now() + LONGEST_S
    try:
        while True:
            waiting = asyncio.create_task(_next(iterator))
            while not (await asyncio.wait((waiting,), timeout=PING_S))[0]:
                if now() > end:
                    return
                yield b": ping\r\n\r\n"
            if (event := waiting.result()) is _END:
                return
            yield ensure_bytes(_own(event), _SEPARATOR)
    finally:
        await cancel_and_wait(waiting)
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()


def _own(event: Any) -> Any:  # noqa: ANN401 - an event of any form
    if isinstance(event, dict) and isinstance(event.get("data"), str):
        return {**event, "data": event_in_own_words(event["data"])}
    if isinstance(event, ServerSentEvent) and isinstance(event.data, str):
        event.data = event_in_own_words(event.data)
    return event


async def _next(iterator: AsyncIterator[Any]) -> Any:  # noqa: ANN401 - an event of any form
    try:
        return await anext(iterator)
    except StopAsyncIteration:
        return _END
