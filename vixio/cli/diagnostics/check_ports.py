"""Tries the ports of the server: free, or those of this server, which is running."""

from __future__ import annotations

import asyncio
import errno
import json
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

from vixio.cli.banner import EVERY_ADDRESS
from vixio.settings import Settings
from vixio.transports.admission.port_errors import port_error

ANSWER_TIMEOUT_S = 3.0
"""For the health page of what holds the port."""

_MOST_BYTES = 2**20


async def try_ports(settings: Settings) -> str:
    """Return whether the ports are free, or held by a running Vixio server."""
    server = settings.server
    used = {
        key: error
        for key in ("port", "http_port")
        if (error := await taken(server.host, getattr(server, key), key)) is not None
    }
    if used:
        page = await asyncio.to_thread(health, server.host, server.http_port)
        for key, error in used.items():
            port = getattr(server, key)
            if port not in page.get("ports", ()):
                raise await asyncio.to_thread(port_error, server.host, port, key, error)
        return _running(page)
    shown = [str(port or "any free one") for port in (server.port, server.http_port)]
    return f"{shown[0]} (WebSocket) and {shown[1]} (OTA) are free on {server.host}"


async def taken(host: str, port: int, key: str, *, udp: bool = False) -> OSError | None:
    """Return the error if the port is in use. Raises ConfigError if it cannot be opened at all."""
    try:
        if udp:
            loop, local = asyncio.get_running_loop(), (host, port)
            transport, _ = await loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, local_addr=local
            )
            transport.close()
            return None
        listener = await asyncio.start_server(lambda *_: None, host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return error
        raise port_error(host, port, key, error) from error
    listener.close()
    await listener.wait_closed()
    return None


def health(host: str, port: int) -> dict[str, Any]:
    """Return the health page of the Vixio server that listens there; empty if there is none."""
    known = "127.0.0.1" if host in EVERY_ADDRESS else host
    connection = HTTPConnection(known, port, timeout=ANSWER_TIMEOUT_S)
    try:
        with suppress(OSError, HTTPException, ValueError):
            connection.request("GET", "/healthz")
            page = json.loads(connection.getresponse().read(_MOST_BYTES))
            if isinstance(page, dict) and {"status", "version", "providers"} <= page.keys():
                return page
    finally:
        connection.close()
    return {}


def _running(page: dict[str, Any]) -> str:
    """Return what the health page says of the server."""
    ports = " and ".join(map(str, page["ports"]))
    missing = ", ".join(map(str, page.get("unusable", ())))
    state = f"{page['status']}, not ready: {missing}" if missing else str(page["status"])
    return f"the server is running here: Vixio {page['version']} on {ports}, {state}"
