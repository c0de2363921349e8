"""A client of the HTTP API, and a server for it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from vixio.testing import ScriptedTTS
from vixio.web.api.keys import Keys
from vixio.web.api.scopes import Scope

SPEECHLESS: Mapping[str, Callable[[], Any]] = {
    "asr": lambda: WaveformASR({}),
    "tts": lambda: ScriptedTTS(seconds_per_char=0.01),
}
"""Recognisers and voices are processes, which begin with each server."""

DEFAULTS: Mapping[str, Any] = {}
"""The providers of the settings."""


@dataclass
class Answer:
    """An answer of the API."""

    status: int
    headers: Any
    body: Any
    """Its JSON; None: it has none."""


@dataclass
class Client:
    """Sends requests with one token."""

    http: aiohttp.ClientSession
    url: str
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def __call__(self, method: str, path: str, body: object = None, **more: Any) -> Answer:  # noqa: ANN401 - of aiohttp
        """Send a request; check what holds for every answer."""
        headers = {**self.headers, **more.pop("headers", {})}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            more["json"] = body
        async with self.http.request(
            method, f"{self.url}/api/v1{path}", headers=headers, **more
        ) as answer:
            text = await answer.text()
            kind = answer.content_type
            found = Answer(
                answer.status,
                answer.headers,
                json.loads(text) if text else None,
            )
        assert answer.headers["Cache-Control"] == "no-store"
        if found.status >= 400:
            assert kind == "application/problem+json"
            assert found.body["status"] == found.status
            assert found.body["detail"]
            assert "\n" not in found.body["detail"]
        return found


@dataclass
class ApiServer:
    """A running server and clients of it."""

    server: RunningServer
    http: aiohttp.ClientSession

    async def loaded(self) -> None:
        """Wait until the API is there.

        A fixture of a module has to: it is made in a thread, in which libraries silence warnings,
        and pytest sets up the warnings of each test anew.
        """
        async with self.http.get(f"{self.server.http_url}/api/v1/openapi.json") as answer:
            assert answer.status == 200

    async def token(self, *scopes: Scope) -> str:
        """Make a personal token."""
        _, text = await self.server.app.registry.use(
            lambda database: Keys(database).create("test", scopes, "test")
        )
        return text

    async def client(self, *scopes: Scope) -> Client:
        """Return a client with a token of these scopes; none: without a token."""
        return self.bearer(await self.token(*scopes) if scopes else "")

    def bearer(self, token: str, **headers: str) -> Client:
        """Return a client with this token."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Client(self.http, self.server.http_url, token, named)


@asynccontextmanager
async def api_server(
    folder: Path,
    *,
    loaded: bool = True,
    made: Mapping[str, Any] | None = None,
    **sections: dict[str, Any],
) -> AsyncIterator[ApiServer]:
    """Run a server with a registry in ``folder``; ``loaded`` false: do not wait for it to load.

    ``made``: providers in the place of those of the settings, as for ``serving``. By default it
    understands no speech and speaks silence, if ``sections`` name no others: what the API does with
    real ones is the matter of few tests, which say ``made=DEFAULTS``.
    """
    if made is None:
        made = {kind: make() for kind, make in SPEECHLESS.items() if kind not in sections}
    sections["data"] = {"folder": str(folder / "data"), "database": ""}
    sections["api"] = {"enabled": True, **sections.get("api", {})}
    async with (
        serving(settings(**sections), loaded=loaded, **made) as server,
        aiohttp.ClientSession() as http,
    ):
        yield ApiServer(server, http)
