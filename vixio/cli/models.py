"""``vixio models``: list, get, verify and remove speech models."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vixio.cli.config import choose_config, config_option, read_config
from vixio.cli.status import StatusLine

if TYPE_CHECKING:
    from vixio.providers.downloads.catalogue import Model
    from vixio.providers.downloads.hubs import Hubs
    from vixio.providers.downloads.store import Installed, ModelStore

T = TypeVar("T")

_INTERRUPTED = 130
"""The status of a shell for a command that Ctrl-C ended."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The options that every command of the group takes."""

    folder: Path | None = None
    catalogue: tuple[Path, ...] = ()

    def store(self) -> ModelStore:
        from vixio.providers.downloads.store import ModelStore
        from vixio.providers.model_path import models_folder

        return ModelStore(self.folder or models_folder())

    def models(self) -> dict[str, Model]:
        from vixio.providers.downloads.catalogue import load_catalogue

        return load_catalogue(*self.catalogue)


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Put a value into the context, which the commands below see too."""
    if value and parameter.name:
        changed: dict[str, Any] = {parameter.name: value}
        context.obj = replace(_place(context), **changed)


def _place(context: click.Context | None = None) -> _Place:
    return (context or click.get_current_context()).find_object(_Place) or _Place()


def _place_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--folder`` and ``--catalogue``, which may stand before its name as well."""
    further = click.option(
        "--catalogue",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        multiple=True,
        callback=_keep,
        expose_value=False,
        help="A file with further entries, as vixio/providers/downloads/catalogue.yaml.",
    )
    where = click.option(
        "--folder",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="FOLDER",
        callback=_keep,
        expose_value=False,
        help="Where models lie (default: $VIXIO_MODELS, else $XDG_DATA_HOME/vixio/models).",
    )
    return where(further(command))


_json_option = click.option("--json", "as_json", is_flag=True, help="Show it as JSON.")
_yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


@click.group(invoke_without_command=True)
@_json_option
@_place_options
@click.pass_context
def models(context: click.Context, as_json: bool) -> None:
    """List, get, verify and remove speech models.

    Without a command: list them; installed ones have a star. Sizes are those on disk.
    """
    if context.invoked_subcommand is None:
        _show_list(as_json=as_json)


@models.command(name="list")
@_json_option
@_place_options
def list_models(as_json: bool) -> None:
    """List the models of the catalogue; installed ones have a star."""
    _show_list(as_json=as_json)


@models.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@_yes_option
@click.option(
    "--mirror",
    metavar="MIRROR",
    default="",
    help="What is tried first: huggingface, hf-mirror, modelscope, github, or the address of a "
    "server that speaks as Hugging Face.",
)
@click.option(
    "--from",
    "offline",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take the files from FOLDER, without a network: files as the hubs name them, an archive, "
    "or the models folder of another machine.",
)
@_json_option
@_place_options
def get(
    names: tuple[str, ...],
    yes: bool,
    mirror: str,
    offline: Path | None,
    as_json: bool,
) -> None:
    """Fetch models, verify and install them.

    Sizes and licences are shown first. A command that was interrupted goes on where it stopped when
    it is run again; a model whose files are damaged is mended. Proxies are those of the environment
    (HTTPS_PROXY, ALL_PROXY, NO_PROXY), HF_ENDPOINT and MODELSCOPE_DOMAIN name other hubs, and
    HF_TOKEN is sent to Hugging Face alone.
    """
    from vixio.cli import model_lines
    from vixio.providers.downloads.catalogue import find
    from vixio.providers.downloads.hubs import Hubs

    known = _place().models()
    chosen = [find(known, name) for name in dict.fromkeys(names)]
    hubs = Hubs.from_environment(os.environ, mirror)
    store = _place().store()
    missing = [model for model in chosen if store.get(model.name) is None]
    if missing:
        # Not in the event loop, whose handler would keep Ctrl-C from the question.
        size = model_lines.size_of(_run(_plans(missing, store, hubs, offline)))
        what = "it" if len(missing) == 1 else f"{len(missing)} models"
        names_of = " ".join(model.name for model in missing)
        _confirm(f"Fetch {what} ({size})?", f"fetch {names_of}", yes=yes)

    def tell(model: Model, done: Installed) -> None:
        if not as_json:
            _tell(model, done, store, fresh=model in missing)

    results = _run(_get(chosen, store, hubs, offline, tell), resumable=True)
    if as_json:
        both = zip(chosen, results, strict=True)
        found = [model_lines.as_json(model, done, store) for model, done in both]
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))


@models.command()
@click.argument("names", metavar="[NAME...]", nargs=-1)
@_json_option
@_place_options
def verify(names: tuple[str, ...], as_json: bool) -> None:
    """Hash the files of installed models (default: all) and compare them.

    The exit status is 1 if a file is damaged; `vixio models get NAME` mends it.
    """
    store = _place().store()
    chosen = _installed(store, names) if names else list(store.installed().values())
    if not _run(_verify(chosen, store, as_json=as_json)):
        raise click.exceptions.Exit(1)


@models.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@_yes_option
@config_option
@_place_options
def remove(names: tuple[str, ...], yes: bool, config: Path | None) -> None:
    """Remove installed models, and what has arrived of unfinished ones."""
    from vixio.cli.model_lines import size_of
    from vixio.providers.downloads.errors import ModelError

    store = _place().store()
    for name in dict.fromkeys(names):
        present = store.place(name).is_dir()
        arrived = store.partial(name)
        if not (present or arrived):
            raise ModelError(f"{name} is not installed in {store.folder}")
        for section in _users(name, store, config):
            click.echo(f"the settings use {name}: {section}", err=True)
        what = f"{store.place(name)}" if present else f"the unfinished {name} ({size_of(arrived)})"
        _confirm(f"Remove {what}?", f"remove {name}", yes=yes)
        freed = _run(store.remove(name))
        click.echo(f"{name} is removed: {size_of(freed)} are free again")


