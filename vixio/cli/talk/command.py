"""The command ``vixio talk``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from vixio.cli.chat import key_option, silent_settings
from vixio.cli.config import config_option
from vixio.cli.speech import language_option
from vixio.core.errors import ConfigError

SIMULATED_DEVICE: Final = "firmware_test_client"


@contextmanager
def simulated_device() -> Iterator[None]:
    """Raise ConfigError with what to do, if the package of the simulated device is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != SIMULATED_DEVICE:
            raise
        raise ConfigError(
            "this needs the simulated device, a package of its own in Vixio's source tree: "
            "pip install ./firmware-test-client"
        ) from error


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--mic", is_flag=True, help="Speak: record by arecord, parec or pw-record.")
@click.option("--play", is_flag=True, help="Play the answers by aplay, paplay or pw-play.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.wav",
    help="Write the sound of both sides: left the user, right the assistant.",
)
@click.option(
    "--url",
    default="",
    help="Talk to a server that runs, by its OTA URL or ws://…, instead of starting one.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    default=30.0,
    show_default=True,
    help="Seconds to wait for an answer.",
)
@key_option
@language_option("Of the voice that speaks what is typed (default: assistant.language).")
@config_option
def talk(
    files: Sequence[Path],
    mic: bool,
    play: bool,
    save: Path | None,
    url: str,
    timeout: float,
    key: str,
    language: str | None,
    config: Path | None,
) -> None:
    """Talk with the whole server, without a device, and see where the time of each turn goes.

    Each line that you type is spoken by a simulated device; or each FILE is played to the
    server: WAV, MP3 or Opus in Ogg. A new line or Ctrl-C stops an answer, Ctrl-D ends. Lines of a
    pipe are said one after another; exit status 1 if one had no answer.
    """
    if mic and files:
        raise ConfigError("either --mic or files: leave one of them out")
    settings = silent_settings(config)
    spoken = language or settings.assistant.language
    with simulated_device():
        from vixio.cli.talk.holding import Request, hold

        request = Request(files, url, mic, play, save, key, spoken, timeout)
        answered = asyncio.run(hold(settings, request))
    if not answered:
        raise click.exceptions.Exit(1)
