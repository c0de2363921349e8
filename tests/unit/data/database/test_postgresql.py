"""A connection to PostgreSQL that nobody waits for any more."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

pytest.importorskip("asyncpg")

from vixio.data.database.postgresql import PostgreSQLDatabase

STEPS = 40
"""Turns of the event loop after which an opening is called off; it takes fewer to ask for TLS."""


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the question for TLS with no, and hang up at the next message."""
    try:
        await reader.readexactly(8)
        writer.write(b"N")
        await reader.read(1)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def test_an_opening_that_is_called_off_leaves_nothing_behind() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    server = await asyncio.start_server(refuse, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    async with server:
        for steps in range(STEPS):
            database = PostgreSQLDatabase(f"postgresql://me:secret@127.0.0.1:{port}/vixio")
            opening = asyncio.create_task(database.open())
            for _ in range(steps):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait({opening})
            gc.collect()
        await asyncio.sleep(0)
    gc.collect()
    assert reported == []
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [each for each in others if "connect" in repr(each.get_coro())]
