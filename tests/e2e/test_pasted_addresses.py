"""An address that is pasted: what stands there decides what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.e2e.api_client import Client, api_server
from tests.support.raw_a2a_agent import raw_agent
from vixio.web.api.scopes import Scope

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Garden", "version": "1"},
    "paths": {
        "/water": {"post": {"operationId": "water_plants", "summary": "Water the plants"}},
        "/soil": {"get": {"operationId": "read_soil", "summary": "Tell how dry the soil is"}},
    },
}


@asynccontextmanager
async def garden(asked: list[str]) -> AsyncIterator[str]:
    """Serve an API with its document; yield the document's address."""

    async def document(request: web.Request) -> web.Response:
        return web.json_response({**DOCUMENT, "servers": [{"url": f"http://{request.host}"}]})

    async def answer(request: web.Request) -> web.Response:
        asked.append(f"{request.method} {request.path}")
        return web.json_response({"soil": "dry"})

    app = web.Application()
    app.add_routes([web.get("/openapi.json", document), web.get("/soil", answer)])
    app.add_routes([web.post("/water", answer)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/openapi.json"
    finally:
        await runner.cleanup()


async def tried(call: Client, url: str) -> dict[str, Any]:
    answer = await call("POST", "/tools/try", {"text": url})
    assert answer.status == 200, answer.body
    (source,) = answer.body["sources"]
    assert isinstance(source, dict)
    return source


async def test_an_openapi_document_becomes_tools_of_which_a_reading_one_is_called(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    async with garden(asked) as url, api_server(tmp_path, api={"programs": True}) as api:
        call = await api.client(Scope.ADMIN)
        source = await tried(call, url)
        assert (source["type"], source["ok"]) == ("openapi", True), source
        assert [each["name"] for each in source["tools"]] == ["read_soil", "water_plants"]
        assert source["called"] == "read_soil"
        assert "dry" in source["answer"]
        assert asked == ["GET /soil"]


async def test_the_card_of_an_agent_becomes_its_skills(tmp_path: Path) -> None:
    answers = iter([("Sunny.", 1)])
    async with raw_agent(answers) as url, api_server(tmp_path, api={"programs": True}) as api:
        call = await api.client(Scope.ADMIN)
        source = await tried(call, f"{url}/.well-known/agent-card.json")
        assert (source["type"], source["ok"]) == ("a2a", True), source
        assert len(source["tools"]) == 1


async def test_the_private_network_is_refused_to_a_person_in_the_console(tmp_path: Path) -> None:
    asked: list[str] = []
    async with garden(asked) as url, api_server(tmp_path) as api:
        call = await api.client(Scope.ADMIN)
        answer = await call("POST", "/tools/try", {"text": url})
        assert answer.status == 422, answer.body
        assert "not on the public internet" in answer.body["mistakes"][0]["message"]
        assert asked == []
