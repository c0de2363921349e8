"""Documents in the database: kept, listed, erased, found."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Final

from vixio.core.wall_clock import now_ms
from vixio.data.database.database import Database, Row, Transaction, Value
from vixio.data.papers import index
from vixio.data.papers.records import Found, Paper, PaperError, Passage, State
from vixio.data.papers.words import words_of

LOCK: Final = "vixio.papers"

_PAPERS: Final = (
    "SELECT papers.*, "
    "(SELECT COUNT(*) FROM paper_passages WHERE paper_id = papers.id) AS passages FROM papers"
)

ABANDONED_MS: Final = 600_000
"""A document whose passages are not all there after this was left by a process that ended."""


class PaperRepository:
    """The operations on an open database. ``clock``: milliseconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], int] = now_ms) -> None:
        self._database = database
        self._clock = clock

    async def all(self, owner: str | None = None) -> Sequence[Paper]:
        """Return the documents of an owner, or of all, by name."""
        where, values = ("", {}) if owner is None else (" AND owner = :owner", {"owner": owner})
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                f"{_PAPERS} WHERE state <> 'reading'{where} ORDER BY owner, name, id", **values
            )
        return [_paper(row) for row in rows]

    async def find(self, paper: str) -> Paper:
        """Return a document by its id, or by a name that only one has. Raises PaperError."""
        found = [each for each in await self.all() if paper in (each.id, each.name)]
        if len(found) != 1:
            what = "several documents are" if found else "no document is"
            raise PaperError(f"{what} called {paper!r}: `vixio papers list` shows their ids")
        return found[0]

    async def person(self, name: str) -> str | None:
        """Return the id of a person by name, whatever its case; None: there is none."""
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch("SELECT id, name FROM people")
        wanted = " ".join(name.casefold().split())
        return next((row["id"] for row in rows if row["name"].casefold() == wanted), None)

    async def mark(self) -> tuple[int, int]:
        """Return what changes when documents do: how many are ready, and when the last came."""
        async with self._database.transaction(write=False) as transaction:
            row = await transaction.fetch_one(
                "SELECT COUNT(*) AS ready, COALESCE(MAX(added_at), 0) AS last FROM papers "
                "WHERE state = 'ready'"
            )
        assert row is not None  # noqa: S101 - an aggregate has one row
        return row["ready"], row["last"]

    async def begin(self, owner: str, name: str, origin: str, digest: str, size: int) -> str:
        """Begin to keep a document; return its id. It is found when :meth:`end` was called."""
        paper_id, at = secrets.token_hex(8), self._clock()
        async with self._database.transaction() as transaction:
            await transaction.execute(
                "DELETE FROM papers WHERE state = 'reading' AND added_at < :at",
                at=at - ABANDONED_MS,
            )
            await transaction.execute(
                "INSERT INTO papers (id, owner, name, origin, digest, size, pages, state, problem, "
                "added_at) VALUES (:id, :owner, :name, :origin, :digest, :size, 0, 'reading', '', "
                ":at)",
                id=paper_id,
                owner=owner,
                name=name,
                origin=origin,
                digest=digest,
                size=size,
                at=at,
            )
        return paper_id

    async def put(self, paper_id: str, passages: Sequence[Passage]) -> None:
        """Keep some passages of a document."""
        async with self._database.transaction() as transaction:
            await transaction.lock(LOCK)
            row = await transaction.fetch_one("SELECT MAX(number) AS last FROM paper_passages")
            # By the time, so that the number of a passage that is gone does not come again.
            first = max((row["last"] or 0) + 1 if row else 1, self._clock() * 1_000)
            numbered = list(enumerate(passages, first))
            for start in range(0, len(numbered), index.AT_ONCE):
                await _keep(transaction, paper_id, numbered[start : start + index.AT_ONCE])
            await index.put(transaction, [(number, *each.words) for number, each in numbered])

    async def end(self, paper_id: str, pages: int, problem: str = "") -> Paper:
        """Have a document found, in place of an earlier one of its name and origin."""
        async with self._database.transaction() as transaction:
            await transaction.execute(
                "DELETE FROM papers WHERE id <> :id AND EXISTS (SELECT 1 FROM papers AS new WHERE "
                "new.id = :id AND new.owner = papers.owner AND new.name = papers.name "
                "AND new.origin = papers.origin)",
                id=paper_id,
            )
            await transaction.execute(
                "UPDATE papers SET state = :state, pages = :pages, problem = :problem, "
                "added_at = :at WHERE id = :id",
                id=paper_id,
                state=State.FAILED if problem else State.READY,
                pages=pages,
                problem=problem,
                at=self._clock(),
            )
            await index.tidy(transaction)
            row = await transaction.fetch_one(f"{_PAPERS} WHERE id = :id", id=paper_id)
        if row is None:
            raise PaperError("it was removed while it was read")
        return _paper(row)

    async def remove(self, paper: str) -> Paper:
        """Erase a document. Raises PaperError."""
        found = await self.find(paper)
        await self._erase("id = :id", id=found.id)
        return found

    async def erase(self, owner: str | None = None) -> int:
        """Erase the documents of an owner, or all; return how many it was."""
        if owner is None:
            return await self._erase("1 = 1")
        return await self._erase("owner = :owner", owner=owner)

    async def drop(self, paper_ids: Sequence[str]) -> None:
        """Erase documents whose files are gone, without the cost of tidying."""
        async with self._database.transaction() as transaction:
            for each in paper_ids:
                await transaction.execute("DELETE FROM papers WHERE id = :id", id=each)

    async def by_words(
        self, terms: Sequence[str], owners: Sequence[str], limit: int
    ) -> Sequence[int]:
        """Return the numbers of the passages that say most of ``terms``, the best first."""
        if not terms:
            return []
        async with self._database.transaction(write=False) as transaction:
            return list(await index.best(transaction, terms, owners, limit))

    async def passages(self, numbers: Sequence[int], owners: Sequence[str]) -> dict[int, Found]:
        """Return passages by their numbers, as far as they are of these owners."""
        values: dict[str, Value] = {f"n{at}": number for at, number in enumerate(numbers)}
        values |= {f"o{at}": owner for at, owner in enumerate(owners)}
        which = ", ".join(f":n{at}" for at in range(len(numbers)))
        whose = ", ".join(f":o{at}" for at in range(len(owners)))
        if not numbers:
            return {}
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT number, paper_id, name, page, heading, text FROM paper_passages "  # noqa: S608
                "JOIN papers ON papers.id = paper_id "
                f"WHERE number IN ({which}) AND owner IN ({whose}) AND state = 'ready'",
                **values,
            )
        return {
            row["number"]: Found(
                row["paper_id"], row["name"], row["page"], row["heading"], row["text"], 0.0
            )
            for row in rows
        }

    async def without_vector(self, model: str, limit: int) -> dict[int, str]:
        """Return texts of passages that have no vector of a model, by number."""
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT paper_passages.number, name, heading, text FROM paper_passages "
                "JOIN papers ON papers.id = paper_id LEFT JOIN paper_vectors "
                "ON paper_vectors.number = paper_passages.number "
                "AND model = :model WHERE model IS NULL "
                "ORDER BY paper_passages.number LIMIT :limit",
                model=model,
                limit=limit,
            )
        # With the name: what a page is about often stands on the cover alone.
        return {row["number"]: f"{row['name']}\n{row['heading']}\n{row['text']}" for row in rows}

    async def put_vectors(self, model: str, vectors: dict[int, bytes]) -> None:
        """Keep the vectors of passages, as far as these are still there."""
        async with self._database.transaction() as transaction:
            for number, vector in vectors.items():
                if await transaction.fetch_one(
                    "SELECT 1 AS one FROM paper_passages WHERE number = :number", number=number
                ):
                    await transaction.execute(
                        "INSERT INTO paper_vectors (number, model, vector) "
                        "VALUES (:number, :model, :vector) ON CONFLICT (number) DO UPDATE "
                        "SET model = excluded.model, vector = excluded.vector",
                        number=number,
                        model=model,
                        vector=vector,
                    )

    async def vectors(self, model: str, after: int, limit: int) -> Sequence[tuple[int, str, bytes]]:
        """Return number, owner and vector of passages behind a number, in their order."""
        async with self._database.transaction(write=False) as transaction:
            rows = await transaction.fetch(
                "SELECT paper_vectors.number, owner, vector FROM paper_vectors "
                "JOIN paper_passages ON paper_passages.number = paper_vectors.number "
                "JOIN papers ON papers.id = paper_id "
                "WHERE model = :model AND paper_vectors.number > :after "
                "ORDER BY paper_vectors.number LIMIT :limit",
                model=model,
                after=after,
                limit=limit,
            )
        return [(row["number"], row["owner"], row["vector"]) for row in rows]

    async def _erase(self, which: str, **values: Value) -> int:
        async with self._database.transaction() as transaction:
            gone = await index.erase(transaction, which, **values)
        await self._database.purge()
        return gone


