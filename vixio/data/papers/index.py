"""The words of passages in the database: SQLite's FTS5, or PostgreSQL's tsvector.

Both get the words that :mod:`vixio.data.papers.words` cuts, so they find the same. What is here
follows from the passages: it is not in a backup.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from vixio.data.database.database import Row, Transaction, Value

TITLE: Final = 3.0
"""How much more a word counts in the name of a document or a heading than in its text."""

AT_ONCE: Final = 100
"""Rows of one statement."""

_MANY: Final = 500
_ALL: Final = 2**31

_COMMON: Final = 1_000
"""Passages that a word may be in, to be searched beside :data:`_LEAST` rarer ones: it tells little,
and to weigh all of them takes most of the time."""

_LEAST: Final = 4

_MOST_PLACES: Final = 16_383
"""The last position in a tsvector (PostgreSQL 17, 12.11)."""

IndexRow = tuple[int, str, str]
"""A passage's number, and the words of its headings and its text, with spaces."""


async def put(transaction: Transaction, rows: Sequence[IndexRow]) -> None:
    """Add the words of passages that are kept."""
    if transaction.dialect == "sqlite":
        head, shape = (
            "INSERT INTO paper_index (rowid, title, words) VALUES ",
            "(:n{0}, :t{0}, :w{0})",
        )
    else:
        head, shape = (
            "INSERT INTO paper_index (number, words) VALUES ",
            "(:n{0}, CAST(:w{0} AS text)::tsvector)",
        )
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        values: dict[str, Value] = {}
        for at, (number, title, words) in enumerate(some):
            values[f"n{at}"] = number
            if transaction.dialect == "sqlite":
                values |= {f"t{at}": title, f"w{at}": words}
            else:
                values[f"w{at}"] = _tsvector(title, words)
        await transaction.execute(head + ", ".join(map(shape.format, range(len(some)))), **values)


async def best(
    transaction: Transaction, terms: Sequence[str], owners: Sequence[str], limit: int
) -> Mapping[int, float]:
    """Return the passages that say most of ``terms``, by number, with their scores."""
    named = {f"o{at}": owner for at, owner in enumerate(owners)}
    join = (
        "JOIN paper_passages ON paper_passages.number = found.number "
        "JOIN papers ON papers.id = paper_passages.paper_id WHERE papers.state = 'ready' "
        f"AND papers.owner IN ({', '.join(f':{name}' for name in named)}) "
        "ORDER BY score DESC LIMIT :limit"
    )
    search = _by_sqlite if transaction.dialect == "sqlite" else _by_postgresql
    # Among all that say it first, whosever it is; then, if too little is left, among their own.
    rows: Sequence[Row] = []
    for many in (_MANY, _ALL):
        rows = await search(transaction, terms, join, {**named, "limit": limit, "many": many})
        if len(rows) == limit:
            break
    return {row["number"]: float(row["score"]) for row in rows}


async def _by_sqlite(
    transaction: Transaction, terms: Sequence[str], join: str, values: Mapping[str, Value]
) -> Sequence[Row]:
    counts = {}
    for term in terms:
        row = await transaction.fetch_one(
            "SELECT doc FROM paper_index_words WHERE term = :term", term=term
        )
        counts[term] = row["doc"] if row is not None else int(len(term) == 1)
    if not (telling := _telling(counts)):
        return []
    query = " OR ".join(f'"{term}"' + " *" * (len(term) == 1) for term in telling)
    return await transaction.fetch(
        "SELECT found.number, score FROM (SELECT rowid AS number, "  # noqa: S608 - our numbers
        f"-bm25(paper_index, {TITLE}, 1.0) AS score FROM paper_index "
        f"WHERE paper_index MATCH :query ORDER BY score DESC LIMIT :many) AS found {join}",
        query=query,
        **values,
    )


async def _by_postgresql(
    transaction: Transaction, terms: Sequence[str], join: str, values: Mapping[str, Value]
) -> Sequence[Row]:
    """Weigh each word by its rareness: ``ts_rank`` knows its frequency in a passage alone."""
    counted = await transaction.fetch(
        "SELECT query, (SELECT COUNT(*) FROM paper_index WHERE words @@ query::tsquery) AS found, "
        "(SELECT COUNT(*) FROM paper_index) AS total "
        "FROM unnest(string_to_array(CAST(:queries AS text), ' ')) AS query",
        queries=" ".join(_quoted(term) + ":*" * (len(term) == 1) for term in terms),
    )
    if not (telling := _telling({row["query"]: row["found"] for row in counted})):
        return []
    total, scores, more = counted[0]["total"], list[str](), dict[str, Value]()
    for at, (query, count) in enumerate(telling.items()):
        scores.append(
            f"CAST(:i{at} AS float8) * ts_rank('{{1,1,1,1}}', words, CAST(:q{at} AS text)::tsquery)"
        )
        rareness = math.log(1 + (total - count + 0.5) / (count + 0.5))
        more |= {f"q{at}": query, f"i{at}": rareness}
    return await transaction.fetch(
        f"SELECT found.number, score FROM (SELECT number, {' + '.join(scores)} AS score "  # noqa: S608
        "FROM paper_index WHERE words @@ CAST(:query AS text)::tsquery "
        f"ORDER BY score DESC LIMIT :many) AS found {join}",
        query=" | ".join(telling),
        **more,
        **values,
    )


def _telling(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the words that are there, without those that far too many passages have."""
    there = sorted((term for term, count in counts.items() if count), key=lambda each: counts[each])
    kept = [term for at, term in enumerate(there) if at < _LEAST or counts[term] <= _COMMON]
    return {term: counts[term] for term in kept}


async def tidy(transaction: Transaction) -> None:
    """Have the words of a new document found as soon as those of earlier ones.

    A GIN index keeps new rows in a list until autovacuum comes; each search reads all of it, 5 ms a
    word at 4,000 passages.
    """
    if transaction.dialect == "postgresql":
        await transaction.execute("SELECT gin_clean_pending_list('paper_index_words')")


async def erase(transaction: Transaction, which: str, **values: Value) -> int:
    """Erase documents by a condition; return how many it was.

    FTS5 only marks words as deleted: they are removed from its file too.
    """
    gone = await transaction.execute(f"DELETE FROM papers WHERE {which}", **values)  # noqa: S608
    if gone and transaction.dialect == "sqlite":
        await transaction.execute("INSERT INTO paper_index (paper_index) VALUES ('optimize')")
    return gone


def _tsvector(title: str, words: str) -> str:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for at, word in enumerate((title.split() * round(TITLE) + words.split())[:_MOST_PLACES], 1):
        if len(places[word]) < 16:
            places[word].append(str(at))
    return " ".join(f"{_quoted(word)}:{','.join(each)}" for word, each in places.items())


def _quoted(term: str) -> str:
    return "'" + term + "'"  # a word has letters and digits alone
