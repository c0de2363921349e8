"""A stand-in for a model's server: the real protocol over real HTTP, scripted by the test.

The answers here are those of Chat Completions; ``responses_api`` has the others.

Each request takes the next :class:`Answer`. Requests and hang-ups are recorded.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

JsonObject = dict[str, Any]


class Cut:
    """Close the connection."""


@dataclass
class Stall:
    """Send nothing until the test sets ``go`` or the client hangs up."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)


Step = str | Stall | Cut
"""A part of the body, or an event of the connection."""


@dataclass
class Answer:
    """One HTTP response: status, headers, and a body in steps, each sent separately."""

    steps: list[Step]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    before_head: Step | None = None
    piece: int = 0
    """Bytes sent at a time; 0: each step in two pieces."""


@dataclass(frozen=True)
class Call:
    """A tool call that the scripted model makes."""

    id: str
    name: str
    arguments: str


def chunk(delta: JsonObject, finish: str | None = None, **extra: Any) -> str:  # noqa: ANN401 - JSON
    """Return one server-sent event with a chat completion chunk."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **extra,
    }
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def _usage() -> str:
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    return f"data: {json.dumps({**json.loads(chunk({})[6:]), 'choices': [], 'usage': usage})}\n\n"


def text(*pieces: str | Stall | Cut, end: bool = True) -> Answer:
    """Return an answer with the text ``pieces``, one delta each, and stalls and cuts."""
    steps: list[Step] = [chunk({"role": "assistant", "content": ""})]
    steps += [chunk({"content": piece}) if isinstance(piece, str) else piece for piece in pieces]
    if end:
        steps += [chunk({}, "stop"), _usage(), "data: [DONE]\n\n"]
    return Answer(steps)


def calls(*made: Call, saying: str = "", piece: int = 5) -> Answer:
    """Return an answer that calls tools, all at once, arguments in pieces and interleaved."""
    steps: list[Step] = [chunk({"role": "assistant", "content": saying or None})]
    for index, call in enumerate(made):
        function = {"name": call.name, "arguments": ""}
        head = {"index": index, "id": call.id, "type": "function", "function": function}
        steps.append(chunk({"tool_calls": [head]}))
    longest = max((len(call.arguments) for call in made), default=0)
    for start in range(0, longest, piece):
        for index, call in enumerate(made):
            if part := call.arguments[start : start + piece]:
                delta = {"index": index, "function": {"arguments": part}}
                steps.append(chunk({"tool_calls": [delta]}))
    return Answer([*steps, chunk({}, "tool_calls"), _usage(), "data: [DONE]\n\n"])


def refusal(*pieces: str) -> Answer:
    """Return an answer that declines."""
    said = [chunk({"refusal": piece}) for piece in pieces]
    return Answer([chunk({"role": "assistant"}), *said, chunk({}, "stop"), "data: [DONE]\n\n"])


def whole(content: str, **message: Any) -> Answer:  # noqa: ANN401 - JSON
    """Return an answer in one piece, as a request without ``stream`` gets it."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": "stop",
    }
    body = {**json.loads(chunk({})[6:]), "object": "chat.completion", "choices": [choice]}
    return Answer([json.dumps(body)], headers={"content-type": "application/json"})


def failure(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    """Return an HTTP error in the API's form."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([body], status, {"content-type": "application/json", **named})


def listing(*models: str) -> Answer:
    """Return the answer to ``GET /models``."""
    body = json.dumps({"object": "list", "data": [{"id": name} for name in models]})
    return Answer([body], headers={"content-type": "application/json"})


class LLMServer:
    """Listens on a free loopback port while its context is open."""

    def __init__(self) -> None:
        self.requests: list[JsonObject] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.connections = 0
        self.answering = 0
        """How many answers are under way."""
        self.hung_up = asyncio.Event()
        """Set when a client closed its connection during an answer."""
        self.models = failure(404, "no such page")
        """The answer to ``GET /models``, which takes no answer of the script."""
        self.looked = 0
        """How many times it was asked for."""
        self.broken_model = ""
        """Requests for this model get status 503, and take no answer of the script."""
        self._answers: deque[Answer] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0  # the same one when it is started again

    def script(self, *answers: Answer) -> None:
        """Answer the next requests with ``answers``, in order."""
        self._answers.extend(answers)

    @property
    def base_url(self) -> str:
        """The base URL for a client."""
        assert self._port, "it has not been started yet"
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._one_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client is gone
        except asyncio.CancelledError:
            pass  # the test is over; asyncio's server would log a cancelled handler
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        if method == "GET":
            self.looked += 1
            answer = self.models
        else:
            self.paths.append(path)
            self.requests.append(json.loads(body or b"{}"))
            self.keys.append(fields.get("authorization", ""))
            answer = self._next(self.requests[-1])
        gone = asyncio.ensure_future(reader.read(1))  # nothing is sent while an answer is awaited
        self.answering += 1
        try:
            return await self._answer(answer, writer, gone)
        except ConnectionError:  # noticed while sending: the client was gone before the first step
            self.hung_up.set()
            raise
        finally:
            self.answering -= 1
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)

    def _next(self, request: JsonObject) -> Answer:
        if self.broken_model and request.get("model") == self.broken_model:
            return failure(503, "out of order")
        return self._answers.popleft() if self._answers else failure(500, "nothing scripted")

    async def _answer(
        self, answer: Answer, writer: asyncio.StreamWriter, gone: asyncio.Future[bytes]
    ) -> bool:
        if answer.before_head is not None and not await self._happens(answer.before_head, gone):
            return False
        lines = [f"HTTP/1.1 {answer.status} X", "transfer-encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        for step in answer.steps:
            if not isinstance(step, str):
                if not await self._happens(step, gone):
                    return False
                continue
            for piece in _odd_pieces(step.encode(), answer.piece):
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
            if gone.done():
                self.hung_up.set()
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _happens(self, step: Step, gone: asyncio.Future[bytes]) -> bool:
        """Carry out ``step``; return false if the connection is closed."""
        if not isinstance(step, Stall):
            return False
        step.reached.set()
        going = asyncio.ensure_future(step.go.wait())
        try:
            await asyncio.wait((going, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            going.cancel()
        if gone.done():
            self.hung_up.set()
            return False
        return True


def _odd_pieces(data: bytes, size: int) -> Iterable[bytes]:
    """Split at arbitrary places, even inside a character."""
    if size:
        return (data[start : start + size] for start in range(0, len(data), size))
    middle = len(data) // 2
    return (piece for piece in (data[:middle], data[middle:]) if piece)
