"""Puts conversations on record without a pause, and says each step once it is acknowledged.

A line is a JSON list: what was done, with which conversation. The process is meant to be killed.
"""

from __future__ import annotations

import asyncio
import sys

from tests.crash.steps import opened, say
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository

TURNS = 4
"""Of each conversation, written together."""

ERASED_EVERY = 5


def turn(device_id: str, session_id: str, number: int) -> TurnRecord:
    """Return a turn whose every field tells where it belongs."""
    name = f"{session_id}/{number}"
    call = {"name": "self.lamp.turn_on", "arguments": name, "output": name, "success": True}
    return TurnRecord(
        device_id,
        session_id,
        number,
        now_ms(),
        heard=f"heard {name} " * 20,
        said=f"said {name} " * 20,
        outcome="answered",
        stages={"first_token": number},
        tools=[call, call],
        models=[{"model": "m", "input_tokens": number}],
    )


async def work(folder: str, url: str, prefix: str) -> None:
    """Write conversations of one device, and erase some, without an end."""
    repository = ConversationRepository(await opened(folder, url))
    number = 0
    while True:
        number += 1
        session_id = f"{prefix}-{number}"
        await repository.write([turn(prefix, session_id, each) for each in range(1, TURNS + 1)])
        say("recorded", prefix, session_id)
        if number % ERASED_EVERY == 0:
            await repository.erase(prefix, session_id)
            say("erased", prefix, session_id)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
