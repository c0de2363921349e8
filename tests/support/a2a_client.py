"""Clients of the A2A gateway that speak the wire themselves: JSON over HTTP, nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import aiohttp

JsonObject = dict[str, Any]

TOKEN = "token-of-alice-0123456789"
OTHER = "token-of-bob-0123456789ab"
TOKENS = {"alice": TOKEN, "bob": OTHER}

EXTENSION = "urn:vixio:a2a:client-tools:v1"

WEATHER: JsonObject = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


def offered(*tools: JsonObject) -> JsonObject:
    """Return an offer of tools as a data part."""
    metadata = {"type": "tool-definitions", "format": "langchain", "count": len(tools)}
    return {"data": {"tools": list(tools)}, "metadata": metadata}


def results(*each: JsonObject) -> JsonObject:
    """Return results of tools as a data part."""
    return {
        "data": {"tool_results": list(each)},
        "metadata": {"type": "tool-results", "format": "langchain"},
    }


def result(call_id: str, content: object, status: str = "success") -> JsonObject:
    """Return one result."""
    return {"tool_call_id": call_id, "name": "x", "status": status, "content": content}


class RpcError(Exception):
    """An error of the protocol."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]


class Rpc:
    """A client by JSON-RPC of version ``1.0`` or ``0.3``; tasks come in the form of 1.0."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, version: str = "1.0", token: str = TOKEN
    ) -> None:
        self.url = url
        self.version = version
        self._session = session
        self.headers = {"Authorization": f"Bearer {token}"}
        if version != "0.3":
            self.headers["A2A-Version"] = version

    @property
    def old(self) -> bool:
        return self.version == "0.3"

    async def post(self, body: object, **headers: str) -> tuple[int, Any, Any]:
        """Post a body; return status, JSON and headers."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **self.headers, **headers}
        async with self._session.post(self.url, data=data, headers=given) as answer:
            return answer.status, await answer.json(content_type=None), answer.headers

    async def call(self, method: str, params: JsonObject) -> JsonObject:
        """Call a method, by its name in the version; return its result. Raises RpcError."""
        body = {"jsonrpc": "2.0", "id": "7", "method": method, "params": params}
        _, answer, _ = await self.post(body)
        if "error" in answer:
            raise RpcError(answer["error"])
        assert answer["id"] == "7"
        return dict(answer["result"])

    async def send(self, *parts: str | JsonObject, **ids: str) -> JsonObject:
        """Send a message and return its task. Raises RpcError."""
        message = self.message(*parts, **ids)
        method = "message/send" if self.old else "SendMessage"
        answer = await self.call(method, {"message": message})
        return as_1_0(answer if self.old else answer["task"])

    async def stream(self, *parts: str | JsonObject, **ids: str) -> AsyncGenerator[JsonObject]:
        """Send a message and yield the events of its task. Raises RpcError."""
        method = "message/stream" if self.old else "SendStreamingMessage"
        async for event in self.events(method, {"message": self.message(*parts, **ids)}):
            yield event

    async def subscribe(self, task_id: str) -> AsyncIterator[JsonObject]:
        """Yield a task and its further events."""
        method = "tasks/resubscribe" if self.old else "SubscribeToTask"
        async for event in self.events(method, {"id": task_id}):
            yield event

    async def get(self, task_id: str) -> JsonObject:
        """Return a task."""
        return as_1_0(await self.call("tasks/get" if self.old else "GetTask", {"id": task_id}))

    async def cancel(self, task_id: str) -> JsonObject:
        """Cancel a task."""
        method = "tasks/cancel" if self.old else "CancelTask"
        return as_1_0(await self.call(method, {"id": task_id}))

    async def events(self, method: str, params: JsonObject) -> AsyncIterator[JsonObject]:
        """Call a method that streams; yield its results."""
        body = {"jsonrpc": "2.0", "id": "7", "method": method, "params": params}
        async with self._session.post(self.url, json=body, headers=self.headers) as answer:
            if "event-stream" not in answer.headers["Content-Type"]:
                raise RpcError((await answer.json())["error"])
            async for event in events_of(answer):
                if "error" in event:
                    raise RpcError(event["error"])
                yield event["result"]

    def message(self, *parts: str | JsonObject, **ids: str) -> JsonObject:
        """Return a message in the form of the version."""
        made = [{"text": part} if isinstance(part, str) else part for part in parts]
        message: JsonObject = {
            "messageId": uuid4().hex,
            "role": "user" if self.old else "ROLE_USER",
            "parts": made,
            **{name: value for name, value in ids.items() if value},
        }
        if self.old:
            message["kind"] = "message"
            for part in made:
                part["kind"] = "text" if "text" in part else "data"
        return message


async def events_of(answer: aiohttp.ClientResponse) -> AsyncIterator[JsonObject]:
    """Yield the server-sent events of a response."""
    async for line in answer.content:
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


def as_1_0(task: JsonObject) -> JsonObject:
    """Return a task of either version with the names of 1.0."""
    state = task["status"]["state"]
    if not state.startswith("TASK_STATE_"):
        named = f"TASK_STATE_{state.upper().replace('-', '_')}"
        task = {**task, "status": {**task["status"], "state": named}}
    return task


def state_of(task: JsonObject) -> str:
    """Return a task's state, without its prefix."""
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def answer_of(task: JsonObject) -> str:
    """Return the text of a task's answers."""
    return "".join(part["text"] for each in task.get("artifacts", ()) for part in each["parts"])


def calls_of(task: JsonObject) -> Sequence[JsonObject]:
    """Return the calls that a task waits for."""
    for part in task["status"].get("message", {}).get("parts", ()):
        if part.get("metadata", {}).get("type") == "tool-calls":
            return list(part["data"]["tool_calls"])
    return []


def words_of(task: JsonObject) -> str:
    """Return the words of a task's status."""
    parts = task["status"].get("message", {}).get("parts", ())
    return "".join(part.get("text", "") for part in parts)


@asynccontextmanager
async def rpc(http_url: str, version: str = "1.0", token: str = TOKEN) -> AsyncIterator[Rpc]:
    """Open a client of the assistant of a server."""
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield Rpc(session, f"{http_url}/a2a", version, token)