async def index_again(database: Database) -> None:
    """Make the index of all passages, which a backup does not have."""
    after = -1
    while True:
        async with database.transaction() as transaction:
            rows = await transaction.fetch(
                "SELECT number, name, heading, text FROM paper_passages "
                "JOIN papers ON papers.id = paper_id "
                "WHERE number > :after ORDER BY number LIMIT 500",
                after=after,
            )
            if not rows:
                await index.tidy(transaction)
                return
            await index.put(transaction, [_indexed(row) for row in rows])
        after = rows[-1]["number"]


async def _keep(
    transaction: Transaction, paper_id: str, numbered: Sequence[tuple[int, Passage]]
) -> None:
    values: dict[str, Value] = {"paper": paper_id}
    for at, (number, each) in enumerate(numbered):
        values |= {f"n{at}": number, f"p{at}": each.page}
        values |= {f"h{at}": each.heading, f"t{at}": each.text}
    rows = ", ".join(f"(:n{at}, :paper, :p{at}, :h{at}, :t{at})" for at in range(len(numbered)))
    await transaction.execute(
        f"INSERT INTO paper_passages (number, paper_id, page, heading, text) VALUES {rows}",  # noqa: S608
        **values,
    )


def _indexed(row: Row) -> index.IndexRow:
    stem = row["name"].rpartition(".")[0] or row["name"]
    title = words_of(f"{stem} {row['heading']}")
    return row["number"], " ".join(title), " ".join(words_of(row["text"]))


def _paper(row: Row) -> Paper:
    return Paper(**{**row, "state": State(row["state"])})
