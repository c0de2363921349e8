"""Joins the documents that users give with the server: folders, embeddings, the tool."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from vixio.composition.registry import opened_database, registry_link
from vixio.core.errors import ToolError
from vixio.core.tools.source import ToolSource
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.papers.folders import PaperFolder, PaperFolders
from vixio.data.papers.reader import PaperLimits, PaperReader
from vixio.data.papers.reading import KINDS
from vixio.data.papers.records import PaperError
from vixio.data.papers.service import Papers
from vixio.data.papers.tools import PaperTools
from vixio.data.papers.vectors import Vectors
from vixio.providers.openai_client import Embeddings
from vixio.settings import Settings
from vixio.settings.papers import PapersSection

PAGE_S: Final = 30.0
"""In which a web page has come, with its redirects."""

_AGENT: Final = "Mozilla/5.0 (compatible; Vixio)"
"""Some servers refuse a request without a browser's name."""

_TYPES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
"""Endings of the documents that are read, by their media types."""

_BY_NAME: Final = ("", "text/plain", "application/octet-stream", "binary/octet-stream")
"""Media types that say less than the ending of the address."""


class PaperServices:
    """The part of a server. ``profile_of``: the profile of a device by its id.

    ``keeps``: whether this process follows folders and asks for vectors; one of a server does.
    """

    def __init__(
        self,
        section: PapersSection,
        link: Link[Database],
        profile_of: Callable[[str], str] = lambda _device_id: "",
        *,
        keeps: bool = True,
    ) -> None:
        self._section = section
        self._keeps = keeps
        self._embeddings: Embeddings | None = None
        vectors, least = None, 0.0
        if (chosen := section.embeddings) is not None:
            self._embeddings = Embeddings(
                chosen.base_url, chosen.model, chosen.api_key, chosen.timeout
            )
            vectors, least = Vectors(self._embeddings, chosen.model), chosen.least_score
        reader = PaperReader(PaperLimits(size=section.max_file_mb * 2**20))
        self.papers = Papers(link, reader, vectors, least, partial(page_at, reader.limits.size))
        self._tools = PaperTools(self.papers, profile_of)
        folders = [
            PaperFolder(Path(each.path).expanduser().absolute(), each.profile, each.person)
            for each in section.folders
        ]
        self._folders = PaperFolders(self.papers, folders)

    @property
    def sources(self) -> Sequence[ToolSource]:
        """The tool of the agent."""
        return [self._tools] if self._section.enabled else []

    def begin(self) -> None:
        """Begin to follow documents. Returns at once."""
        if self._section.enabled:
            self.papers.begin(embeds=self._keeps)
            if self._keeps and self._section.folders:
                self._folders.begin()

    async def close(self) -> None:
        """End everything. Idempotent."""
        await self._folders.close()
        await self.papers.close()
        if self._embeddings is not None:
            await self._embeddings.close()


@asynccontextmanager
async def opened_papers(settings: Settings) -> AsyncIterator[Papers]:
    """Open the documents for a command. Raises DatabaseFailed, and ConfigError for a database that
    ends with the server."""
    async with opened_database(settings):  # says what is wrong with it
        pass
    link = registry_link(settings)
    services = PaperServices(settings.papers, link)
    try:
        yield services.papers
    finally:
        await services.close()
        await link.close()


async def page_at(most: int, address: str, private: bool) -> tuple[str, bytes]:
    """Return the name and the content of the web page at an address, of ``most`` bytes.

    Unless ``private``, neither it nor a redirect leads into a private network. Raises PaperError.
    """
    # Not while a server starts, nor on the event loop.
    await asyncio.to_thread(__import__, "httpx2")
    from vixio.tools.rest.client import RestClient
    from vixio.tools.rest.network import NOT_PUBLIC
    from vixio.tools.rest.request import RestRequest

    host = _host(address)
    request = RestRequest("GET", address, {"User-Agent": _AGENT, "Accept": "*/*"}, None)
    client, content = RestClient(elsewhere=True), bytearray()
    try:
        async with (
            asyncio.timeout(PAGE_S),
            client.open(request, timeout=PAGE_S, private=private) as answer,
        ):
            if answer.status_code != 200:
                raise PaperError(f"{host} answers with {answer.status_code}")
            name = _page_name(address, answer.headers.get("content-type", ""))
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > most:
                    raise PaperError(f"{host}: it has more than {most // 2**20} MB")
    except TimeoutError:
        raise PaperError(f"{host}: it has not come within {PAGE_S:.0f} s") from None
    except ToolError as error:
        if str(error).startswith(NOT_PUBLIC):
            raise PaperError(
                f"{host}: {NOT_PUBLIC}: `vixio papers add` on the server's machine takes it"
            ) from None
        raise PaperError(f"{host}: {error}") from None
    finally:
        await client.close()
    return name, bytes(content)


def _host(address: str) -> str:
    """Return the host of an address of the web. Raises PaperError."""
    try:
        parts = urlsplit(address)
        if parts.scheme.lower() in ("http", "https") and parts.hostname and parts.port != 0:
            if parts.username or parts.password:
                raise PaperError("an address with a password is not kept: leave it out")
            return parts.hostname
    except ValueError:
        pass  # no port, no IPv6 address
    raise PaperError("expected an address of the web, with its host")


def _page_name(address: str, media_type: str) -> str:
    """Return the name of a document: of its address, with the ending of its type.

    Raises PaperError for what is not read.
    """
    parts = urlsplit(address)
    path = PurePosixPath(re.sub(r"[\x00-\x1f\x7f\\]", " ", unquote(parts.path)))
    known = path.suffix.lower() in KINDS
    kind = media_type.partition(";")[0].strip().lower()
    ending = path.suffix if known and kind in _BY_NAME else _TYPES.get(kind)
    if ending is None:
        words = "PDF, Word (.docx), Markdown, text and web pages are read"
        raise PaperError(f"{parts.hostname} answers with {kind or 'no media type'}: {words}")
    return ((path.stem if known else path.name) or str(parts.hostname))[:190] + ending
