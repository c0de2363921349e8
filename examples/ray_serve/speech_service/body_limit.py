"""Refuses a request whose body is too long, before all of it is in memory."""

from __future__ import annotations

from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from speech_service.errors import Refusal

MAX_BYTES = 25 * 2**20
"""OpenAI's limit for a file: a minute of stereo at 48 kHz takes half of it."""


class BodyLimit:
    """An ASGI middleware that counts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MAX_BYTES:
                text = f"the request has more than {MAX_BYTES >> 20} MiB"
                raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
            return message

        await self._app(scope, counted, send)
