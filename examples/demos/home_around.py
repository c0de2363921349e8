"""What the demo ``home`` needs around its server: a document, the API, a user's own tool server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from examples.demos import home_sound
from vixio.cli.demo.conversation import PATIENCE
from vixio.core.errors import ConfigError
from vixio.core.tasks import cancel_and_wait
from vixio.settings import Settings
from vixio_bench.home_assistant import HomeAssistantService
from vixio_bench.vendors.ready.service import ReadyService

TITLE: Final = "Wintry Morning"
MANUAL: Final = "boiler-manual.pdf"
PAGES: Final = (
    "Owner's manual of the boiler.",
    "Safety. Never open the cover.",
    "Reset. To reset the boiler, press the red button for five seconds.",
)
PROFILE: Final = "home"
DEGREES: Final = 17
SURF_S: Final = 80.0

_DONE: Final = "The coffee is ready."


def pdf(pages: tuple[str, ...]) -> bytes:
    """Return a minimal PDF: a page for each text, of one line in ASCII without parentheses."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 50 780 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * at} 0 R "
            "/Resources << /Font << /F 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    file, places = "%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{file}xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>"
        f"\nstartxref\n{len(file)}\n%%EOF\n"
    ).encode("ascii")


class Api:
    """The HTTP API of the server. Raises ConfigError where it refuses a request."""

    def __init__(self, http: ClientSession, url: str) -> None:
        self._http = http
        self._url = f"{url}/api/v1"
        self._token = ""

    async def log_in(self, password: str) -> None:
        """Log in as the console does."""
        self._token = (await self("POST", "/login", {"password": password}))["token"]

    async def __call__(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request; return the JSON of the answer."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        async with self._http.request(
            method, f"{self._url}{path}", json=body, headers=headers
        ) as answer:
            text = await answer.text()
            if not answer.ok:
                raise ConfigError(f"{method} {path}: HTTP {answer.status} {text[:300]}")
            return json.loads(text) if text else {}


class CoffeeMachine:
    """A user's own MCP server at the access point. ``calls``: the tools that were called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    @asynccontextmanager
    async def connected(self, http: ClientSession, url: str) -> AsyncIterator[None]:
        """Serve until the block ends."""
        async with http.ws_connect(url) as socket:
            serving = asyncio.create_task(self._serve(socket))
            try:
                yield
            finally:
                await cancel_and_wait(serving)

    async def _serve(self, socket: ClientWebSocketResponse) -> None:
        async for frame in socket:
            message = json.loads(frame.data) if frame.type is WSMsgType.TEXT else {}
            if "id" in message and "method" in message:
                result = self._answer(message["method"], message.get("params") or {})
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                await socket.send_json(answer)

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "coffee machine", "version": "1"},
                }
            case "tools/list":
                schema = {"type": "object", "properties": {}}
                tool = {
                    "name": "make_coffee",
                    "description": "Make the coffee",
                    "inputSchema": schema,
                }
                return {"tools": [tool]}
            case "tools/call":
                self.calls.append(params["name"])
                return {"content": [{"type": "text", "text": _DONE}]}
        return {}


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the server. ``folder``: of documents, music, and what is written down."""

    folder: Path
    ready: ReadyService
    home: HomeAssistantService
    coffee: CoffeeMachine
    surf: home_sound.Samples

    @property
    def record(self) -> Path:
        """What the pasted MCP server writes down."""
        return self.folder / "garden.txt"

    def paste(self) -> str:
        """Return what a desktop program has in its settings for that server."""
        garden = {
            "command": sys.executable,
            "args": ["-m", "examples.demos.house_mcp", str(self.record)],
            "env": {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        }
        return json.dumps({"mcpServers": {"garden": garden}}, indent=2)


def settings(around: Around) -> Settings:
    """Return the settings: each part of them is a few lines of a file."""
    return Settings.model_validate(
        {
            "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
            "memory": {"store": "none"},
            "data": {"folder": str(around.folder / "data"), "database": ""},
            "assistant": {"language": "en", "filler_after": 0},
            "timeouts": PATIENCE,
            "asr": {"name": "moonshine"},
            "agent": {"name": "phrasebook"},
            "tts": {"name": "piper"},
            "api": {"programs": True},
            "papers": {"folders": [{"path": str(around.folder / "papers")}]},
            "mcp_servers": {"house": around.home.section},
            "tools": {
                "ready": [
                    "calculator",
                    *({name: section} for name, section in around.ready.settings().items()),
                ],
                "media": {"folders": [str(around.folder / "music")]},
            },
        }
    )


@asynccontextmanager
async def standing(folder: Path) -> AsyncIterator[Around]:
    """Write the files and run the services until the block ends."""
    surf = await asyncio.to_thread(home_sound.surf, SURF_S)
    await asyncio.to_thread(home_sound.write_wav, folder / "music" / f"{TITLE}.wav", surf)
    (folder / "papers").mkdir()
    (folder / "papers" / MANUAL).write_bytes(pdf(PAGES))
    async with ReadyService() as ready, HomeAssistantService() as home:
        ready.temperature = DEGREES + 0.2
        yield Around(folder, ready, home, CoffeeMachine(), surf)
