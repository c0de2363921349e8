"""The far sides of ``scripts/bench_broker.py``, each a process of its own.

As a module of ``vixio tool-service`` it is the service ``Echo``; as a program it answers requests
by nats-py alone: ``bench_broker_service.py URL SUBJECT ANSWER HEADERS`` (the last two: JSON).
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from vixio.bus import DynamicToolService

QUEUE = "request:bench:echo"


class Echo(DynamicToolService):
    """Answers with its argument."""

    id = "echo"
    request_queue = QUEUE

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> str:
        """Return the text of the arguments."""
        text: str = arguments["text"]
        return text


async def respond(url: str, subject: str, body: bytes, headers: dict[str, str]) -> None:
    """Answer every request with the same message, until the process is ended."""
    import nats
    from nats.aio.msg import Msg

    client = await nats.connect(url)

    async def answer(request: Msg) -> None:
        await client.publish(request.reply, body, headers=headers)

    await client.subscribe(subject, queue=subject, cb=answer)
    await client.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(respond(sys.argv[1], sys.argv[2], sys.argv[3].encode(), json.loads(sys.argv[4])))
