"""What ``vixio serve`` prints when it listens: where, with what, and how to try it."""

from __future__ import annotations

import shlex
import shutil
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from vixio import __version__
from vixio.cli.config import CONFIG_NAME
from vixio.cluster.context import ServerInfo

if TYPE_CHECKING:
    from vixio.server import Server
    from vixio.settings import Settings

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


def urls(about: ServerInfo) -> tuple[str, str]:
    """Return the OTA URL and the WebSocket URL as a device on the network uses them."""
    if about.public_url:
        # http becomes ws, https wss
        websocket = f"ws{about.public_url.removeprefix('http')}/xiaozhi/v1/"
        return f"{about.public_url}/xiaozhi/ota/", websocket
    host = reachable_host(about.host)
    shown = f"[{host}]" if ":" in host else host
    ota = f"http://{shown}:{about.http_port}/xiaozhi/ota/"
    return ota, f"ws://{shown}:{about.port}/xiaozhi/v1/"


def expected(settings: Settings) -> ServerInfo:
    """Return what the banner of a server with these settings says of its address."""
    place = settings.server
    return ServerInfo(
        host=place.public_host or place.host,
        port=place.port,
        http_port=place.http_port,
        providers={},
        language=settings.assistant.language,
        tokens=place.tokens,
        access=place.access,
        public_url=place.public_url,
        console=settings.api.serves_console,
    )


def console_url(about: ServerInfo, link: str = "") -> str:
    """Return the address of the console. ``link``: of one login (``Keys.make_link``), which stands
    behind the ``#``, so that no log on the way has it."""
    place = f"{urls(about)[0].removesuffix('xiaozhi/ota/')}console/"
    return f"{place}#/login?link={link}" if link else place


def runnable(program: str) -> str:
    """Return how to call a program of this environment: by its path where PATH does not have it."""
    ours = Path(sys.executable).parent / program
    found = shutil.which(program)
    if not ours.exists() or (found is not None and Path(found).resolve() == ours.resolve()):
        return program
    here = Path.cwd()
    shown = ours.relative_to(here) if ours.is_relative_to(here) else ours
    return shlex.quote(str(shown))


def vixio_command(*arguments: str, config: Path | None = None) -> str:
    """Return a command of Vixio's to be pasted into a shell where this program runs.

    ``config``: the settings that it is about; None, or the file that it finds by itself: not named.
    """
    options = [] if config is None or config == Path(CONFIG_NAME) else ["--config", str(config)]
    return f"{runnable('vixio')} {shlex.join([*arguments, *options])}"


def _claiming(access: str) -> list[str]:
    """Return lines that say how to claim a device."""
    if access == "open":
        return []
    what = "the code that it shows" if access == "activation" else "its MAC address"
    command = f"{runnable('vixio')} devices"
    return [
        f"  A new device: `{command}` lists it, `{command} claim …` with {what} lets it in.",
        "",
    ]


def only_here(url: str) -> bool:
    """Return whether only programs of this computer reach ``url``."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _unreachable(ota: str) -> list[str]:
    """Return a line for an address that no device can reach."""
    if not only_here(ota):
        return []
    return ["  Only this computer reaches these addresses: see server.host, or --host 0.0.0.0.", ""]


def _without_token(about: ServerInfo) -> list[str]:
    """Return the lines for an A2A agent that programs of this machine use without a token."""
    if not about.a2a_without_token:
        return []
    return [
        f"  A2A without a token for programs of this machine: http://127.0.0.1:{about.http_port}/a2a",
        "  (a2a.loopback_without_token).",
        "",
    ]


async def introduce(app: Server, source: str) -> None:
    """Print the banner, and at a terminal a link that signs in to the console: what is written
    elsewhere is kept, and read by others."""
    from vixio.composition.info import about, sign_in_link

    facts = about(app)
    click.echo(banner(facts, source))
    if sys.stdout.isatty() and (link := await sign_in_link(app)):
        click.echo("  Sign in to the console, once within 15 minutes:")
        click.echo(f"    {console_url(facts, link)}\n")


def banner(about: ServerInfo, source: str) -> str:
    """Return the lines to print."""
    ota, websocket = urls(about)
    parts = " · ".join(f"{kind} {name}" for kind, name in about.providers.items())
    tokens = "on" if about.tokens else "off"
    if about.access != "open":
        tokens += f" · access {about.access.replace('_', '-')}"
    site = ota.removesuffix("xiaozhi/ota/")
    workers = f" · {about.workers} processes" if about.workers > 1 else ""
    return "\n".join(
        (
            f"Vixio {__version__} listens for devices  (settings: {source})",
            "",
            f"  OTA URL       {ota}      ← enter this on the device",
            f"  WebSocket     {websocket}",
            *([f"  MQTT          port {about.mqtt_port}"] if about.mqtt_port else []),
            *(
                [f"  console       {site}console/      ← open this in a browser, and talk"]
                if about.console
                else []
            ),
            f"  health        {site}healthz",
            "",
            f"  {parts} · language {about.language} · tokens {tokens}{workers}",
            "  These load now: the log says `all providers are ready` when they have.",
            "",
            *_unreachable(ota),
            *_claiming(about.access),
            *_without_token(about),
            "  No device at hand? In another terminal:",
            f'    {runnable("firmware-test-client")} talk --ota {ota} --say "what time is it"',
            "",
            "  Stop with Ctrl-C.",
        )
    )
