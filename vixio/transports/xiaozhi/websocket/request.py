"""Reads a device's request for a WebSocket, and refuses what is none."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from websockets.http11 import Request

from vixio.transports.admission.identity import Identity
from vixio.transports.admission.refusal import Refusal


def read_identity(request: Request) -> Identity:
    """Return the identity in headers (websocket_protocol.cc, OpenAudioChannel) or the query.

    Browsers cannot set headers.
    """
    return Identity.stated(
        read_field(request, "Device-Id"),
        read_field(request, "Client-Id"),
        read_field(request, "Authorization"),
    )


def read_field(request: Request, name: str) -> str:
    """Return a header, or the query's parameter of the same name; empty if there is neither."""
    # get_all: a header given twice is a client's mistake, no reason to fail.
    values = request.headers.get_all(name)
    if values:
        return values[0].strip()
    query = parse_qsl(urlsplit(request.path).query, max_num_fields=None)
    return {key.lower(): value for key, value in query}.get(name.lower(), "").strip()


def check_request(request: Request, path: str) -> Refusal | None:
    """Return the refusal of a request that is elsewhere than ``path``, or for no WebSocket."""
    if urlsplit(request.path).path.rstrip("/") != path.rstrip("/"):
        return Refusal(
            HTTPStatus.NOT_FOUND,
            "path",
            f"Nothing is here. Devices connect a WebSocket to {path}\n",
        )
    if request.headers.get_all("Upgrade") == []:
        return Refusal(
            HTTPStatus.UPGRADE_REQUIRED,
            "no_upgrade",
            "This is the WebSocket of voice devices, not a page. "
            "A device finds it by its OTA URL (by default port 8003, /xiaozhi/ota/).\n",
        )
    return None
