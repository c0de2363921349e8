"""Any database with an asynchronous SQLAlchemy driver, through the SDK's ``SQLAlchemySession``.

Importing this imports SQLAlchemy and the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy import column, delete, func, select, table
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    IntegrityError,
    NoSuchModuleError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from vixio.data.database.link import Trouble
from vixio.data.memory.session_store import SessionStore
from vixio.data.memory.store import IO_TIMEOUT_S, StoreFailed

if TYPE_CHECKING:
    from agents.memory import Session

SESSIONS = "vixio_sessions"
MESSAGES = "vixio_messages"

_sessions = table(SESSIONS, column("session_id"), column("updated_at"))
_messages = table(MESSAGES, column("id"), column("session_id"))

_LIMITS: dict[str, dict[str, Any]] = {
    "asyncpg": {"timeout": IO_TIMEOUT_S, "command_timeout": IO_TIMEOUT_S},
    "aiosqlite": {"timeout": IO_TIMEOUT_S},
    "aiomysql": {"connect_timeout": IO_TIMEOUT_S},
    "psycopg": {"connect_timeout": IO_TIMEOUT_S},
}
"""Timeout options by driver: a transaction that hangs cannot be cancelled."""


class SQLAlchemyStore(SessionStore):
    """A database behind ``url``, such as ``postgresql+asyncpg://user:password@host/name``."""

    name = "sqlalchemy"

    def __init__(self, url: str) -> None:
        """Raises StoreFailed for an invalid URL, and if its driver is not installed."""
        try:
            parsed = make_url(url)
            self.place = parsed.render_as_string(hide_password=True)
            limits = _LIMITS.get(parsed.get_driver_name(), {})
            self._engine: AsyncEngine = create_async_engine(
                parsed,
                connect_args=limits,
                hide_parameters=True,  # users' words, which must not be logged with an error
                pool_pre_ping=True,
                **({} if parsed.get_backend_name() == "sqlite" else {"pool_timeout": IO_TIMEOUT_S}),
            )
        except ModuleNotFoundError as error:
            raise StoreFailed(f"memory.url needs: pip install {error.name}") from error
        except (ArgumentError, NoSuchModuleError, SQLAlchemyError) as error:
            message = str(error).splitlines()[0]
            raise StoreFailed(
                f"memory.url is no URL of an asynchronous SQLAlchemy driver, such as "
                f"postgresql+asyncpg://user:password@host/name: {message}"
            ) from error
        self._first: SQLAlchemySession | None = None

    async def open(self) -> None:
        first = SQLAlchemySession(
            "",
            engine=self._engine,
            create_tables=True,
            sessions_table=SESSIONS,
            messages_table=MESSAGES,
        )
        # Nodes that start at once on an empty database would each find no table and create it.
        async with self._lock("vixio tables"):
            await first.get_items(limit=1)
        self._first = first

    async def close(self) -> None:
        await self._engine.dispose()

    def trouble(self, error: Exception) -> Trouble:
        if not isinstance(error, SQLAlchemyError):
            return Trouble.DATA
        data = isinstance(error, DataError | IntegrityError | ProgrammingError)
        state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
        return Trouble.DATA if data or state.startswith("22") else Trouble.OUTAGE

    @asynccontextmanager
    async def session(self, session_id: str) -> AsyncIterator[Session]:
        if self._first is None:
            raise StoreFailed("the store is closed")
        # A session's own state is only its id; defining the tables for each session would cost more
        # than using them.
        session = copy(self._first)
        session.session_id = session_id
        yield session

    @asynccontextmanager
    async def exclusive(self, key: str) -> AsyncIterator[None]:
        """Only PostgreSQL has a lock for it. Elsewhere, of what two processes change in the same
        moment, one change may be lost."""
        async with self._lock(f"vixio facts {key}"):
            yield

    @asynccontextmanager
    async def _lock(self, name: str) -> AsyncIterator[None]:
        if self._engine.dialect.name != "postgresql":
            yield
            return
        async with self._engine.begin() as connection:
            await connection.execute(
                select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0)))
            )
            yield

    async def trim(self, session_id: str, keep: int) -> None:
        newest_first = (
            select(_messages.c.id)
            .where(_messages.c.session_id == session_id)
            .order_by(_messages.c.id.desc())
        )
        async with self._engine.begin() as connection:
            # Two statements: in MySQL a DELETE cannot read from its own table.
            last = (await connection.execute(newest_first.offset(keep).limit(1))).scalar()
            if last is not None:
                await connection.execute(
                    delete(_messages).where(
                        _messages.c.session_id == session_id, _messages.c.id <= last
                    )
                )

    async def sessions(self) -> Iterable[tuple[str, float]]:
        async with self._engine.connect() as connection:
            rows = await connection.execute(select(_sessions.c.session_id, _sessions.c.updated_at))
            return [(str(row[0]), _seconds(row[1])) for row in rows.all()]


def _seconds(at: object) -> float:
    """Read a timestamp without a time zone as UTC; hours do not matter to a retention of days."""
    if isinstance(at, str):
        at = datetime.fromisoformat(at)
    return at.replace(tzinfo=UTC).timestamp() if isinstance(at, datetime) else 0.0
