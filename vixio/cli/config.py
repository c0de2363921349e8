"""Which settings a command reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.settings import Settings

CONFIG_VARIABLE = "VIXIO_CONFIG"
CONFIG_NAME = "vixio.yaml"
BUILT_IN = "built-in defaults"


def choose_config(given: Path | None) -> tuple[Path | None, str]:
    """Return the settings file to read, and how to name it to people; none: the default.

    The first of: ``--config``, ``$VIXIO_CONFIG``, ``vixio.yaml`` in the working directory. The
    variables of the file ``.env`` beside it are added to the environment. Raises ConfigError if
    the variable names no file, or ``.env`` has a mistake.
    """
    path, source = _chosen(given)
    if path is not None:
        from vixio.settings.env_file import load_env  # its package imports pydantic

        load_env(path, os.environ)
    return path, source


def read_config(given: Path | None) -> Settings:
    """Return the settings of a command, with those that were changed in the console below them.

    Where the latter have a mistake, a line on standard error says so. Raises ConfigError.
    """
    from vixio.settings import load_layered

    return load_layered(
        choose_config(given)[0], warn=lambda line: click.echo(f"vixio: {line}", err=True)
    )


def _chosen(given: Path | None) -> tuple[Path | None, str]:
    if given is not None:
        return given, str(given)
    if named := os.environ.get(CONFIG_VARIABLE):
        if not (path := Path(named)).exists():
            raise ConfigError(
                f"{named}: no such file, but ${CONFIG_VARIABLE} names it: set it to your settings, "
                f"or remove it: unset {CONFIG_VARIABLE}"
            )
        return path, f"{named}, from ${CONFIG_VARIABLE}"
    if (here := Path(CONFIG_NAME)).exists():
        return here, f"./{here}"
    return None, BUILT_IN


_OPTION: dict[str, Any] = {
    "type": click.Path(path_type=Path),
    "metavar": "FILE",
    "help": f"Settings (default: ${CONFIG_VARIABLE}, ./{CONFIG_NAME} if there is one, "
    "else the built-in defaults, which need no key and no network).",
}


def config_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--config``."""
    return click.option("--config", **_OPTION)(command)


class ConfigGroup(click.Group):
    """A group with ``--config``, which stands before or behind the name of each of its commands.

    Its own function puts the file into ``context.obj``; the one behind the name wins.
    """

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with the option."""
        cmd.params.append(
            click.Option(["--config"], callback=_choose, expose_value=False, **_OPTION)
        )
        super().add_command(cmd, name)


def _choose(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.obj = value


def colour() -> bool | None:
    """Return click's colour setting: off with NO_COLOR, else as click finds it."""
    return False if os.environ.get("NO_COLOR") else None
