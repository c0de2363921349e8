"""The same uses without a client of ours: what the network, the libraries and the stand-ins take.

On a machine whose cores are shared all of it takes longer, so that only the difference tells.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter

from websockets.asyncio.client import connect

from vixio.providers.volcengine import frames
from vixio_bench.vendor_times.providers import Provider
from vixio_bench.vendor_times.uses import QUICKLY_S, SENTENCE, Seen, utterance

_ASKED = {
    "audio": {"format": "pcm", "rate": 16_000, "bits": 16, "channel": 1},
    "request": {"model_name": "bigmodel"},
}


@asynccontextmanager
async def bare(provider: Provider) -> AsyncIterator[Callable[[], Awaitable[Seen]]]:
    """Yield what uses a service once: Volcengine's recogniser, or IndexTTS."""
    if provider.name == "WebSocket":
        yield lambda: _listen(provider)
        return
    section = provider.section
    reader, writer = await asyncio.open_connection("127.0.0.1", section["port"])
    try:
        yield lambda: _speak(reader, writer, section)
    finally:
        writer.close()


async def _speak(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, section: dict[str, object]
) -> Seen:
    """Send a request over a kept connection."""
    body = json.dumps({"text": SENTENCE, "character": section["voice"]}).encode()
    head = f"POST {section['path']} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    begun = perf_counter()
    writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
    await reader.readuntil(b"\r\n\r\n")
    first = 0.0
    while size := int(await reader.readline(), 16):
        first = first or perf_counter()
        await reader.readexactly(size + 2)
    await reader.readline()
    return Seen(begun, first, 0.0, perf_counter())


async def _listen(provider: Provider) -> Seen:
    """Recognise an utterance over a new connection."""
    section = provider.section
    headers = {
        "X-Api-Key": section["key"],
        "X-Api-Resource-Id": section["resource"],
        "X-Api-Connect-Id": str(uuid.uuid4()),
    }
    begun = perf_counter()
    async with connect(section["url"], additional_headers=headers, compression=None) as socket:

        async def read() -> tuple[float, float]:
            first = 0.0
            async for data in socket:
                first = first or perf_counter()
                if frames.read(data).last:
                    break
            return first, perf_counter()

        reading = asyncio.create_task(read())
        await socket.send(frames.utterance(_ASKED))
        for piece in utterance():
            await socket.send(frames.audio(piece))
            await asyncio.sleep(QUICKLY_S)
        ended = perf_counter()
        await socket.send(frames.audio(b"", last=True))
        first, last = await reading
    return Seen(begun, first, ended, last)
