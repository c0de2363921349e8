"""``vixio demo``: a spoken conversation between the simulated device and a real server, checked.

Server and device run on free loopback ports of this machine; the device speaks with eSpeak NG, the
server hears it through Opus, Silero and PocketSphinx. Exits with 0 only if all of it went as it
must. ``--mqtt``: devices that nobody talks to, which the server reaches. Longer demos, with tools
of every kind and with free speech: examples/demos.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status."""
    from vixio.cli.demo import idle, offline
    from vixio.telemetry.logging.setup import configure_logging

    parser = argparse.ArgumentParser(prog="vixio demo", description=__doc__)
    parser.add_argument(
        "--wav", type=Path, default=Path("demo.wav"), help="where to write the audio"
    )
    parser.add_argument(
        "--mqtt", action="store_true", help="idle devices, reached over MQTT and UDP, instead"
    )
    parser.add_argument("--verbose", action="store_true", help="show the server's log")
    options = parser.parse_args(arguments)
    configure_logging("INFO" if options.verbose else "WARNING")
    converse = idle.converse if options.mqtt else offline.converse
    return asyncio.run(converse(options.wav))
