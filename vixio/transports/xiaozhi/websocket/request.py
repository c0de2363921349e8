"""Reads a device's request for a WebSocket, and refuses what is none."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from websockets.http11 import Request

from vixio.transports.admission.forwarded import stated_address
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.admission.identity import Identity
from vixio.transports.admission.origin import OriginPolicy
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


def check_request(
    request: Request,
    path: str,
    origins: OriginPolicy,
    names: HostPolicy,
    *,
    behind_proxy: bool = False,
) -> Refusal | None:
    """Return why the request is not served: another path, no WebSocket, a page of another origin.

    A page's own origin counts if it is one of the server's ``names``: else any name that resolves
    to this server would do (DNS rebinding). ``behind_proxy``: whether the connection comes from a
    trusted proxy.
    """
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
    headers = request.headers
    hosts = headers.get_all("Host")
    if behind_proxy:
        stated = stated_address({name.lower(): value for name, value in headers.raw_items()})
        hosts = [*hosts, *filter(None, [stated.host])]
    pages = headers.get_all("Origin")
    if not origins.allows(pages, hosts):
        return Refusal(
            HTTPStatus.FORBIDDEN,
            "origin",
            "Web pages of another origin may not connect. "
            "To allow one, list its origin in server.allowed_origins.\n",
        )
    if not origins.allows(pages, [host for host in hosts if names.allows(host)]):
        return Refusal(
            HTTPStatus.FORBIDDEN,
            "host",
            "This name is none of the server's: "
            "open the page by the server's address, or list the name in api.hosts.\n",
        )
    return None
