"""The console's place in the HTTP server: its pages, and the headers that keep them to themselves.

The console is a client of the public API. This module serves its files and its help alone: whoever
may fetch them may use nothing by it. Files stand under a version made of their contents, so that
browsers keep them for good, and a page that is open while the server is updated notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vixio.core.metrics import Counters
from vixio.transports.admission.hosts import HostPolicy
from vixio.web.console.assets import HELP, Asset, Assets, make_asset, read_assets
from vixio.web.console.help import render

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PATH: Final = "/console/"

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types vixio",
    )
)
"""Nothing from elsewhere, no inline code, no frames, no script made of text."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(self), geolocation=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

KEPT: Final = "public, max-age=31536000, immutable"
"""Of files whose URL names their version."""

ASKED: Final = "no-cache"
"""Of the index and the help: a browser asks whether they are still the same."""

FOREIGN_NAME: Final = (
    "This name is none of the server's: call it by its address, or list the name in api.hosts.\n"
)


class ConsoleSite:
    """Serves the files. ``hosts``: by which names, against DNS rebinding."""

    def __init__(self, hosts: HostPolicy, counters: Counters) -> None:
        self._hosts = hosts
        self._counters = counters
        self._reading: asyncio.Future[Assets] | None = None
        self._help_pages: dict[str, asyncio.Future[Asset]] = {}

    def routes(self) -> Sequence[Route]:
        """Return the routes for the HTTP server."""
        from starlette.routing import Route

        return [
            Route(PATH.rstrip("/"), self._redirect, methods=["GET"]),
            Route(PATH, self._index, methods=["GET"]),
            Route(f"{PATH}{{version}}/{{path:path}}", self._file, methods=["GET"]),
        ]

    def begin(self) -> None:
        """Do nothing: files are read when they are first asked for."""

    async def close(self) -> None:
        """Wait for what is being read and rendered. Idempotent."""
        if self._reading is not None:
            await asyncio.wait([self._reading])
        if self._help_pages:
            await asyncio.wait(self._help_pages.values())

    async def _redirect(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        return self._refusal(request) or RedirectResponse("console/", 308, dict(HEADERS))

    async def _index(self, request: Request) -> Response:
        if refusal := self._refusal(request):
            return refusal
        assets = await self._assets()
        return _answer(request, assets.index, ASKED, assets.version)

    async def _file(self, request: Request) -> Response:
        if refusal := self._refusal(request):
            return refusal
        assets = await self._assets()
        version, path = request.path_params["version"], request.path_params["path"]
        if version == "help" and path in assets.help_pages:
            return _answer(request, await self._help(path, assets), ASKED, assets.version)
        asset = assets.files.get(path)
        if asset is None or version != assets.version:
            return _text(
                "Nothing is here: the server may have been updated. Reload the page.\n", 404
            )
        return _answer(request, asset, KEPT, assets.version)

    async def _help(self, name: str, assets: Assets) -> Asset:
        if name not in self._help_pages:
            self._help_pages[name] = asyncio.ensure_future(asyncio.to_thread(_render, name, assets))
        return await asyncio.shield(self._help_pages[name])

    def _refusal(self, request: Request) -> Response | None:
        if self._hosts.allows(request.headers.get("host", "")):
            return None
        self._counters.add("console.refused.host")
        return _text(FOREIGN_NAME, 403)

    async def _assets(self) -> Assets:
        if self._reading is None:
            self._reading = asyncio.ensure_future(asyncio.to_thread(read_assets))
        return await asyncio.shield(self._reading)


def _render(name: str, assets: Assets) -> Asset:
    frame = assets.files[HELP].content.decode()
    return make_asset(HELP, render(name, frame, assets.version).encode())


def _answer(request: Request, asset: Asset, cached: str, version: str) -> Response:
    from starlette.responses import Response

    tag = f'"{version}"'
    headers = {**HEADERS, "Cache-Control": cached, "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = asset.media_type
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(asset.content, headers=headers)
    return Response(asset.compressed, headers={**headers, "Content-Encoding": "gzip"})


def _text(text: str, status: int) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(text, status, {**HEADERS, "Cache-Control": "no-store"})
