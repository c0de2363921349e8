"""One agent of Coze: ``/v3/chat``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService, cut, deltas

KEY: Final = "pat_of_the_stand_in"
BOT: Final = "7428123456789012345"

NO_LAST: Final = "no-last"
"""The stream ends without ``conversation.chat.completed``."""


@dataclass
class _Chat:
    """A question under way. ``calls``: what it waits for, by their ids."""

    chat: str
    conversation: str
    words: str
    calls: dict[str, str]
    cancelled: asyncio.Event


class CozeService(VendorService):
    """One agent, which answers by ``reply`` and calls tools by ``calls``."""

    code = 0
    """Every question is refused with this code."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.reply: Callable[[str], str] = lambda query: f"You said {query}."
        self.calls: Callable[[str], list[tuple[str, str]]] = lambda query: []
        """Which tools a question calls, with their arguments."""
        self.conversations: dict[str, list[str]] = {}
        """What was asked in each."""
        self.asked: list[dict[str, Any]] = []
        self.outputs: list[str] = []
        """What the tools returned."""
        self.stopped: list[str] = []
        """The chats that the client cancelled."""
        self._chats: dict[str, _Chat] = {}
        self._busy: set[str] = set()

    @property
    def base_url(self) -> str:
        """As the settings have it."""
        return self.http

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/v1/bot/get_online_info", self._bot),
            web.post("/v3/chat", self._chat),
            web.post("/v3/chat/submit_tool_outputs", self._submit),
            web.post("/v3/chat/cancel", self._cancel),
        ]

    def _refusal(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return _failed(4100, "authentication is invalid", status=401)
        return None

    async def _bot(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        if request.query.get("bot_id") != BOT:
            return _failed(4200, "Requested resource bot_id does not exist")
        return web.json_response({"code": 0, "msg": "", "data": {"bot_id": BOT, "name": "小智"}})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        asked, conversation = await request.json(), request.query.get("conversation_id", "")
        self.asked.append(asked)
        if asked["bot_id"] != BOT:
            return _failed(4200, "Requested resource bot_id does not exist")
        if self.code:
            return _failed(self.code, "refused")
        if conversation and conversation not in self.conversations:
            return _failed(4001, "conversation does not exist")
        if conversation in self._busy:
            return _failed(4016, "There is a conversation in progress")
        (message,) = asked["additional_messages"]
        form = (message["role"], message["type"], message["content_type"], asked["stream"])
        if form != ("user", "question", "text", True) or not asked["user_id"]:
            return _failed(4000, "invalid parameters")
        query = message["content"]
        conversation = conversation or f"conv{len(self.conversations)}"
        self.conversations.setdefault(conversation, []).append(query)
        self.account.uses += 1
        number = len(self.asked)
        calls = {f"call-{number}-{n}": call for n, call in enumerate(self.calls(query))}
        chat = _Chat(
            f"chat{number}",
            conversation,
            self.reply(query),
            {call_id: json.dumps(call) for call_id, call in calls.items()},
            asyncio.Event(),
        )
        self._chats[chat.chat] = chat
        return await self._stream(request, chat)

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        chat = self._chats.get(request.query.get("chat_id", ""))
        if chat is None or chat.conversation != request.query.get("conversation_id"):
            return _failed(4001, "chat does not exist")
        asked = await request.json()
        told = {each["tool_call_id"]: each["output"] for each in asked["tool_outputs"]}
        if set(told) != set(chat.calls):
            self.violated("outputs of other calls than it waits for")
        self.outputs += told.values()
        chat.calls = {}
        return await self._stream(request, chat)

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        asked = await request.json()
        self.stopped.append(asked["chat_id"])
        if chat := self._chats.get(asked["chat_id"]):
            if chat.conversation != asked["conversation_id"]:
                self.violated("a chat of another conversation is cancelled")
            chat.cancelled.set()
            self._busy.discard(chat.conversation)
        data = {"id": asked["chat_id"], "conversation_id": asked["conversation_id"]}
        body = {"code": 0, "msg": "", "data": {**data, "bot_id": BOT, "status": "canceled"}}
        return web.json_response(body)

    async def _stream(self, request: web.Request, chat: _Chat) -> web.StreamResponse:
        trouble = self.trouble()
        answer = web.StreamResponse()
        answer.content_type = "text/event-stream"
        await answer.prepare(request)
        self._busy.add(chat.conversation)  # until it is over there, whoever listens
        try:
            if await self._answer(request, answer, chat, trouble):
                self._busy.discard(chat.conversation)
                self.account.whole += not chat.calls
                await _send(answer, "done", "[DONE]")
                await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.account.cancelled += 1
            raise
        return answer

    async def _answer(
        self, request: web.Request, answer: web.StreamResponse, chat: _Chat, trouble: str
    ) -> bool:
        times = self.timed()
        ids = {"id": chat.chat, "conversation_id": chat.conversation, "bot_id": BOT}
        await _send(answer, "conversation.chat.created", {**ids, "status": "created"})
        await _send(answer, "conversation.chat.in_progress", {**ids, "status": "in_progress"})
        await asyncio.sleep(self.delays.token)
        if chat.calls:
            made = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": dict(zip(("name", "arguments"), json.loads(call), strict=True)),
                }
                for call_id, call in chat.calls.items()
            ]
            wanted = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": made}}
            body = {**ids, "status": "requires_action", "required_action": wanted}
            await _send(answer, "conversation.chat.requires_action", body)
            return True
        message = {
            "id": "m1",
            "chat_id": chat.chat,
            "conversation_id": chat.conversation,
            "role": "assistant",
            "content_type": "text",
        }
        thought = {**message, "type": "verbose", "content": "{}"}
        await _send(answer, "conversation.message.completed", thought)
        for number, piece in enumerate(deltas(chat.words)):
            times.answers()
            body = {**message, "type": "answer", "content": piece, "reasoning_content": "hm"}
            await _send(answer, "conversation.message.delta", body)
            match trouble if number else "":
                case Trouble.CUT:
                    cut(request)
                    return False
                case Trouble.STALL:
                    await chat.cancelled.wait()
                    return False
                case Trouble.GARBAGE:
                    await answer.write(b"event: conversation.message.delta\ndata: {]\n\n")
                    return False
                case Trouble.ERROR:
                    error = {"code": 5000, "msg": "event interval error"}
                    body = {**ids, "status": "failed", "last_error": error}
                    await _send(answer, "conversation.chat.failed", body)
                    self._busy.discard(chat.conversation)
                    return False
        whole = {**message, "type": "answer", "content": chat.words}
        await _send(answer, "conversation.message.completed", whole)
        follow = {**message, "type": "follow_up", "content": "And then?"}
        await _send(answer, "conversation.message.completed", follow)
        if trouble == NO_LAST:
            self._busy.discard(chat.conversation)
            return False
        usage = {"token_count": 30, "input_count": 20, "output_count": 10}
        body = {**ids, "status": "completed", "usage": usage}
        times.last = perf_counter()
        await _send(answer, "conversation.chat.completed", body)
        return True


async def _send(answer: web.StreamResponse, event: str, data: object) -> None:
    text = json.dumps(data, ensure_ascii=False)
    await answer.write(f"event:{event}\ndata:{text}\n\n".encode())


def _failed(code: int, text: str, *, status: int = 200) -> web.Response:
    return web.json_response({"code": code, "msg": text, "detail": {"logid": "0"}}, status=status)
