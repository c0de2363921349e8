"""``vixio demo``: a spoken conversation between the simulated device and a real server, checked.

Server and device run on free loopback ports of this machine; the device speaks with eSpeak NG, the
server hears it through Opus, Silero and PocketSphinx. With --natural, free speech is recognised and
answered in a natural voice; with --api, curl leads the device's life. Exits with 0 only if all of
it went as it must.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status."""
    from vixio.demo import api, natural, offline, tools
    from vixio.logging.setup import configure_logging

    parser = argparse.ArgumentParser(prog="vixio demo", description=__doc__)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--tools",
        action="store_true",
        help="tools of every kind: device, Python, MCP, REST, broker, A2A; one fails, one asks",
    )
    form.add_argument(
        "--natural",
        action="store_true",
        help="free speech, a natural voice, and a stand-in for a language model",
    )
    form.add_argument(
        "--api",
        action="store_true",
        help="a device's life over the HTTP API, by curl: claimed, spoken to, reminded, read back",
    )
    parser.add_argument(
        "--language", choices=("en", "zh"), help="of --natural: English (default) or Chinese"
    )
    parser.add_argument(
        "--wav", type=Path, default=Path("demo.wav"), help="where to write the audio"
    )
    parser.add_argument("--verbose", action="store_true", help="show the server's log")
    options = parser.parse_args(arguments)
    if options.language and not options.natural:
        parser.error("--language needs --natural")
    quiet = "ERROR" if options.tools or options.api else "WARNING"
    configure_logging("INFO" if options.verbose else quiet)
    if options.natural:
        return asyncio.run(natural.converse(options.language or "en", options.wav))
    if options.tools:
        return asyncio.run(tools.converse(options.wav))
    if options.api:
        return asyncio.run(api.converse(options.wav))
    return asyncio.run(offline.converse(options.wav))
