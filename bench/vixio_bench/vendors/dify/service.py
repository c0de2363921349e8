"""One application of Dify: ``/v1/chat-messages``."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService, cut, deltas

KEY: Final = "app-of-the-stand-in"

REPLACED: Final = "replaced"
"""The answer is replaced behind its words."""
NO_LAST: Final = "no-last"
"""The stream ends without ``message_end``."""


class DifyService(VendorService):
    """One application, which answers by ``reply``."""

    kind = "agent_message"
    """The event of a piece: ``agent_message`` of an agent, ``message`` of a chat."""
    code = ""
    """Every question is refused with this code."""
    needs: tuple[str, ...] = ()
    """Inputs that the application asks for."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.reply: Callable[[str], str] = lambda query: f"You said {query}."
        self.conversations: dict[str, list[str]] = {}
        """What was asked in each."""
        self.asked: list[dict[str, Any]] = []
        """The requests."""
        self.stopped: list[str] = []
        """The tasks that the client stopped."""
        self._running: dict[str, asyncio.Event] = {}

    @property
    def base_url(self) -> str:
        """As the settings have it."""
        return f"{self.http}/v1"

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/v1/parameters", self._parameters),
            web.post("/v1/chat-messages", self._chat),
            web.post("/v1/chat-messages/{task}/stop", self._stop),
        ]

    def _refusal(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return _refused(401, "unauthorized", "Access token is invalid")
        return None

    async def _parameters(self, request: web.Request) -> web.StreamResponse:
        return self._refusal(request) or web.json_response({"user_input_form": []})

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        task = request.match_info["task"]
        self.stopped.append(task)
        if not (await request.json()).get("user"):
            self.violated("a stop without its user")
        if event := self._running.get(task):
            event.set()
        return web.json_response({"result": "success"})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        asked = await request.json()
        self.asked.append(asked)
        trouble = self.trouble()
        if trouble == Trouble.BUSY:
            return _refused(429, "too_many_requests", "Too many requests.")
        if self.code:
            return _refused(400, self.code, "refused")
        if missing := [name for name in self.needs if not asked["inputs"].get(name)]:
            return _refused(400, "invalid_param", f"{missing[0]} is required in input form")
        if not asked.get("user") or asked.get("response_mode") != "streaming":
            return _refused(400, "invalid_param", "user or response_mode")
        conversation = asked.get("conversation_id") or str(uuid.uuid4())
        if asked.get("conversation_id") and conversation not in self.conversations:
            return _refused(404, "not_found", "Conversation Not Exists.")
        self.conversations.setdefault(conversation, []).append(asked["query"])
        self.account.uses += 1
        answer = web.StreamResponse()
        answer.content_type = "text/event-stream"
        await answer.prepare(request)
        ids = {
            "task_id": str(uuid.uuid4()),
            "message_id": str(uuid.uuid4()),
            "conversation_id": conversation,
        }
        self._running[ids["task_id"]] = asyncio.Event()
        try:
            if await self._answer(request, answer, ids, asked["query"], trouble):
                self.account.whole += 1
                await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer

    async def _answer(
        self,
        request: web.Request,
        answer: web.StreamResponse,
        ids: dict[str, str],
        query: str,
        trouble: str,
    ) -> bool:
        """Send the events of an answer; return whether it came to its end."""
        times, words = self.timed(), self.reply(query)
        await answer.write(b"event: ping\n\n")
        await _send(answer, {"event": "agent_thought", "thought": "", **ids})
        await asyncio.sleep(self.delays.token)
        for number, piece in enumerate(deltas(words)):
            times.answers()
            await _send(answer, {"event": self.kind, "answer": piece, **ids})
            match trouble if number else "":
                case Trouble.CUT:
                    cut(request)
                    return False
                case Trouble.STALL:
                    await self._running[ids["task_id"]].wait()
                    return False
                case Trouble.GARBAGE:
                    await answer.write(b"data: {]\n\n")
                    return False
                case Trouble.ERROR:
                    error = {"status": 500, "code": "internal_server_error", "message": "no model"}
                    await _send(answer, {"event": "error", **error, **ids})
                    return False
        if trouble == REPLACED:
            await _send(answer, {"event": "message_replace", "answer": "I may not.", **ids})
        times.last = perf_counter()
        if trouble != NO_LAST:
            usage = {"prompt_tokens": 12, "completion_tokens": len(words)}
            await _send(answer, {"event": "message_end", "metadata": {"usage": usage}, **ids})
        return True


async def _send(answer: web.StreamResponse, event: dict[str, Any]) -> None:
    await answer.write(f"data: {json.dumps(event)}\n\n".encode())


def _refused(status: int, code: str, message: str) -> web.Response:
    body = {"status": status, "code": code, "message": message}
    return web.json_response(body, status=status)
