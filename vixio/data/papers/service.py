"""Documents as a running server offers them: added, searched, erased."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from vixio.core.backoff import Backoff
from vixio.core.clock import now
from vixio.core.errors import VixioError, describe
from vixio.core.tasks import cancel_and_wait
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.papers.reader import PaperReader
from vixio.data.papers.records import Found, Paper, PaperError, Passage, is_address
from vixio.data.papers.repository import PaperRepository
from vixio.data.papers.vectors import Vectors
from vixio.data.papers.words import terms_of, words_of

T = TypeVar("T")

_log = logging.getLogger(__name__)

RESULTS: Final = 4
"""Passages that answer a question."""

CANDIDATES: Final = 40
"""Passages of each kind of search that are put in one order."""

_RANK: Final = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""

_PART: Final = 400
"""Passages that are written at once."""

EMBEDDED_AT_ONCE: Final = 32
"""Passages of one request to the service."""

_VECTORS_AT_ONCE: Final = 2_000

_PAUSES: Final = Backoff(first=5.0, longest=300.0)
"""Before a service for embeddings that failed is asked again."""

_LOOK_S: Final = 2.0
"""How long a change that another process made may stay unnoticed, at least."""


Fetch = Callable[[str, bool], Awaitable[tuple[str, bytes]]]
"""Returns name and content of the web page at an address. The flag: it may be in a private network.

