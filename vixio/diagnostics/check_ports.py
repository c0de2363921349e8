"""Tries the ports of the server: free, or those of this server, which is running."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

from vixio.cli.banner import EVERY_ADDRESS
from vixio.core.errors import ConfigError
from vixio.settings import Settings

ANSWER_TIMEOUT_S = 3.0
"""For the health page of what holds the port."""

_MOST_BYTES = 2**20


async def try_ports(settings: Settings) -> str:
    """Return whether the ports are free, or held by a running Vixio server."""
    server = settings.server
    taken = [port for port in (server.port, server.http_port) if await _is_taken(settings, port)]
    if taken:
        page = await asyncio.to_thread(_health, server.host, server.http_port)
        others = [port for port in taken if port not in page.get("ports", ())]
        if others:
            key = "port" if others[0] == server.port else "http_port"
            raise ConfigError(
                f"{server.host}:{others[0]} cannot be opened (it is in use); stop what uses it, "
                f"or set another server.{key}"
            )
        return _running(page)
    shown = [str(port or "any free one") for port in (server.port, server.http_port)]
    return f"{shown[0]} (WebSocket) and {shown[1]} (OTA) are free on {server.host}"


async def _is_taken(settings: Settings, port: int) -> bool:
    host = settings.server.host
    try:
        listener = await asyncio.start_server(lambda *_: None, host, port)
    except socket.gaierror as error:
        raise ConfigError(
            f"server.host {host!r} is no address of this machine ({error.strerror})"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return True
        key = "port" if port == settings.server.port else "http_port"
        raise ConfigError(
            f"{host}:{port} cannot be opened ({' '.join(str(error).split())}); stop what uses it, "
            f"or set another server.{key}"
        ) from error
    listener.close()
    await listener.wait_closed()
    return False


def _health(host: str, port: int) -> dict[str, Any]:
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
