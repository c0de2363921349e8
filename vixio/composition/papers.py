"""Joins the documents that users give with the server: folders, embeddings, the tool."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from vixio.composition.registry import opened_database, registry_link
from vixio.core.tools.source import ToolSource
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.papers.folders import PaperFolder, PaperFolders
from vixio.data.papers.reader import PaperLimits, PaperReader
from vixio.data.papers.service import Papers
from vixio.data.papers.tools import PaperTools
from vixio.data.papers.vectors import Vectors
from vixio.providers.openai_client import Embeddings
from vixio.settings import Settings
from vixio.settings.papers import PapersSection


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
        self.papers = Papers(link, reader, vectors, least)
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
