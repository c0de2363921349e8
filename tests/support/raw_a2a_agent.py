"""An A2A agent of version 0.3 without the SDK, which refuses to send some of what others send."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def raw_agent(answers: Iterator[tuple[Any, int]]) -> AsyncIterator[str]:
    """Serve an A2A agent that gives ``answers`` one after the other; yield its URL."""

    async def card(request: web.Request) -> web.Response:
        skill = {"id": "forecast", "name": "Forecast", "description": "Tell it.", "tags": ["x"]}
        body = {
            "name": "Teller",
            "description": "Tells.",
            "version": "1",
            "skills": [skill],
            "protocolVersion": "0.3.0",
            "preferredTransport": "JSONRPC",
            "url": f"http://{request.host}/rpc",
            "capabilities": {"streaming": False},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
        }
        return web.json_response(body)

    async def rpc(request: web.Request) -> web.Response:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": (await request.json())["id"]}
        value, times = next(answers)
        words = value * max(1, times) if isinstance(value, str) else json.dumps(value)
        parts = [{"kind": "text", "text": words}, {"kind": "data", "data": {"value": value}}]
        if times == 0:
            answer["error"] = {"code": -32000, "message": words, "data": value}
        else:
            answer["result"] = {
                "kind": "message",
                "messageId": "m",
                "role": "agent",
                "parts": parts,
            }
        return web.json_response(answer)

    app = web.Application()
    app.add_routes([web.get("/.well-known/agent-card.json", card), web.post("/rpc", rpc)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