def _show_list(*, as_json: bool) -> None:
    from vixio.cli import model_lines

    store = _place().store()
    known, there = _place().models(), store.installed()
    if as_json:
        found = [model_lines.as_json(each, there.get(each.name), store) for each in known.values()]
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    click.echo(model_lines.listing(known.values(), there, store.folder))


async def _plans(models: list[Model], store: ModelStore, hubs: Hubs, offline: Path | None) -> int:
    """Show what getting ``models`` takes, and return the bytes."""
    from vixio.cli import model_lines
    from vixio.providers.downloads.get import plan
    from vixio.providers.downloads.web import Web

    size = 0
    with StatusLine() as status:
        report = model_lines.ProgressLines(status, live=sys.stderr.isatty())
        async with Web() as web:
            for model in models:
                its = await plan(model, store, web, hubs, offline=offline, report=report)
                size += its.size
                status.line(model_lines.described(its, store, str(offline or "")))
    return size


async def _get(
    chosen: list[Model],
    store: ModelStore,
    hubs: Hubs,
    offline: Path | None,
    tell: Callable[[Model, Installed], None],
) -> list[Installed]:
    """Get the models, and return them. ``tell``: called with each when it is there."""
    from vixio.cli import model_lines
    from vixio.providers.downloads.get import get as fetch
    from vixio.providers.downloads.web import Web

    results = []
    with StatusLine() as status:
        report = model_lines.ProgressLines(status, live=sys.stderr.isatty())
        async with Web() as web:
            for model in chosen:
                done = await fetch(model, store, web, hubs, offline=offline, report=report)
                results.append(done)
                status.clear()
                tell(model, done)
    return results


def _tell(model: Model, done: Installed, store: ModelStore, *, fresh: bool) -> None:
    from vixio.cli import model_lines

    state = model_lines.verified_by(done) if fresh else "there and whole"
    click.echo(f"{model.name} is in {done.folder} ({model_lines.size_of(done.size)}, {state})")
    if install := model_lines.missing_runtime(model):
        click.echo(f"what runs it is not installed yet:\n\n  {install}\n")
    click.echo(f"the line for the settings:\n\n  {model_lines.settings_line(model, store)}\n")


async def _verify(chosen: list[Installed], store: ModelStore, *, as_json: bool) -> bool:
    """Verify, tell, and return whether all are whole."""
    from vixio.cli import model_lines
    from vixio.providers.downloads.progress import Progress

    found: dict[str, dict[str, str]] = {}
    loop = asyncio.get_running_loop()
    with StatusLine() as status:
        report = model_lines.ProgressLines(status, live=sys.stderr.isatty())
        for model in chosen:

            def on_bytes(done: int, model: Installed = model) -> None:
                progress = Progress(model.name, "checking", done, model.size)
                loop.call_soon_threadsafe(report, progress)

            faults = await store.faults(model, on_bytes)
            found[model.name] = {fault.file: fault.what for fault in faults}
            status.clear()
            if as_json:
                continue
            for fault in faults:
                click.echo(f"{model.name}: {fault.file} {fault.what}")
            if faults:
                click.echo(f"{model.name} is damaged; to mend it: vixio models get {model.name}")
            else:
                size = model_lines.size_of(model.size)
                click.echo(f"{model.name} is whole ({len(model.files)} files, {size})")
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
    elif not chosen:
        click.echo(f"no model is installed in {store.folder}")
    return not any(found.values())


def _installed(store: ModelStore, names: tuple[str, ...]) -> list[Installed]:
    from vixio.providers.downloads.errors import ModelError

    found = []
    for name in dict.fromkeys(names):
        model = store.get(name)
        if model is None:
            raise ModelError(f"{name} is not installed in {store.folder}")
        found.append(model)
    return found


def _users(name: str, store: ModelStore, config: Path | None) -> Iterator[str]:
    """Yield the sections of the settings that name a model."""
    from vixio.core.errors import ConfigError

    _, told = choose_config(config)
    try:
        settings = read_config(config).model_dump(include={"asr", "tts", "devices"})
    except ConfigError:
        return  # settings that cannot be read use nothing
    place = store.place(name)
    for section, value in settings.items():
        if any(_names(each, name, place) for each in _leaves(value)):
            yield f"{section} in {told}"


def _names(value: object, name: str, place: Path) -> bool:
    return isinstance(value, str | PurePath) and (
        str(value) == name or Path(value).expanduser().is_relative_to(place)
    )


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _confirm(question: str, what: str, *, yes: bool) -> None:
    """Ask unless ``yes``. Raises Exit with status 1 if the answer is no."""
    from vixio.providers.downloads.errors import ModelError

    if yes:
        return
    try:
        agreed = click.confirm(question, default=False, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise ModelError(f"there is nobody to ask; to {what} without asking: --yes") from None
    if not agreed:
        raise click.exceptions.Exit(1)


def _run(work: Coroutine[Any, Any, T], *, resumable: bool = False) -> T:
    """Run ``work``. Ctrl-C ends it with one line."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        kept = "; what has arrived is kept, the same command goes on" if resumable else ""
        click.echo(f"vixio: stopped{kept}", err=True)
        raise click.exceptions.Exit(_INTERRUPTED) from None
