"""A server that has too much to do asks who comes to wait. An honest device comes again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from firmware_test_client.errors import ConnectError

PATIENCE_S: Final = 150.0
"""An attack is over by then, or the server has stopped for good."""

AGAIN_S: Final = 1.0

T = TypeVar("T")


class Refused(Exception):
    """The server answered with something else than an upgrade; its first line is the message."""


async def admitted(come: Callable[[], Awaitable[T]]) -> T:
    """Return what ``come`` does, once it is not asked to wait any more (503, 429)."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE_S
    while True:
        try:
            return await come()
        except (ConnectError, Refused) as error:
            if not _asked_to_wait(error) or loop.time() > end:
                raise
        await asyncio.sleep(AGAIN_S)


def _asked_to_wait(error: ConnectError | Refused) -> bool:
    if isinstance(error, ConnectError):
        return error.status in {429, 503}
    return any(status in str(error) for status in (" 429 ", " 503 "))
