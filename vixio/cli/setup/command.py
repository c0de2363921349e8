"""``vixio setup``: a few questions, and a server that a device talks to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

import click

from vixio.cli.config import CONFIG_NAME, CONFIG_VARIABLE
from vixio.core.errors import ConfigError

_INTERRUPTED = 130
"""The status of a shell for a command that Ctrl-C ended."""


@click.command()
@click.option("--language", metavar="TAG", default="", help="Such as en or zh.")
@click.option(
    "--ears",
    metavar="NAME",
    default="",
    help="free, commands, or one recogniser: moonshine, sense-voice, whisper, funasr-server, "
    "volcengine, dashscope, xunfei, service.",
)
@click.option(
    "--model",
    metavar="NAME|URL",
    default="",
    help="phrasebook, ollama, openai, deepseek, qwen, ark, glm, moonshot, siliconflow, dify, coze, "
    "or the address of a server with OpenAI's API.",
)
@click.option("--model-name", metavar="MODEL", default="", help="Of that service.")
@click.option(
    "--key-file",
    type=click.File("r"),
    metavar="FILE",
    help="Has the key of the service; -: standard input. Else it comes from the service's "
    "variable, such as OPENAI_API_KEY (LLM_API_KEY for an address), or is asked for.",
)
@click.option(
    "--voice",
    metavar="NAME",
    default="",
    help="joe, kokoro, edge, volcengine, dashscope, xunfei, minimax, service or espeak.",
)
@click.option(
    "--tools",
    metavar="TOOLS",
    multiple=True,
    help="none, weather (or weather=PLACE), news, calculator, dates, calendar=URL, search "
    "(TAVILY_API_KEY) or search=URL of SearXNG, home-assistant=URL (token: HOME_ASSISTANT_TOKEN), "
    "or mcp=COMMAND (or URL); more than once.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: the proposed answers, and overwrite.")
@click.option("--wait/--no-wait", default=True, help="Serve, and wait for the device (default).")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"The settings to write (default: ${CONFIG_VARIABLE}, else ./{CONFIG_NAME}).",
)
def setup(
    language: str,
    ears: str,
    model: str,
    model_name: str,
    key_file: TextIO | None,
    voice: str,
    tools: tuple[str, ...],
    yes: bool,
    wait: bool,
    config: Path | None,
) -> None:
    """Set everything up: questions, installation, a trial, and the device.

    Every answer can be given as an option; what is given is not asked. Run it again to change
    something: what is there is proposed, and nothing is overwritten without a question.
    """
    from vixio.cli.setup.answers import Given
    from vixio.cli.setup.steps import How, SetUp
    from vixio.cli.setup.terminal import Terminal
    from vixio.cli.setup.trial import SetupTrials
    from vixio.cli.setup.words import Words
    from vixio.telemetry.logging.setup import configure_logging, flush_logs

    configure_logging("CRITICAL")  # what fails is said in words
    given = Given(
        language=language,
        ears=ears,
        model=model,
        model_name=model_name,
        key=_first_line(key_file),
        voice=voice,
        tools=tools,
    )
    asking = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    path = config or Path(os.environ.get(CONFIG_VARIABLE) or CONFIG_NAME)
    terminal = Terminal(Words(language or os.environ.get("LANG", "")))
    trials = SetupTrials(terminal.say, lambda: terminal.words)
    run = SetUp(How(path=path, asking=asking, yes=yes, wait=wait), given, terminal, trials)
    try:
        status = run.run()
    except (click.Abort, KeyboardInterrupt):
        words = terminal.words("stopped.later" if run.written else "stopped")
        click.echo(f"\nvixio: {words}", err=True)
        status = _INTERRUPTED
    finally:
        flush_logs()
    if status:
        raise click.exceptions.Exit(status)


def _first_line(file: TextIO | None) -> str:
    if file is None:
        return ""
    key = file.readline().strip()
    if not key:
        raise ConfigError(f"--key-file {file.name}: its first line is empty; it should be the key")
    return key
