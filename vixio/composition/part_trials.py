"""Tries the parts of a running server: with `vixio check --live`'s code, on the providers in use.

One trial at a time in a process: each costs what a turn costs, at services too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from vixio.core.errors import ProviderError, VixioError
from vixio.core.messages import LOADING
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait
from vixio.providers.fallback.candidates import Candidate, FallbackProvider
from vixio.transports.admission.access import RegistryUnavailable
from vixio.web.api.server_view import CheckBusy, CheckEnded, PartName, TriedPart

if TYPE_CHECKING:
    from vixio.cli.diagnostics.row import Row
    from vixio.cli.diagnostics.trials import Trial, Trials
    from vixio.data.database.database import Database
    from vixio.providers.pool.loader import ProviderLoader
    from vixio.server import Server

PART_S: Final = 20.0
"""For one part; a turn would not wait longer for any."""

ALL_S: Final = 90.0
"""For all of them. What was not tried by then is not in the answer, and a line says so."""

SPEECH: Final = ("tts", "vad", "asr")
"""Each is tried with the output of the one before."""


class PartTrials:
    """One server's, in this process."""

    def __init__(self, app: Server) -> None:
        self._app = app
        self._running: asyncio.Task[list[TriedPart]] | None = None
        self._closed = False

    async def run(self, part: PartName | None) -> Sequence[TriedPart]:
        """Try all parts of the default profile, or one. Raises CheckBusy, CheckEnded."""
        if self._closed:
            raise CheckEnded
        if self._running is not None and not self._running.done():
            raise CheckBusy
        task = self._running = asyncio.create_task(self._run(part), name="try parts")
        await asyncio.wait((task,))
        if task.cancelled():
            raise CheckEnded
        return task.result()

    async def close(self) -> None:
        """End a trial that runs. Idempotent."""
        self._closed = True
        await cancel_and_wait(self._running)

    async def _run(self, part: PartName | None) -> list[TriedPart]:
        found: list[TriedPart] = []
        limit = asyncio.timeout(ALL_S)
        try:
            async with limit, closing(self._parts(part)) as parts:
                async for each in parts:
                    found.append(each)  # noqa: PERF401 - what came before the limit is kept
        except TimeoutError:
            if not limit.expired():
                raise
            left = f"the rest was not tried: all together took longer than {ALL_S:g} s"
            found.append(_tried(part or "all", "", ok=False, detail=left))
        return found

    async def _parts(self, part: PartName | None) -> AsyncIterator[TriedPart]:
        if part not in ("tools", "database"):
            async with closing(self._providers(part)) as rows:
                async for each in rows:
                    yield each
        if part in (None, "tools"):
            async with closing(self._tools()) as rows:
                async for row in rows:
                    yield of_row(row)
        if part in (None, "database"):
            yield await self._database()

    async def _providers(self, part: PartName | None) -> AsyncIterator[TriedPart]:
        live, trials = await asyncio.to_thread(_load)  # imports numpy and more, the first time
        chosen = only(trials.sorted_by_kind(self._in_use()), part)
        rows = live.rows_of(self._app.settings, chosen, lambda _: None, PART_S)
        async with closing(rows) as found:
            async for row in found:
                if part is None or row.part.partition("[")[0] == part:
                    yield of_row(row)

    def _in_use(self) -> Iterator[tuple[str, Trial[Any]]]:
        """Yield the providers of the default profile, by kind; those of a list one by one."""
        from vixio.cli.diagnostics.trials import Trial

        for loader in self._app.providers.default_loaders():
            kind = str(loader.choice.kind)
            provider = loader.provider
            if isinstance(provider, FallbackProvider) and provider.alternatives and loader.ready:
                for place, each in _alternatives(provider):
                    yield kind, Trial(f"{kind}{place}", _candidate_use(each))
            else:
                yield kind, Trial(kind, _loader_use(loader))

    async def _tools(self) -> AsyncIterator[Row]:
        live_tools, rows = await asyncio.to_thread(_load_tools)
        for source in self._app.tools.sources:
            row = rows.Row(f"tools.{source.name}", source.name)
            await live_tools.try_source(self._app.tools, source, row, PART_S)
            yield row

    async def _database(self) -> TriedPart:
        async def ask(database: Database) -> str:
            async with database.transaction(write=False) as transaction:
                await transaction.fetch_one("SELECT 1 AS one")
            return database.place

        began = perf_counter()
        try:
            async with asyncio.timeout(PART_S):
                place = await self._app.registry.use(ask)
        except (RegistryUnavailable, TimeoutError):
            words = self._app.registry.problem() or "it cannot be reached: see the log"
            return _tried("database", "", ok=False, detail=words)
        except VixioError as error:
            return _tried("database", "", ok=False, detail=str(error))
        return _tried("database", place, ok=True, ms=_ms(perf_counter() - began), detail="answers")


def _load() -> tuple[Any, Any]:
    """Import what tries parts; takes a few tenths of a second."""
    from vixio.cli.diagnostics import live, trials

    return live, trials


def _load_tools() -> tuple[Any, Any]:
    from vixio.cli.diagnostics import live_tools, row

    return live_tools, row


def only(trials: Trials, part: str | None) -> Trials:
    """Return the trials that a part needs: VAD and ASR hear what the voice says."""
    if part is None:
        return trials
    needed: Sequence[str] = (part,)
    if part in SPEECH:  # the detector finds out whether what the voice says is speech
        needed = SPEECH if part == "asr" else SPEECH[:2]
    left: dict[str, Any] = {kind: () for kind in (*SPEECH, "agent", "vision") if kind not in needed}
    return replace(trials, **left)


def _alternatives(provider: FallbackProvider[Any]) -> Iterator[tuple[str, Candidate[Any]]]:
    """Yield each provider of a list and each of its servers, with its place."""
    for index, each in enumerate(provider.candidates.all):
        inner: object = each.provider
        if isinstance(inner, FallbackProvider) and inner.alternatives:
            for place, one in _alternatives(inner):
                yield f"[{index}]{place}", one
        else:
            yield f"[{index}]", each


def _candidate_use(candidate: Candidate[Any]) -> Any:  # noqa: ANN401 - as Trial.use
    @asynccontextmanager
    async def use(row: Row) -> AsyncIterator[Any]:
        server = candidate.availability.place.server
        row.provider = f"{candidate.name} ({server})" if server else candidate.name
        if not candidate.ready:
            raise candidate.error or _loading(candidate.name)
        yield candidate.provider

    return use


def _loader_use(loader: ProviderLoader[Any]) -> Any:  # noqa: ANN401 - as Trial.use
    @asynccontextmanager
    async def use(row: Row) -> AsyncIterator[Any]:
        row.provider = loader.name
        if not loader.ready or loader.provider is None:
            raise loader.error or _loading(loader.name)
        yield loader.provider

    return use


def _loading(name: str) -> ProviderError:
    return ProviderError(name, "it is still loading: try again in a moment", reason=LOADING)


def of_row(row: Row) -> TriedPart:
    """Return a row as the API has it."""
    total, first = row.total, row.first
    return _tried(
        row.part,
        row.provider,
        ok=row.ok,
        ms=None if total is None else _ms(total),
        first_ms=None if first is None else _ms(first),
        detail=row.detail,
    )


def _tried(
    part: str,
    name: str,
    *,
    ok: bool,
    detail: str,
    ms: int | None = None,
    first_ms: int | None = None,
) -> TriedPart:
    return TriedPart(
        part=part, name=name, ok=ok, ms=ms, first_ms=first_ms, detail=" ".join(detail.split())
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
