"""Longer demos: ``python -m examples.demos NAME``, in the directory of the checkout.

As ``vixio demo``, each is a real server and a simulated device on free loopback ports of this
machine, and exits with 0 only if all of it went as it must. ``tools``: tools of every kind, from
the device to an A2A agent; one fails, one asks. ``natural``: free speech, a natural voice, and a
stand-in for a language model. ``api``: a device's life over the HTTP API, by curl. ``home``: what
people bring along, from the weather to a piece of music that is interrupted, by ear alone.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a demo; return the exit status."""
    from examples.demos import api, home, natural, tools
    from vixio.telemetry.logging.setup import configure_logging

    parser = argparse.ArgumentParser(prog="python -m examples.demos", description=__doc__)
    parser.add_argument("demo", choices=("tools", "natural", "api", "home"))
    parser.add_argument(
        "--language", choices=("en", "zh"), help="of natural: English (default) or Chinese"
    )
    parser.add_argument(
        "--wav", type=Path, default=Path("demo.wav"), help="where to write the audio"
    )
    parser.add_argument("--verbose", action="store_true", help="show the server's log")
    options = parser.parse_args(arguments)
    if options.language and options.demo != "natural":
        parser.error("--language is for natural")
    quiet = "WARNING" if options.demo in ("natural", "home") else "ERROR"
    configure_logging("INFO" if options.verbose else quiet)
    if options.demo == "natural":
        return asyncio.run(natural.converse(options.language or "en", options.wav))
    converse = {"tools": tools.converse, "api": api.converse, "home": home.converse}
    return asyncio.run(converse[options.demo](options.wav))


if __name__ == "__main__":
    sys.exit(main())
