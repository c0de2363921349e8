"""A picture for the screen, fetched from the URL that the server names.

Follows self.screen.preview_image in McpServer::AddUserOnlyTools, main/mcp_server.cc, and
LvglAllocatedImage in main/display/lvgl_display/lvgl_image.cc. Of LVGL's decoders the firmware is
built with that of PNG alone (CONFIG_LV_USE_LODEPNG in sdkconfig.defaults).
"""

from __future__ import annotations

from firmware_test_client.web import RequestError, download

_PNG = b"\x89PNG\r\n\x1a\n"


async def fetch_picture(url: str, timeout: float) -> bytes:
    """Fetch a picture; without a Content-Length nothing is read.

    Raises:
        RuntimeError: unreachable, a status other than 200, no PNG. The texts are the firmware's.
    """
    image = b""
    try:
        async with download(url, timeout=timeout) as body:
            if body.status != 200:
                raise RuntimeError(f"Unexpected status code: {body.status}")
            size = body.size
            while piece := await body.read(size - len(image)):
                image += piece
    except RequestError as error:
        raise RuntimeError(f"Failed to open URL: {url}") from error
    if not image.startswith(_PNG):
        raise RuntimeError("Failed to get image info")
    return image
