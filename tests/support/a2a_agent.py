"""A small A2A agent, made with the A2A SDK, on a loopback port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Message,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.servers import free_port
from vixio.web.http.server import HttpServer

logging.getLogger("a2a").setLevel(logging.CRITICAL)  # it logs a traceback for each broken client

Spoken = Literal["1.0", "0.3", "rest"]

FORECAST = {
    "id": "forecast",
    "name": "Forecast",
    "description": "Tells the weather.",
    "tags": ["weather"],
    "examples": ["Will it rain in Paris tomorrow?"],
}


@dataclass
class Work:
    """One message that the agent handles."""

    text: str
    context_id: str
    task_id: str
    skill: str
    updater: TaskUpdater
    queue: EventQueue
    earlier: list[str]
    """What was said before in this context."""

    def say(self, text: str) -> Message:
        """Return a message of the agent."""
        return self.updater.new_agent_message([new_text_part(text)])

    async def artifact(self, *texts: str, id: str = "answer", append: bool = False) -> None:
        """Send pieces of an artifact, the first one ``append``ed or not."""
        for number, text in enumerate(texts):
            parts: list[Part] = [new_text_part(text)]
            await self.updater.add_artifact(parts, id, append=append or number > 0)

    async def data(self, value: object) -> None:
        """Send data as an artifact of its own."""
        await self.updater.add_artifact([new_data_part(value)], "data")

    async def reply(self, text: str) -> None:
        """Answer with a message in place of a task."""
        message = self.say(text)
        message.ClearField("task_id")
        await self.queue.enqueue_event(message)


Handler = Callable[[Work], Awaitable[None]]


@dataclass
class RemoteAgent(AgentExecutor):
    """Handles a message by its first word; what it saw is kept."""

    spoken: Spoken = "1.0"
    streaming: bool = True
    skills: Sequence[Mapping[str, Any]] = (FORECAST,)
    token: str = ""
    handlers: dict[str, Handler] = field(default_factory=dict)
    contexts: dict[str, list[str]] = field(default_factory=dict)
    seen: list[Work] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    card: dict[str, Any] = field(default_factory=dict)
    """Replaces keys of the card."""
    port: int = 0

    def take_port(self) -> None:
        """Choose the port now, so that the URL is known before it is served."""
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, word: str, handler: Handler) -> None:
        self.handlers[word] = handler

    def count(self, path: str) -> int:
        """Return how many requests came for ``path``."""
        return sum(each == path for each, _ in self.requests)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        assert context.task_id
        assert context.context_id
        earlier = self.contexts.setdefault(context.context_id, [])
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        metadata = context.message.metadata if context.message else {}
        skill = str(metadata["skillId"]) if "skillId" in metadata else ""
        work = Work(
            text, context.context_id, context.task_id, skill, updater, event_queue, list(earlier)
        )
        earlier.append(text)
        self.seen.append(work)
        word = text.split()[0]
        if word != "reply" and context.current_task is None:
            await event_queue.enqueue_event(_task(context))
        await self.handlers[word if word in self.handlers else "*"](work)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id
        assert context.context_id
        self.cancelled.append(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    def whole_card(self) -> dict[str, Any]:
        """Return the card, in the form of the version that it speaks."""
        common = {
            "name": "Weather man",
            "description": "Knows the weather.",
            "version": "1",
            "capabilities": {"streaming": self.streaming},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": list(self.skills),
        }
        if self.spoken == "0.3":
            own: dict[str, Any] = {
                "url": f"{self.url}/rpc",
                "protocolVersion": "0.3.0",
                "preferredTransport": "JSONRPC",
            }
        else:
            kind = ("HTTP+JSON", "/rest") if self.spoken == "rest" else ("JSONRPC", "/rpc")
            interface = {
                "url": f"{self.url}{kind[1]}",
                "protocolBinding": kind[0],
                "protocolVersion": "1.0",
            }
            own = {"supportedInterfaces": [interface]}
        return {**common, **own, **self.card}

    def app(self) -> tuple[Starlette, DefaultRequestHandlerV2]:
        """Return the agent as an ASGI application, and what runs its tasks."""
        handler = DefaultRequestHandlerV2(
            agent_executor=self,
            task_store=InMemoryTaskStore(),
            agent_card=AgentCard(
                name="Weather man",
                capabilities=AgentCapabilities(streaming=self.streaming),
                supported_interfaces=[
                    AgentInterface(
                        url="http://x/rpc", protocol_binding="JSONRPC", protocol_version="1.0"
                    )
                ],
            ),
        )

        async def card(request: Request) -> Response:
            return JSONResponse(self.whole_card())

        routes = [
            Route("/.well-known/agent-card.json", card),
            *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
        app = Starlette(routes=routes)
        app.add_middleware(_Look, agent=self)
        return app, handler

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[RemoteAgent]:
        """Serve it, on the port that it had before if it was served before."""
        app, handler = self.app()
        server = HttpServer(app, "127.0.0.1", self.port)
        await server.start()
        self.port = server.port
        try:
            yield self
        finally:
            async with asyncio.timeout(90):
                await server.stop()
                await handler.aclose()
                await _end_watcher()


def echoing_agent(spoken: Spoken = "1.0", *, streaming: bool = True) -> RemoteAgent:
    """Return an agent that repeats what it is told."""

    async def echo(work: Work) -> None:
        await work.artifact(f"You said: {work.text}")
        await work.updater.complete()

    agent = RemoteAgent(spoken, streaming)
    agent.on("*", echo)
    return agent


async def _end_watcher() -> None:
    """End the task that sse-starlette leaves on each loop that has sent an event stream."""
    watchers = [
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__name__", "") == "_shutdown_watcher"
    ]
    for task in watchers:
        task.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)


def _task(context: RequestContext) -> Task:
    return Task(
        id=context.task_id,
        context_id=context.context_id,
        status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
        history=[context.message] if context.message else [],
    )


class _Look:
    """Notes each request, and refuses those without the token."""

    def __init__(self, app: ASGIApp, agent: RemoteAgent) -> None:
        self._app = app
        self._agent = agent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._agent.requests.append((scope["path"], dict(headers)))
        token = self._agent.token
        if token and headers.get("authorization") != f"Bearer {token}":
            await Response("no", 401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)
