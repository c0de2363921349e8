"""The command line. Whatever is heavy is imported inside the command that needs it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from vixio import __version__
from vixio.cli.access_points import access_points
from vixio.cli.api import api_password, api_tokens, console
from vixio.cli.backup import export, restore
from vixio.cli.chat import ask, chat
from vixio.cli.check import check
from vixio.cli.config import CONFIG_NAME, config_option, read_config
from vixio.cli.conversations import conversations
from vixio.cli.devices import devices
from vixio.cli.firmware import firmware
from vixio.cli.models import models
from vixio.cli.papers import papers
from vixio.cli.people import people
from vixio.cli.profiles import profiles
from vixio.cli.reminders import reminders
from vixio.cli.serve import serve
from vixio.cli.service import service
from vixio.cli.setup.command import setup
from vixio.cli.speech import say, transcribe
from vixio.cli.talk.command import simulated_device, talk
from vixio.cli.tokens import tokens
from vixio.cli.tool_service import tool_service
from vixio.cli.tools import tools
from vixio.cli.voices import voices
from vixio.core.errors import ConfigError, VixioError

OTHERS = "vixio.commands"

BENCH = "bench"

PASSED_ON: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}
"""For commands whose options, ``--help`` too, belong to the module behind them."""


class _Commands(click.Group):
    """Shows an error made for people as one line, without a traceback; exit status 2.

    Other packages add commands by entry points of the group ``vixio.commands``.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        others = entry_points(group=OTHERS).names
        return sorted({*super().list_commands(ctx), *others})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        for entry in entry_points(group=OTHERS, name=cmd_name):
            command: click.Command = entry.load()
            return command
        if cmd_name == BENCH:
            raise ConfigError(
                "the benchmarks are a package of their own in Vixio's source tree: "
                "pip install ./firmware-test-client ./bench"
            )
        return None

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        try:
            return super().invoke(ctx)
        except VixioError as error:
            _fail(error)
        except BaseExceptionGroup as group:
            # A task group wraps what ended it; several of ours are printed line by line.
            ours, others = group.split(VixioError)
            if ours is None or others is not None:
                raise
            _fail(*_leaves(ours))


def _leaves(group: BaseExceptionGroup[VixioError]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for error in group.exceptions:
        leaves.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return leaves


def _fail(*errors: BaseException) -> None:
    for error in errors:
        click.echo(f"vixio: {' '.join(str(error).split())}", err=True)
    raise click.exceptions.Exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vixio", message="%(prog)s %(version)s")
def main() -> None:
    """Voice-assistant server for ESP32 xiaozhi devices."""


main.add_command(setup)
main.add_command(ask)
main.add_command(chat)
main.add_command(serve)
main.add_command(service)
main.add_command(check)
main.add_command(conversations)
main.add_command(export)
main.add_command(restore)
main.add_command(devices)
main.add_command(access_points)
main.add_command(firmware)
main.add_command(profiles)
main.add_command(papers)
main.add_command(people)
main.add_command(reminders)
main.add_command(tokens)
main.add_command(api_tokens)
main.add_command(api_password)
main.add_command(console)
main.add_command(models)
main.add_command(say)
main.add_command(talk)
main.add_command(transcribe)
main.add_command(tool_service)
main.add_command(tools)
main.add_command(voices)


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite files that are there already.")
def init(directory: Path, force: bool) -> None:
    """Write a commented settings file into DIR to start from."""
    from vixio.cli.scaffold import write_scaffold

    for path in write_scaffold(directory, force=force):
        click.echo(f"wrote {path}")
    config = directory / CONFIG_NAME
    click.echo(
        "\nEvery key is there with its default; delete what you do not change.\n"
        f"  1. edit       {config}\n"
        f"  2. if it uses ${{VARIABLES}}: copy {directory / '.env.example'} to "
        f"{directory / '.env'}, fill it in\n"
        f"  3. try it     vixio check --config {config}\n"
        f"  4. run it     vixio serve --config {config}"
    )


@main.command()
@click.argument("device", metavar="[DEVICE", required=False)
@click.argument(
    "action", metavar="[show|clear]]", type=click.Choice(["show", "clear"]), default="show"
)
@click.option("--json", "as_json", is_flag=True, help="Show everything as one JSON object.")
@config_option
def memory(device: str | None, action: str, as_json: bool, config: Path | None) -> None:
    """Show or erase what is remembered of a device.

    DEVICE is its id, the MAC address; without it, all devices are listed. Works whether or not the
    server runs.
    """
    from vixio.cli.memory import run
    from vixio.telemetry.logging.setup import configure_logging, flush_logs

    configure_logging("ERROR")  # what fails stands in the one line of its error
    settings = read_config(config)
    try:
        click.echo(asyncio.run(run(settings, device, erase=action == "clear", as_json=as_json)))
    finally:
        flush_logs()


@main.command(context_settings=PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def demo(arguments: Sequence[str]) -> None:
    """Hold a spoken conversation with the simulated device."""
    with simulated_device():
        from vixio.cli import demo as module

        sys.exit(module.main(list(arguments)))
