"""The demo's remote agent, which speaks A2A 1.0: a cook that reads out a recipe piece by piece.

It has one skill and one method, which is all that the conversation needs of the protocol.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from vixio.web.http.server import HttpServer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

SKILL: Final = "get_recipe"

# The last word has more than four letters: a shorter one could be an abbreviation, and its sentence
# would be spoken only once the next one begins.
BEGINNING: Final = ("Beat two eggs ", "with some butter. ")
END: Final = ("Then bake it ", "for twenty minutes, ", "and enjoy it.")

LISTENING_S: Final = 60.0
"""Seconds that the cook waits for a listener."""

_METHOD: Final = "SendStreamingMessage"


class Cook:
    """Reads the end of its recipe only once ``heard`` is set. ``asked``: what it was asked."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.asked: list[str] = []

    def card(self, url: str) -> dict[str, Any]:
        """Return the agent card for the agent at ``url``."""
        skill = {"id": SKILL, "name": "Recipe", "description": "Reads a recipe.", "tags": ["food"]}
        binding = {"url": f"{url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return {
            "name": "Cook",
            "description": "Knows recipes.",
            "version": "1",
            "supportedInterfaces": [binding],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [skill],
        }

    async def answer(self, message: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a task (A2A 1.0 section 4.2)."""
        self.asked.append("".join(part.get("text", "") for part in message["parts"]))
        ids = {"taskId": uuid4().hex, "contextId": message.get("contextId") or uuid4().hex}
        status = {"state": "TASK_STATE_WORKING"}
        yield {"task": {"id": ids["taskId"], "contextId": ids["contextId"], "status": status}}
        for number, piece in enumerate(BEGINNING):
            yield _piece(ids, piece, append=number > 0)
        try:
            async with asyncio.timeout(LISTENING_S):
                await self.heard.wait()
        except TimeoutError:
            yield {"statusUpdate": {**ids, "status": {"state": "TASK_STATE_FAILED"}}}
            return
        for piece in END:
            yield _piece(ids, piece, append=True)
        yield {"statusUpdate": {**ids, "status": {"state": "TASK_STATE_COMPLETED"}}}


def _piece(ids: Mapping[str, str], text: str, *, append: bool) -> dict[str, Any]:
    artifact = {"artifactId": "recipe", "parts": [{"text": text}]}
    return {"artifactUpdate": {**ids, "artifact": artifact, "append": append}}


@asynccontextmanager
async def cooking(cook: Cook) -> AsyncIterator[str]:
    """Serve the agent on a free loopback port until the block ends; yields its URL."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Route

    async def card(request: Request) -> Response:
        return JSONResponse(cook.card(_url(server)))

    async def rpc(request: Request) -> Response:
        call = await request.json()
        head = {"jsonrpc": "2.0", "id": call.get("id")}
        if call.get("method") != _METHOD:
            error = {"code": -32601, "message": f"the cook knows {_METHOD} only"}
            return JSONResponse({**head, "error": error})

        async def events() -> AsyncIterator[str]:
            async for event in cook.answer(call["params"]["message"]):
                yield f"data: {json.dumps({**head, 'result': event})}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    routes = [
        Route("/.well-known/agent-card.json", card),
        Route("/rpc", rpc, methods=["POST"]),
    ]
    server = HttpServer(Starlette(routes=routes), "127.0.0.1", 0)
    await server.start()
    try:
        yield _url(server)
    finally:
        await server.stop()


def _url(server: HttpServer) -> str:
    return f"http://127.0.0.1:{server.port}"
