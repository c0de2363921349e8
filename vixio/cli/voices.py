"""``vixio voices``: which voices there are, and how they sound."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vixio.cli.config import config_option
from vixio.cli.speech import language_option, quiet_settings
from vixio.cli.status import StatusLine
from vixio.core.errors import VixioError

if TYPE_CHECKING:
    from vixio.cli.diagnostics.voices import OfferedVoice
    from vixio.settings import Settings
    from vixio.settings.provider import TTSSection


@click.command()
@click.option("--provider", metavar="NAME", default="", help="Such as kokoro, whether used or not.")
@click.option("--hear", metavar="VOICE", help="Let this voice speak.")
@click.option("--text", help="What it says (default: a greeting in its language).")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.wav",
    help="Write what it says to this file instead of playing it.",
)
@language_option("Only voices for this language, such as zh.")
@config_option
def voices(
    provider: str,
    hear: str | None,
    text: str | None,
    out: Path | None,
    language: str | None,
    config: Path | None,
) -> None:
    """List the voices of the configured TTS, or hear one of them.

    A line is a voice: its name, its language, and what else is known.
    """
    from vixio.cli.diagnostics.voices import chosen, sections

    if hear is None and (text is not None or out is not None):
        raise click.UsageError("--text and --out go with --hear VOICE")
    settings = quiet_settings(config)
    found = asyncio.run(_found(sections(settings, provider), language or "", listed=hear is None))
    if hear is not None:
        _hear(settings, chosen(found, hear), text, out)


async def _found(sections: list[TTSSection], language: str, *, listed: bool) -> list[OfferedVoice]:
    """Return the voices of all ``sections``; ``listed``: write them, each list when it is there."""
    from vixio.cli.diagnostics.voices import offered, table

    found: list[OfferedVoice] = []
    failures: list[VixioError] = []
    for section in sections:
        try:
            voices = await offered(section, language)
        except VixioError as error:
            failures.append(error)
            continue
        found += voices
        if listed:
            number = f"{len(voices)} voice{'' if len(voices) == 1 else 's'}"
            for_it = f" for {language}" if language else ""
            click.echo(f"{section.name}: {number}{for_it}", err=True)
            for line in table(voices):
                click.echo(line)
    if failures and not found:
        raise failures[0]
    for failure in failures:
        click.echo(f"vixio: {failure}", err=True)
    return found


def _hear(settings: Settings, voice: OfferedVoice, text: str | None, out: Path | None) -> None:
    from vixio.cli.diagnostics.say import say
    from vixio.cli.diagnostics.voices import greeting, played, player

    language = voice.choice.language or settings.assistant.language
    words = text or greeting(language)
    play = None if out else player()
    with tempfile.TemporaryDirectory() as folder, StatusLine() as status:
        file = out or (Path(folder) if play else Path()) / f"{Path(voice.choice.name).name}.wav"
        alone = voice.settings(settings)
        timing = asyncio.run(say(alone, words, file, language=language, progress=status.show))
        if play:
            status.show(f"playing {voice.choice.name}")
            if not played(file):
                status.line(f"{play[0]} cannot play here: --out FILE.wav writes a file")
        else:
            status.line(f"{file}: {timing.described('first audio')}")
