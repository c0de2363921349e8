"""What ``vixio serve`` prints when devices can connect: where, with what, and how to try it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from vixio import __version__

if TYPE_CHECKING:
    from vixio.app import App

EVERY_ADDRESS = {"0.0.0.0", "::", ""}  # noqa: S104 - compared with, not bound to


def reachable_host(host: str) -> str:
    """Return the address under which devices reach a server that listens on ``host``.

    For a server that listens everywhere: the address of the interface that leads outside.
    """
    if host not in EVERY_ADDRESS:
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing; it only asks for the route
            # (192.0.2.1: TEST-NET-1, RFC 5737).
            probe.connect(("192.0.2.1", 9))
            address: str = probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"
    return address


def urls(app: App) -> tuple[str, str]:
    """Return the OTA URL and the WebSocket URL as a device on the network uses them."""
    server = app.settings.server
    host = server.public_host or reachable_host(server.host)
    shown = f"[{host}]" if ":" in host else host
    http_port = app.http.port if app.http is not None else server.http_port
    ota = f"http://{shown}:{http_port}/xiaozhi/ota/"
    return ota, f"ws://{shown}:{app.transport.port}/xiaozhi/v1/"


def banner(app: App, source: str) -> str:
    """Return the lines to print."""
    ota, websocket = urls(app)
    parts = " · ".join(f"{kind} {name}" for kind, name in app.providers.names().items())
    auth = "on" if app.settings.server.auth.enabled else "off"
    return "\n".join(
        (
            f"Vixio {__version__} is ready for devices  (settings: {source})",
            "",
            f"  OTA URL       {ota}      ← enter this on the device",
            f"  WebSocket     {websocket}",
            f"  health        {ota.removesuffix('xiaozhi/ota/')}healthz",
            "",
            f"  {parts} · language {app.settings.assistant.language} · tokens {auth}",
            "",
            "  No device at hand? In another terminal:",
            f'    firmware-test-client talk --ota {ota} --say "what time is it"',
            "",
            "  Stop with Ctrl-C.",
        )
    )
