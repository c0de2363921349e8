"""A stand-in for a service with OpenAI's API on the loopback interface: models, chat, speech."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.llm_server import chunk
from vixio.cli.diagnostics.phrases import sentence
from vixio.cli.diagnostics.spoken import spoken
from vixio.core.audio import LISTEN_RATE, wav

KEY = "sk-of-the-stand-in-1234567890"
MODEL = "gpt-4.1-mini"


@dataclass
class StandIn:
    """What it answers, and what it was sent. ``key``: the only one that it accepts."""

    answer: str = "I am only a stand-in."
    language: str = "en"
    key: str = KEY
    url: str = ""
    chats: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0

    async def list_models(self, _: web.Request) -> web.Response:
        """Answer ``GET /v1/models``."""
        names = [MODEL, "gpt-other"]
        return web.json_response({"object": "list", "data": [{"id": name} for name in names]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Answer ``POST /v1/chat/completions`` as a stream."""
        self.chats.append(await request.json())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        deltas = [{"role": "assistant", "content": ""}, {"content": self.answer}]
        pieces = [*(chunk(each) for each in deltas), chunk({}, "stop"), "data: [DONE]\n\n"]
        for piece in pieces:
            await response.write(piece.encode())
        return response

    async def speak(self, request: web.Request) -> web.Response:
        """Answer ``POST /v1/audio/speech`` in eSpeak's voice."""
        pcm = await spoken((await request.json())["input"], language=self.language)
        return web.Response(body=wav(pcm, LISTEN_RATE), content_type="audio/wav")

    async def transcribe(self, request: web.Request) -> web.Response:
        """Answer ``POST /v1/audio/transcriptions`` with the sentence of every trial."""
        await request.read()
        return web.json_response({"text": sentence(self.language)})

    @web.middleware
    async def guard(self, request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401
        """Refuse another key as OpenAI does."""
        if request.headers.get("Authorization") == f"Bearer {self.key}":
            found: web.StreamResponse = await handler(request)
            return found
        self.refused += 1
        error = {"message": "Incorrect API key provided.", "code": "invalid_api_key"}
        return web.json_response({"error": error}, status=401)


@asynccontextmanager
async def standing_in(stand_in: StandIn) -> AsyncIterator[StandIn]:
    """Serve it on a free port until the block ends."""
    app = web.Application(middlewares=[stand_in.guard])
    app.router.add_get("/v1/models", stand_in.list_models)
    app.router.add_post("/v1/chat/completions", stand_in.chat)
    app.router.add_post("/v1/audio/transcriptions", stand_in.transcribe)
    app.router.add_post("/v1/audio/speech", stand_in.speak)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        stand_in.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield stand_in
    finally:
        await runner.cleanup()
