"""``vixio say`` and ``vixio transcribe``: the configured TTS and ASR, on a file."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vixio.cli.config import config_option, read_config
from vixio.cli.status import StatusLine
from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.cli.diagnostics.utterances import Utterance
    from vixio.providers.asr import Recognition
    from vixio.settings import Settings

_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _checked_language(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _TAG.fullmatch(value):
        raise click.BadParameter(f"expected a tag such as en or zh-CN, found {value!r}")
    return value


def language_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the option ``--language``, with its help."""
    return click.option("--language", metavar="TAG", callback=_checked_language, help=text)


_SPOKEN = "Such as en or zh-CN (default: assistant.language of the settings)."


@click.command()
@click.argument("text")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.wav",
    help="Where the WAV goes; one that is there is overwritten. Without it the words are played.",
)
@language_option(_SPOKEN)
@config_option
def say(text: str, out: Path | None, language: str | None, config: Path | None) -> None:
    """Speak TEXT with the configured voice, aloud or into a WAV file.

    TEXT - is read from standard input.
    """
    from vixio.cli.diagnostics.say import say as speak
    from vixio.cli.diagnostics.voices import played

    words = sys.stdin.read() if text == "-" else text
    settings = quiet_settings(config)
    spoken = language or settings.assistant.language
    with StatusLine() as status, tempfile.TemporaryDirectory() as folder:
        file = out or Path(folder) / "said.wav"
        timing = asyncio.run(speak(settings, words, file, language=spoken, progress=status.show))
        if out is None and not played(file):
            raise ConfigError(
                "there is no program here that can play: say it into a file, --out FILE.wav"
            )
        status.line(f"{out or 'played'}: {timing.described('first audio')}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@language_option(_SPOKEN)
@config_option
def transcribe(file: Path, language: str | None, config: Path | None) -> None:
    """Write what is said in the audio FILE to standard output, one line an utterance.

    All else goes to standard error: partial results as they come, and what it took.
    """
    from vixio.cli.diagnostics.transcribe import Listener
    from vixio.cli.diagnostics.transcribe import transcribe as hear

    settings = quiet_settings(config)
    status = StatusLine()
    lines = 0

    def heard(utterance: Utterance, recognition: Recognition) -> None:
        nonlocal lines
        text = " ".join(recognition.text.split())
        if not text:
            why = "not understood" if recognition.rejected else "no words"
            if recognition.guess:
                why += f"; perhaps: {' '.join(recognition.guess.split())}"
            status.line(f"what begins at {utterance.start:.1f} s: {why}")
            return
        lines += 1
        status.clear()
        click.echo(text)

    listener = Listener(status.show, lambda words: status.show(f"… {words}"), heard)
    spoken = language or settings.assistant.language
    with status:
        timing = asyncio.run(hear(settings, file, language=spoken, listener=listener))
        if not lines:
            status.line(f"{file}: no words in it")
        status.line(f"{file}: {timing.described('first words')}")


def quiet_settings(config: Path | None) -> Settings:
    """Return the settings, with no log but errors. Raises ConfigError."""
    from vixio.telemetry.logging.setup import configure_logging

    configure_logging("ERROR")  # what fails stands in the one line of its error
    return read_config(config)
