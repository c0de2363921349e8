"""``vixio tools``: tools that are added by paste, for a profile or for all devices."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, table, with_repository
from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.tools.pasted.servers import Pasted
    from vixio.tools.pasted.text import Mistake
    from vixio.tools.pasted.trial import TriedSource

TRIAL_S: Final = 180.0
"""For all sources to start: the first start of a package is its download."""

LINE_CHARS: Final = 100


@click.group(cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def tools(context: click.Context, as_json: bool, config: Path | None) -> None:
    """Add, list and remove tools: servers of MCP, OpenAPI documents, A2A agents.

    What is added for a profile is there for its devices only, in running conversations too.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


@tools.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List the tools that were added, and those of the settings."""
    _list(config, as_json=as_json)


@tools.command()
@click.argument("paste", metavar="FILE|-|URL")
@click.option("--profile", default="", help="For the devices of this profile only.")
@click.option("--header", "headers", multiple=True, help="For a URL, as 'Authorization: Bearer …'.")
@click.option("--call", "tool", default="", help="Call this tool in the trial.")
@click.option("--arguments", default="{}", help="Of that tool, as JSON.")
@click.option("--dry-run", is_flag=True, help="Only try them.")
@click.option("--anyway", is_flag=True, help="Save them also if they do not work now.")
@click.pass_obj
def add(
    config: Path | None,
    paste: str,
    profile: str,
    headers: Sequence[str],
    tool: str,
    arguments: str,
    dry_run: bool,
    anyway: bool,
) -> None:
    """Add tools: the JSON of a desktop program (mcpServers), or an address.

    Each source is started once, its tools are listed, and one that does no harm is called. Keys are
    stored apart, in tools.env of the data folder.
    """
    from vixio.cli.speech import quiet_settings
    from vixio.composition import pasted_tools
    from vixio.composition.registry import data_folder
    from vixio.tools.pasted.text import PasteError
    from vixio.tools.pasted.trial import Wanted

    settings = quiet_settings(config)
    text = _read(paste)
    given = pasted_tools.Paste(text, dict(map(_header, headers)), profile, trusted=True)
    taken = frozenset() if profile else frozenset(name for name, _, _ in _of_settings(settings))
    with_repository(config, lambda repository: repository.profiles.tools())  # it can be opened
    try:
        sources = asyncio.run(pasted_tools.understood(given, taken, os.environ))
    except PasteError as error:
        for mistake in error.mistakes:
            click.echo(_mistake(paste, text, mistake), err=True)
        raise click.exceptions.Exit(2) from None
    wanted = Wanted(tool, arguments)
    results = asyncio.run(pasted_tools.tried(sources, TRIAL_S, wanted, os.environ))
    for source, result in zip(sources, results, strict=True):
        _show(source, result)
    if any(result.problem for result in results) and not anyway and not dry_run:
        raise ConfigError("nothing is saved: mend it, or save it with --anyway")
    if dry_run:
        return
    if settings.cluster is not None and any(pasted_tools.kept_apart(each, "") for each in sources):
        raise ConfigError("there are several nodes: write ${NAME} for a key, and set it on each")
    folder = data_folder(settings)
    with_repository(
        config,
        lambda repository: pasted_tools.stored(
            sources, profile, repository.profiles, folder, actor()
        ),
    )
    names = ", ".join(each.name for each in sources)
    click.echo(f"saved {names} for {_whose(profile)}; a running server has them within seconds")


@tools.command()
@click.argument("name")
@click.option("--profile", default="", help="Of this profile; without it, of all devices.")
@click.pass_obj
def remove(config: Path | None, name: str, profile: str) -> None:
    """Remove the source NAME."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition import pasted_tools
    from vixio.composition.registry import data_folder

    folder = data_folder(quiet_settings(config))
    with_repository(
        config,
        lambda repository: pasted_tools.removed(
            name, profile, repository.profiles, folder, actor()
        ),
    )
    click.echo(f"removed {name} for {_whose(profile)}")


def _list(config: Path | None, *, as_json: bool) -> None:
    from vixio.cli.speech import quiet_settings
    from vixio.composition.pasted_tools import shown_target

    found = with_repository(config, lambda repository: repository.profiles.tools())
    rows = [
        (name, entry["type"], shown_target(entry["options"]), _whose(profile))
        for profile, sources in sorted(found.items())
        for name, entry in sources.items()
    ]
    rows += [
        (*each, "all devices, by the settings") for each in _of_settings(quiet_settings(config))
    ]
    if as_json:
        names = ("name", "type", "target", "for")
        lines = [dict(zip(names, row, strict=True)) for row in rows]
        click.echo(json.dumps(lines, ensure_ascii=False, indent=2))
        return
    for line in table(("NAME", "TYPE", "TARGET", "FOR"), rows):
        click.echo(line)
    if not found:
        click.echo("none were added: `vixio tools add FILE` takes the JSON of desktop programs")


def _of_settings(settings: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401 - imports pydantic
    from vixio.composition.pasted_tools import shown_target
    from vixio.tools.from_settings import specs_of

    return [
        (spec.name, spec.type, shown_target(spec.options.model_dump()))
        for spec in specs_of(settings)
    ]


def _read(paste: str) -> str:
    """Return the text of a paste. Raises ConfigError."""
    if paste.lower().startswith(("http://", "https://")):
        return paste
    try:
        return sys.stdin.read() if paste == "-" else Path(paste).read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{paste}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{paste}: is not UTF-8 text: save it in the encoding UTF-8") from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (colon and name.strip() and value.strip()):
        raise click.UsageError("--header: expected NAME: VALUE")
    return name.strip(), value.strip()


def _mistake(paste: str, text: str, mistake: Mistake) -> str:
    """Return a mistake with its line, and a mark below its column; without what may be a key."""
    if not mistake.line:
        return f"vixio: {paste}: {mistake.message}" if paste != "-" else f"vixio: {mistake.message}"
    place = "" if paste == "-" else f"{paste}:"
    line = text.splitlines()[mistake.line - 1] if text.splitlines() else ""
    head = line[: mistake.column - 1].expandtabs(1)[-40:]
    return (
        f"vixio: {place}{mistake.line}:{mistake.column}: {mistake.message}\n  {head}\n"
        f"  {' ' * len(head)}^"
    )


def _show(source: Pasted, result: TriedSource) -> None:
    if result.problem:
        click.echo(f"{source.name}: {result.problem}")
        return
    click.echo(f"{source.name}: {len(result.tools)} tools, {result.ms} ms")
    for name, description in result.tools:
        click.echo(f"  {name}  {' '.join(description.split())}"[:LINE_CHARS].rstrip())
    if result.called:
        click.echo(f"  called {result.called}: {result.answer}"[: 2 * LINE_CHARS])
    else:
        click.echo("  no tool was called: none is known to do no harm (--call NAME calls one)")


def _whose(profile: str) -> str:
    return f"the profile {profile}" if profile else "all devices"
