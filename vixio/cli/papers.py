"""``vixio papers``: documents that the assistant searches, listed, added, searched and erased."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import ago, table, with_repository
from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.data.papers.service import Papers

T = TypeVar("T")

_profile = click.option("--profile", default="", help="Of the devices of this profile alone.")
_person = click.option("--person", default="", help="Of the devices of this person alone.")


@click.group(cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def papers(context: click.Context, as_json: bool, config: Path | None) -> None:
    """List, add, search and erase the documents that the assistant reads.

    Works whether or not the server runs; a running server follows within seconds.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


@papers.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List the documents, with what could not be read of them."""
    _list(config, as_json=as_json)


def _list(config: Path | None, *, as_json: bool) -> None:
    found = _with_papers(config, lambda papers: papers.use(lambda kept: kept.all()))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("there are no documents: `vixio papers add FILE` adds one")
        return
    people = {
        each.id: each.name for each in with_repository(config, lambda known: known.people.all())
    }
    rows = [
        (
            each.id,
            each.name,
            _whose(each.owner, people),
            str(each.pages or ""),
            each.problem or str(each.state),
            ago(each.added_at),
        )
        for each in found
    ]
    for line in table(("ID", "DOCUMENT", "OF", "PAGES", "STATE", "ADDED"), rows):
        click.echo(line)


@papers.command()
@click.argument("files", nargs=-1, required=True)
@_profile
@_person
@click.pass_obj
def add(config: Path | None, files: tuple[str, ...], profile: str, person: str) -> None:
    """Add FILES: PDF, Word (.docx), Markdown, text, HTML. One of the same name is replaced.

    An address (https://…) is a web page, or a document of the web: it is fetched once.
    """
    from vixio.data.papers.records import is_address

    there = click.Path(exists=True, dir_okay=False, path_type=Path)
    given = [each if is_address(each) else there.convert(each, None, None) for each in files]
    owner = _owner(config, profile, person)

    async def added(papers: Papers) -> None:
        for each in given:
            if isinstance(each, str):
                paper = await papers.add_page(owner, each, private=True)
            else:
                content = await asyncio.to_thread(each.read_bytes)
                paper = await papers.add(owner, each.name, content)
            pages = f"{paper.pages} pages, " if paper.pages else ""
            click.echo(f"added {paper.name}: {pages}{paper.passages} passages")

    _with_papers(config, added)


@papers.command()
@click.argument("question")
@_profile
@_person
@json_option
@click.pass_obj
def search(config: Path | None, question: str, profile: str, person: str, as_json: bool) -> None:
    """Search as the assistant does: in the documents of all, and of a profile or a person."""
    owners = list(dict.fromkeys(["", _owner(config, profile, person)]))
    found = _with_papers(config, lambda papers: papers.search(question, owners))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("nothing is found")
    for each in found:
        place = f"{each.document}, page {each.page}" if each.page else each.document
        click.echo(f"{place}{f': {each.heading}' if each.heading else ''}\n  {each.text}\n")


@papers.command()
@click.argument("paper")
@click.pass_obj
def remove(config: Path | None, paper: str) -> None:
    """Erase PAPER, a document by its id or its name."""
    gone = _with_papers(config, lambda papers: papers.remove(paper))
    again = "; it comes again while its file is in the folder" if gone.followed else ""
    click.echo(f"erased {gone.name}{again}")


@papers.command()
@_profile
@_person
@click.option("--all", "everything", is_flag=True, help="Of everybody, whoever they belong to.")
@click.pass_obj
def erase(config: Path | None, profile: str, person: str, everything: bool) -> None:
    """Erase all documents of a profile, of a person, or all there are."""
    if sum(map(bool, (profile, person, everything))) != 1:
        raise click.UsageError("give one of --profile, --person and --all")
    owner = None if everything else _owner(config, profile, person)
    number = _with_papers(config, lambda papers: papers.erase(owner))
    click.echo(f"erased {number} document{'' if number == 1 else 's'}")


def _with_papers(config: Path | None, work: Callable[[Papers], Awaitable[T]]) -> T:
    """Open the documents of the settings, do ``work``, and close them.

    Raises ConfigError, DatabaseFailed, PaperError: one line.
    """
    from vixio.cli.speech import quiet_settings
    from vixio.composition.papers import opened_papers

    async def opened() -> T:
        async with opened_papers(quiet_settings(config)) as papers:
            return await work(papers)

    return asyncio.run(opened())


def _owner(config: Path | None, profile: str, person: str) -> str:
    """Return whose documents are meant. Raises ConfigError, RegistryError."""
    from vixio.data.papers.records import owner_of

    if profile and person:
        raise ConfigError("give --profile or --person, not both")
    if person:
        found = with_repository(config, lambda repository: repository.people.find(person))
        return owner_of(person=found.id)
    return owner_of(profile=profile)


def _whose(owner: str, people: dict[str, str]) -> str:
    kind, _, name = owner.partition("/")
    return f"{kind} {people.get(name, name)}" if kind else "all"
