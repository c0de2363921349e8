"""Pages with JSON of the servers that the bench has started, on loopback."""

from __future__ import annotations

import asyncio
from json import loads
from typing import Any, Final

from vixio_bench.load.control import BenchError

_ANSWER_S: Final = 10.0


async def page(port: int, path: str) -> dict[str, Any]:
    """Return the JSON of a page. Raises BenchError without an answer."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                answer = await reader.read()
            finally:
                writer.close()
        body: dict[str, Any] = loads(answer.partition(b"\r\n\r\n")[2])
    except (OSError, ValueError) as error:  # TimeoutError among them
        raise BenchError(f"no answer from {path} on port {port}: {error!r}") from error
    return body
