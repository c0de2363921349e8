"""The API's place in the HTTP server, and all of it that a server imports before FastAPI.

FastAPI and the routes take a few tenths of a second to import, which happens in a thread, behind
the open ports, when the providers have been loaded or when the first request comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from vixio.core.errors import describe
from vixio.core.tasks import cancel_and_wait
from vixio.data.devices.records import RegistryError
from vixio.settings.api import ApiSection
from vixio.transports.admission.access import RegistryUnavailable
from vixio.web.api.first_login import FILE_NAME, make_first_login
from vixio.web.api.ports import Ports
from vixio.web.api.screen_upload import ScreenUpload

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

PATHS: Final = ("/api", "/api/{path:anything}")

LOAD_S: Final = 30.0
"""How long a request waits for the API to be loaded; a small machine takes several seconds."""

RETRY_S: Final = 30.0
"""Before another attempt to make the first login, while the database cannot be used."""

_log = logging.getLogger(__name__)


class ApiMount:
    """Loads the API and passes requests on to it."""

    def __init__(self, settings: ApiSection, ports: Ports) -> None:
        self._settings = settings
        self._ports = ports
        self._app: ASGIApp | None = None
        self._wanted = asyncio.Event()
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        from vixio.web.api.device_commands import serve_device_commands

        serve_device_commands(ports.on_command, ports.memory)

    def routes(self) -> Sequence[Route]:
        """Return the routes for the HTTP server."""
        from starlette.convertors import StringConvertor, register_url_convertor
        from starlette.routing import Route

        class Anything(StringConvertor):
            """A rest of a path; that of Starlette has no line feeds."""

            regex = r"[\s\S]*"

        register_url_convertor("anything", Anything())
        upload = ScreenUpload(self._ports.screens, self._ports.counters)
        pictures = self._ports.pictures
        return [*(Route(path, self) for path in PATHS), upload.route(), pictures.route()]

    def begin(self) -> None:
        """Begin to load."""
        if find_spec("fastapi") is None:
            _log.warning("the HTTP API is not available, install fastapi")
            return
        self._ports.view.begin()
        self._tasks = (
            asyncio.create_task(self._load(), name="api load"),
            asyncio.create_task(self._make_login(), name="api login"),
        )

    async def close(self) -> None:
        """End all tasks, and the streams of events. Idempotent."""
        self._ports.feed.close()
        await cancel_and_wait(*self._tasks)
        await self._ports.drafts.close()
        await self._ports.assistant.close()
        await self._ports.view.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._app is None:
            self._wanted.set()
            if self._tasks:
                await asyncio.wait(self._tasks[:1], timeout=LOAD_S)
        if self._app is not None:
            await self._app({**scope, "path_params": {}}, receive, send)
            return
        from vixio.web.api.problems import response, unavailable

        self._ports.counters.add("api.refused.loading")
        await response(unavailable("the API is not loaded; the server's log may say why"))(
            scope, receive, send
        )

    async def _load(self) -> None:
        ready = asyncio.ensure_future(self._ports.ready())
        wanted = asyncio.ensure_future(self._wanted.wait())
        try:
            await asyncio.wait((ready, wanted), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            wanted.cancel()
        try:
            self._app = await asyncio.to_thread(_make, self._settings, self._ports)
        except Exception as error:  # noqa: BLE001 - the server serves devices without it
            self._ports.counters.add("api.failed")
            _log.error("the HTTP API is not available", extra={"error": describe(error)})

    async def _make_login(self) -> None:
        ports = self._ports
        if not ports.kept:
            return  # the login would end with the process, and nobody could know it
        while True:
            try:
                made = await make_first_login(ports.registry.use, ports.folder)
            except RegistryUnavailable:
                await asyncio.sleep(RETRY_S)
                continue
            except RegistryError as error:
                _log.warning("the HTTP API has no login", extra={"reason": str(error)})
                return
            if made:
                _log.info(
                    "a password for the login admin of the HTTP API was made",
                    extra={"file": str(ports.folder / FILE_NAME)},
                )
            return


def _make(settings: ApiSection, ports: Ports) -> ASGIApp:
    """Import the API and make it; takes a few tenths of a second."""
    from vixio.web.api.app import make_app

    return make_app(settings, ports)
