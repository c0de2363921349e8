"""The command ``vixio bench``, which ``vixio`` finds by its entry point."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

_PASSED_ON: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}
"""The options, ``--help`` too, belong to the module behind the command."""


@click.group()
def bench() -> None:
    """Measure how well it works."""


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def speech(arguments: Sequence[str]) -> None:
    """How much speech is understood, and how much is wrongly acted on."""
    from vixio_bench.speech import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def echo(arguments: Sequence[str]) -> None:
    """How well the server takes its voice out of a microphone."""
    from vixio_bench.echo.report import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def load(arguments: Sequence[str]) -> None:
    """Measure how many devices the server can serve, and the cost of each."""
    from vixio_bench.load.command import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def conversation(arguments: Sequence[str]) -> None:
    """How soon answers come, and how often users are cut off."""
    from vixio_bench.conversation.report import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def papers(arguments: Sequence[str]) -> None:
    """How well and how soon documents are found."""
    from vixio_bench.papers import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def media(arguments: Sequence[str]) -> None:
    """What playing costs beside speaking, its gaps, and how soon radio begins."""
    from vixio_bench.media import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sets(arguments: Sequence[str]) -> None:
    """What the ready sets understand, how soon they answer, and their memory."""
    from vixio_bench.sets import main

    sys.exit(main(list(arguments)))


@bench.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def vendors(arguments: Sequence[str]) -> None:
    """What the clients of services in China add to their time."""
    from vixio_bench.vendor_times.report import main

    sys.exit(main(list(arguments)))
