"""``vixio profiles``: what an assistant is, kept in the registry and given to devices."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, ago, table, with_repository
from vixio.core.errors import ConfigError


@click.group(cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def profiles(context: click.Context, as_json: bool, config: Path | None) -> None:
    """List and write profiles: instructions, model, voice, language, tools allowed.

    A profile has the keys of a device's section of the settings. `vixio devices assign` gives one
    to a device; a connected device follows from its next turn on.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


def _list(config: Path | None, *, as_json: bool) -> None:
    found = with_repository(config, lambda repository: repository.profiles.all())
    if as_json:
        known = {profile.name: profile.content for profile in found}
        click.echo(json.dumps(known, ensure_ascii=False, indent=2))
    elif not found:
        click.echo("there are no profiles: `vixio profiles set NAME language=de` writes one")
    else:
        devices = with_repository(config, lambda repository: repository.devices())
        rows = [
            (
                profile.name,
                str(sum(device.profile == profile.name for device in devices)),
                ", ".join(profile.content),
                ago(profile.changed_at),
            )
            for profile in found
        ]
        for line in table(("PROFILE", "DEVICES", "SETS", "CHANGED"), rows):
            click.echo(line)


@profiles.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List all profiles."""
    _list(config, as_json=as_json)


@profiles.command()
@click.argument("name")
@click.pass_obj
def show(config: Path | None, name: str) -> None:
    """Show the profile NAME, as YAML."""
    import yaml

    found = with_repository(config, lambda repository: repository.profiles.find(name))
    click.echo(yaml.safe_dump(dict(found.content), allow_unicode=True, sort_keys=False), nl=False)


@profiles.command("set")
@click.argument("name")
@click.argument("values", metavar="KEY=VALUE…", nargs=-1, required=True)
@click.pass_obj
def set_(config: Path | None, name: str, values: Sequence[str]) -> None:
    """Set keys of the profile NAME, such as language=de or tts.voice=de; KEY= takes one away.

    The profile is made if there is none. A value is read as in the settings file; ${VARIABLE} is
    the value of an environment variable of the server.
    """
    found = with_repository(config, lambda repository: repository.profiles.all())
    content: dict[str, Any] = next(
        (json.loads(json.dumps(each.content)) for each in found if each.name == name), {}
    )
    for value in values:
        _put(content, value)
    _write(config, name, content)


@profiles.command()
@click.argument("name")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def load(config: Path | None, name: str, file: Path) -> None:
    """Make the YAML in FILE the profile NAME."""
    import yaml

    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{file}: cannot be read as YAML: {reason}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: expected keys as in a device's section of the settings")
    _write(config, name, content)


@profiles.command()
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_obj
def save(config: Path | None, name: str, file: Path) -> None:
    """Write the profile NAME to FILE as JSON, without secrets; `load` and the console read it."""
    from vixio.settings.shown import shareable

    found = with_repository(config, lambda repository: repository.profiles.find(name))
    try:
        file.write_text(
            json.dumps(shareable(found.content), ensure_ascii=False, indent=2) + "\n", "utf-8"
        )
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror}") from None
    click.echo(f"wrote {file}, without secrets")


@profiles.command()
@click.argument("name")
@click.option(
    "--template", "wanted", required=True, help="storyteller, teacher, translator, child."
)
@click.pass_obj
def create(config: Path | None, name: str, wanted: str) -> None:
    """Make the profile NAME from a template of the console, in the language of the assistant."""
    from importlib.resources import files

    from vixio.cli.speech import quiet_settings

    path = files("vixio.web.console") / "static/pages/profiles/templates.json"
    known = {each["name"]: each for each in json.loads(path.read_text("utf-8"))}
    if wanted not in known:
        raise click.UsageError(f"there is no template {wanted!r}: {', '.join(known)}")
    if name in {each.name for each in with_repository(config, lambda repo: repo.profiles.all())}:
        raise ConfigError(f"there is a profile {name!r} already: take another name")
    language = (quiet_settings(config).assistant.language or "").partition("-")[0].lower()
    texts, content = known[wanted]["texts"], known[wanted]["content"]
    own = texts.get(language) or {"instructions": texts["en"]["instructions"]}
    _write(config, name, {**own, **content})


@profiles.command()
@click.argument("name")
@click.pass_obj
def remove(config: Path | None, name: str) -> None:
    """Remove the profile NAME; its devices are served as the settings say."""
    with_repository(config, lambda repository: repository.profiles.remove(name, actor()))
    click.echo(f"removed {name}")


def _put(content: dict[str, Any], assignment: str) -> None:
    """Set or take away one key. Raises UsageError."""
    import yaml

    path, equals, text = assignment.partition("=")
    *above, key = path.strip().split(".")
    if not (equals and key):
        raise click.UsageError(f"expected KEY=VALUE, found {assignment!r}")
    place: Any = content
    for name in above:
        place = place.setdefault(name, {})
        if not isinstance(place, dict):
            raise click.UsageError(f"{name} has no keys of its own")
    if not text:
        place.pop(key, None)
        return
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    # "Note: be kind" is a text, not a mapping: only braces and brackets make one.
    plain = isinstance(value, dict | list) and text.lstrip()[:1] not in "{["
    place[key] = text if plain else value


def _write(config: Path | None, name: str, content: dict[str, Any]) -> None:
    """Check a profile against the settings, and write it."""
    from vixio.cli.speech import quiet_settings
    from vixio.settings.profile import stored_section

    stored_section(quiet_settings(config), content, os.environ)
    with_repository(config, lambda repository: repository.profiles.put(name, content, actor()))
    click.echo(f"wrote {name}: {', '.join(content) or 'nothing is set'}")