Raises PaperError.
"""


class PapersUnavailable(PaperError):
    """The database cannot be used at the moment. A retry can help."""


class Papers:
    """``vectors`` None: documents are found by words alone. ``least``: likeness of a meaning."""

    def __init__(
        self,
        link: Link[Database],
        reader: PaperReader,
        vectors: Vectors | None = None,
        least: float = 0.0,
        fetch: Fetch | None = None,
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Called when documents were added or removed, here or by another process."""
        self.any = False
        """Whether there are documents, as far as it is known."""
        self._link = link
        self._reader = reader
        self._vectors = vectors
        self._least = least
        self._fetch = fetch
        self._mark = (0, 0)
        self._failures = 0
        self._silent_until = 0.0
        self._look = asyncio.Event()
        self._embed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def max_bytes(self) -> int:
        """Of one document."""
        return self._reader.limits.size

    def begin(self, *, embeds: bool) -> None:
        """Follow the database from now on. ``embeds``: this process asks for missing vectors."""
        self.look()
        self._tasks.append(asyncio.create_task(self._follow(), name="papers"))
        if embeds and self._vectors is not None:
            self._tasks.append(asyncio.create_task(self._fill(), name="paper vectors"))

    async def close(self) -> None:
        """End what is under way. Idempotent."""
        await cancel_and_wait(*self._tasks)

    def look(self) -> None:
        """Look, soon, whether documents have changed."""
        self._look.set()

    async def use(self, work: Callable[[PaperRepository], Awaitable[T]]) -> T:
        """Run ``work`` on the documents. Raises PaperError, PapersUnavailable."""
        operation: Operation[Database, T] = Operation(
            lambda database: work(PaperRepository(database)), refusals=(PaperError,)
        )
        try:
            return await self._link.call(operation)
        except Unavailable:
            raise PapersUnavailable("the database cannot be reached: try again") from None
        except Rejected:
            raise PaperError("the database does not take this document") from None

    async def add(
        self, owner: str, name: str, content: bytes, origin: str = "", digest: str = ""
    ) -> Paper:
        """Read a document and have it found, in place of an earlier one of its name and origin.

        Of one from a folder (``origin``) that cannot be read, that is kept, with the reason. Of
        others that raises PaperError.
        """
        digest = digest or hashlib.sha256(content).hexdigest()
        problem, passages = "", list[Passage]()
        try:
            passages = list(await self._reader.read(name, content))
        except PaperError as error:
            if not origin or is_address(origin):
                raise PaperError(f"{name}: {error}") from None
            problem = str(error)
            _log.warning("document not read", extra={"reason": problem})
        paper_id = await self.use(
            lambda repository: repository.begin(owner, name, origin, digest, len(content))
        )
        for start in range(0, len(passages), _PART):
            part = passages[start : start + _PART]
            await self.use(partial(PaperRepository.put, paper_id=paper_id, passages=part))
        pages = max((each.page for each in passages), default=0)
        paper = await self.use(lambda repository: repository.end(paper_id, pages, problem))
        self.look()
        return paper

    async def add_page(self, owner: str, address: str, *, private: bool) -> Paper:
        """Fetch a web page once, and add it with its address as its origin.

        ``private``: it may be in a private network. Raises PaperError.
        """
        if self._fetch is None:
            raise PaperError("web pages are not fetched here")
        address = address.partition("#")[0]
        name, content = await self._fetch(address, private)
        return await self.add(owner, name, content, address)

    async def remove(self, paper: str) -> Paper:
        """Erase a document. Raises PaperError."""
        gone = await self.use(lambda repository: repository.remove(paper))
        self.look()
        return gone

    async def erase(self, owner: str | None) -> int:
        """Erase all documents of an owner, or all; return how many it was. Raises PaperError."""
        number = await self.use(lambda repository: repository.erase(owner))
        self.look()
        return number

    async def search(
        self, question: str, owners: Sequence[str], limit: int = RESULTS
    ) -> Sequence[Found]:
        """Return what answers a question in the documents of ``owners``, the best first.

        Raises PaperError.
        """
        terms = terms_of(question)
        meant = asyncio.create_task(self._by_meaning(question, owners))
        try:
            said = await self.use(lambda repository: repository.by_words(terms, owners, CANDIDATES))
            orders = [said, await meant]
        finally:
            await cancel_and_wait(meant)
        scores: dict[int, float] = {}
        for order in orders:
            for rank, number in enumerate(order, 1):
                scores[number] = scores.get(number, 0.0) + 1 / (_RANK + rank)
        best = sorted(scores, key=lambda each: -scores[each])[: 3 * limit]
        found = await self.use(lambda repository: repository.passages(best, owners))
        similar = set(orders[1])
        answers = list[Found]()
        for number in best:
            if len(answers) == limit:
                break
            if number in found and (number in similar or _says(found[number], terms)):
                answers.append(replace(found[number], score=scores[number]))
        return answers

    async def _by_meaning(self, question: str, owners: Sequence[str]) -> Sequence[int]:
        vectors = self._vectors
        if vectors is None or now() < self._silent_until:
            return []
        try:
            await vectors.catch_up(self._read_vectors)
            found = await vectors.nearest(question, owners, self._least, CANDIDATES)
        except VixioError as error:
            self._failed(error)
            return []
        self._failures = 0
        return found

    def _failed(self, error: VixioError) -> None:
        self._failures += 1
        pause = _PAUSES.delay(self._failures)
        self._silent_until = now() + pause
        _log.warning(
            "embeddings unavailable, documents are found by words alone",
            extra={"reason": describe(error), "pause_s": round(pause)},
        )

    async def _read_vectors(self, model: str, after: int) -> Sequence[tuple[int, str, bytes]]:
        return await self.use(lambda repository: repository.vectors(model, after, _VECTORS_AT_ONCE))

    async def _follow(self) -> None:
        """Know whether there are documents."""
        while True:
            await self._look.wait()
            self._look.clear()
            try:
                mark = await self.use(PaperRepository.mark)
            except PapersUnavailable:
                await self._link.usable()
                self._look.set()
                continue
            if mark != self._mark:
                if mark[0] < self._mark[0] and self._vectors is not None:
                    self._vectors.forget()
                self._mark, self.any = mark, mark[0] > 0
                self._embed.set()
                self.on_change()
            await asyncio.sleep(_LOOK_S)

    async def _fill(self) -> None:
        """Ask for the vectors of passages that have none."""
        vectors = self._vectors
        assert vectors is not None  # noqa: S101 - begin() looks
        while True:
            await self._embed.wait()
            self._embed.clear()
            try:
                while texts := await self.use(
                    lambda repository: repository.without_vector(vectors.model, EMBEDDED_AT_ONCE)
                ):
                    await vectors.catch_up(self._read_vectors)
                    made = await vectors.make(list(texts.values()))
                    new = dict(zip(texts, made, strict=True))
                    await self.use(
                        partial(PaperRepository.put_vectors, model=vectors.model, vectors=new)
                    )
                    self._failures = 0
            except VixioError as error:
                if not isinstance(error, PaperError):
                    self._failed(error)
                self._embed.set()
                await asyncio.sleep(_PAUSES.delay(max(1, self._failures)))


def _says(found: Found, terms: Sequence[str]) -> bool:
    """Whether a passage says a fair part of what is asked; a single common word is chance."""
    there = set(words_of(f"{found.document} {found.heading} {found.text}"))
    return len(there.intersection(terms)) >= math.ceil(len(terms) / 5) or len(terms) == 1
