"""The screen's picture, posted to the URL that the server names.

Follows self.screen.snapshot in McpServer::AddUserOnlyTools, main/mcp_server.cc: multipart/form-data
in chunked transfer coding with one part, `file`; no headers that say who sends it.
"""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

_BOUNDARY = "----ESP32_SCREEN_SNAPSHOT_BOUNDARY"


async def post_screen(url: str, image: bytes, timeout: float) -> bool:
    """Post the picture; True, as the firmware returns it.

    Raises:
        RuntimeError: unreachable, or a status other than 200. The texts are the firmware's.
    """
    try:
        status = await asyncio.to_thread(_post, url, image, timeout)
    except (OSError, http.client.HTTPException) as error:
        raise RuntimeError(f"Failed to open URL: {url}") from error
    if status != 200:
        raise RuntimeError(f"Unexpected status code: {status}")
    return True


def _parts(image: bytes) -> Iterator[bytes]:
    yield (
        f"--{_BOUNDARY}\r\n"
        'Content-Disposition: form-data; name="file"; filename="screenshot.jpg"\r\n'
        "Content-Type: image/jpeg\r\n\r\n"
    ).encode()
    yield image
    yield f"\r\n--{_BOUNDARY}--\r\n".encode()


def _post(url: str, image: bytes, timeout: float) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    headers = {
        "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}",
        "Transfer-Encoding": "chunked",
    }
    try:
        connection.request("POST", parts.path or "/", _parts(image), headers, encode_chunked=True)
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()
