"""The camera: posts a photo with a question to the vision service that `initialize` named.

Follows Esp32Camera::Explain in main/boards/common/esp32_camera.cc: multipart/form-data in chunked
transfer coding, first `question`, then `file`; the raw body of a 200 is the answer.
"""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

from firmware_test_client.config import DeviceConfig
from firmware_test_client.mcp.server import Vision

_BOUNDARY = "----ESP32_CAMERA_BOUNDARY"


async def explain(config: DeviceConfig, vision: Vision | None, question: str, photo: bytes) -> str:
    """Ask the vision service.

    Raises:
        RuntimeError: no service, unreachable, or a status other than 200. The texts are the
            firmware's, since they are sent to the server as the tool's error.
    """
    if vision is None:
        raise RuntimeError("Image explain URL or token is not set")
    try:
        status, body = await asyncio.to_thread(_post, config, vision, question, photo)
    except (OSError, http.client.HTTPException) as error:
        raise RuntimeError("Failed to connect to explain URL") from error
    if status != 200:
        raise RuntimeError("Failed to upload photo")
    return body


def _parts(question: str, photo: bytes) -> Iterator[bytes]:
    yield (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="question"\r\n\r\n{question}\r\n'
    ).encode()
    yield (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="camera.jpg"\r\n'
        "Content-Type: image/jpeg\r\n\r\n"
    ).encode()
    for at in range(0, len(photo), 4096):
        yield photo[at : at + 4096]
    yield f"\r\n--{_BOUNDARY}--\r\n".encode()


def _post(config: DeviceConfig, vision: Vision, question: str, photo: bytes) -> tuple[int, str]:
    url = urlsplit(vision.url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=config.http_timeout)
    headers = {
        "Device-Id": config.device_id,
        "Client-Id": config.client_id,
        "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}",
        "Transfer-Encoding": "chunked",
    }
    if vision.token:
        headers["Authorization"] = f"Bearer {vision.token}"
    try:
        connection.request(
            "POST", url.path or "/", _parts(question, photo), headers, encode_chunked=True
        )
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")
    finally:
        connection.close()
