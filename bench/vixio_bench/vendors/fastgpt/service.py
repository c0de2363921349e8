"""``POST /api/v1/chat/completions`` as FastGPT, and models without ``chatId``, answer it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import VendorService, deltas

KEY: Final = "fastgpt-of-the-stand-in"
PATH: Final = "/api/v1"


class FastGPTService(VendorService):
    """A model that answers by ``reply``."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.reply: Callable[[str], str] = lambda query: f"You said {query}."
        self.conversations: dict[str, list[str]] = {}
        """What was asked in each, by ``chatId``."""

    @property
    def base_url(self) -> str:
        """As the settings have it."""
        return self.http + PATH

    def routes(self) -> list[web.AbstractRouteDef]:
        return [web.post(PATH + "/chat/completions", self._complete)]

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            body = {"code": 514, "statusText": "unAuthApiKey", "message": "invalid key"}
            return web.json_response(body, status=401)
        asked = await request.json()
        times, query = self.timed(), str(asked["messages"][-1]["content"])
        if not asked.get("stream"):
            self.violated("an answer in one piece")
        self.account.uses += 1
        self.conversations.setdefault(asked.get("chatId", ""), []).append(query)
        answer = web.StreamResponse()
        answer.content_type = "text/event-stream"
        await answer.prepare(request)
        try:
            await asyncio.sleep(self.delays.token)
            for piece in deltas(self.reply(query)):
                times.answers()
                await _send(answer, {"content": piece})
            times.last = perf_counter()
            await _send(answer, {}, "stop")
            await answer.write(b"data: [DONE]\n\n")
            self.account.whole += 1
            await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer


async def _send(answer: web.StreamResponse, delta: dict[str, str], end: str | None = None) -> None:
    event = {
        "id": "",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "",
        "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
    }
    await answer.write(f"data: {json.dumps(event)}\n\n".encode())
