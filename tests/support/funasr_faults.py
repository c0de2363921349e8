"""What may go wrong at a FunASR server; given to the stand-in as its ``fault``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.support.funasr_server import Fault, HungUpError, Talk


def at(stage: str, act: Callable[[Talk], Awaitable[None]], times: int = 1) -> Fault:
    """Return a fault that happens ``times`` times at ``stage``."""
    left = times

    async def fault(talk: Talk, now: str) -> None:
        nonlocal left
        if now == stage and left:
            left -= 1
            await act(talk)

    return fault


async def cut(talk: Talk) -> None:
    talk.socket.transport.abort()
    raise HungUpError


async def hang_up(talk: Talk) -> None:
    await talk.socket.close(1011, "out of memory")
    raise HungUpError


async def stall(talk: Talk) -> None:
    """Read on, say nothing."""
    async for _ in talk.socket:
        pass


async def freeze(talk: Talk) -> None:
    """Do not even read."""
    talk.socket.transport.pause_reading()
    await asyncio.Event().wait()


async def rubbish(talk: Talk) -> None:
    await talk.socket.send("<html>")
    raise HungUpError


async def refuse(talk: Talk) -> None:
    await talk.send(text="ERROR. Real-time transcription service ONLY SUPPORT PCM stream.")


async def fail(talk: Talk) -> None:
    """The acknowledgement of a server whose model has failed."""
    await talk.send(is_end=True, is_final=False, error="offline inference failed: out of memory")
    raise HungUpError
