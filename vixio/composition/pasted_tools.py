"""Tools that people paste: understood, tried, and stored for a profile; for the console and the
command line.

``trusted``: the person may start programs on this machine, reach its network and refer to its
environment. What looks like a key is stored apart, in :data:`ENV_FILE` of the data folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from vixio.core.errors import ConfigError
from vixio.core.tools.source import ToolSource
from vixio.core.wall_clock import now_ms
from vixio.data.database.paths import make_private_folder
from vixio.data.devices.profile_repository import AddedTools, ProfileRepository
from vixio.data.devices.records import NotKnown, RegistryError
from vixio.settings.env_file import read_env
from vixio.settings.shown import MASK, hides, without_passwords
from vixio.settings.variables import expanded
from vixio.tools.from_settings import SourceSpec, make_sources
from vixio.tools.mcp.config import missing_program
from vixio.tools.mcp.source import McpSource
from vixio.tools.pasted.address import read_address
from vixio.tools.pasted.servers import Pasted, read_servers
from vixio.tools.pasted.text import Mistake, PasteError
from vixio.tools.pasted.trial import TriedSource, Wanted, try_source
from vixio.tools.registry import SourceContext, resolve

ENV_FILE: Final = "tools.env"
"""Keys of added tools, ``NAME=value`` a line; it is in the backup, readable by its owner only."""

MAX_ADDED: Final = 64
"""Sources of one profile."""

TRIALS: Final = 4
"""At the same time."""

_TOKEN: Final = re.compile(
    r"(?:sk|pk|gh[a-z]|xox[a-z]|glpat|hf|github_pat|tvly|AIza)[-_]?[\w-]{8,}"
    r"|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9_-]{24,}"
)
_OPTION: Final = re.compile(
    r"(--?[\w-]+|[A-Za-z_]\w*)([=:]\s*)(?:(bearer|basic|token)\s+)?(.+)", re.I
)
_SCHEME: Final = re.compile(r"((?:bearer|basic|token)\s+)?(.+)", re.IGNORECASE | re.DOTALL)
_SLUG: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Paste:
    """What a person gives. ``text``: JSON or an address; ``headers``: for an address."""

    text: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    profile: str = ""
    """The profile that it is for; empty: all devices."""
    trusted: bool = False


async def understood(
    paste: Paste, taken: frozenset[str], environment: Mapping[str, str]
) -> tuple[Pasted, ...]:
    """Return the sources of a paste. ``taken``: names of other sources. Raises PasteError."""
    text = paste.text.strip()
    found: tuple[Pasted, ...]
    if text.lower().startswith(("http://", "https://")) and len(text.split()) == 1:
        found = (await read_address(text, paste.headers, taken, private=paste.trusted),)
    else:
        found = await asyncio.to_thread(read_servers, paste.text, taken)
    mistakes = [mistake for each in found for mistake in _refused(each, paste.trusted, environment)]
    if mistakes:
        raise PasteError(*mistakes)
    return tuple(_guarded(each, paste.trusted) for each in found)


async def tried(
    sources: Sequence[Pasted], limit: float, wanted: Wanted, environment: Mapping[str, str]
) -> list[TriedSource]:
    """Try all sources, for about ``limit`` seconds together. Secrets are in no result."""
    few = asyncio.Semaphore(TRIALS)

    async def one(pasted: Pasted) -> TriedSource:
        try:
            source = made(pasted.name, pasted.type, pasted.options, environment)
        except ConfigError as error:
            return TriedSource(str(error))
        async with few:
            if isinstance(source, McpSource):
                # The first start of a package takes as long as its download.
                # A little less, so that it is the source that says why.
                source.config = replace(source.config, connect_timeout=limit * 0.9)
            found = await try_source(source, limit, wanted)
        secrets = [each for each in kept_apart(pasted, "").values() if len(each) > 3]

        def clean(text: str) -> str:
            for secret in sorted(secrets, key=len, reverse=True):
                text = text.replace(secret, MASK)
            return text

        return replace(found, problem=clean(found.problem), answer=clean(found.answer))

    return list(await asyncio.gather(*map(one, sources)))


async def stored(
    sources: Sequence[Pasted],
    profile: str,
    repository: ProfileRepository,
    folder: Path,
    actor: str,
) -> None:
    """Store sources for a profile; one of the same name is replaced.

    Raises RegistryError.
    """

    async def change(before: AddedTools) -> AddedTools:
        after = dict(before)
        secrets: dict[str, str] = {}
        for each in sources:
            prefix = _prefix(profile, each.name)
            found = kept_apart(each, prefix)
            secrets |= found
            after[each.name] = {
                "type": each.type,
                "options": _with_names(each.options, found),
                "at": now_ms(),
            }
        if len(after) > MAX_ADDED:
            raise RegistryError(f"at most {MAX_ADDED} sources are added: remove some first")
        gone = [_prefix(profile, each.name) for each in sources]
        await asyncio.to_thread(_write_env, folder, secrets, gone)
        return after

    await repository.change_tools(profile, change, actor, "tools added")


async def removed(
    name: str, profile: str, repository: ProfileRepository, folder: Path, actor: str
) -> None:
    """Remove a source from a profile. Raises RegistryError."""

    async def change(before: AddedTools) -> AddedTools:
        if name not in before:
            whose = f"the profile {profile!r}" if profile else "all devices"
            raise NotKnown(f"there is no {name!r} for {whose}: `vixio tools list` shows them")
        await asyncio.to_thread(_write_env, folder, {}, [_prefix(profile, name)])
        return {key: each for key, each in before.items() if key != name}

    await repository.change_tools(profile, change, actor, "tools removed")


def made(
    name: str,
    kind: str,
    options: Mapping[str, Any],
    environment: Mapping[str, str],
    context: SourceContext | None = None,
) -> ToolSource:
    """Return the source of stored options, unstarted. Raises ConfigError."""
    given = _expanded(options, environment)
    try:
        model = resolve(kind).settings_model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    spec = SourceSpec(kind, name, f"tools {name}", model)
    return make_sources([spec], context or SourceContext(""))[0]


def environment_of(folder: Path) -> dict[str, str]:
    """Return the variables of added tools: their keys, over those of the process. Blocking."""
    return {**os.environ, **read_env(folder / ENV_FILE)}


def shown_target(options: Mapping[str, Any]) -> str:
    """Return what a source is, without what may be secret: its program, or its host."""
    if command := options.get("command"):
        named = [
            Path(each).name if each[:1] in "/." else each
            for each in options.get("args") or ()
            if each[:1] != "-" and "${" not in each and not _TOKEN.fullmatch(each)
        ]
        return without_passwords(" ".join([Path(str(command)).name, *named[:1]]))[:120]
    address = urlsplit(str(options.get("url") or options.get("document") or ""))
    return address.netloc.rpartition("@")[2]


def kept_apart(pasted: Pasted, prefix: str) -> dict[str, str]:
    """Return what looks like a key in a source, by the name of its variable."""
    found: dict[str, str] = {}
    options = pasted.options
    for key, value in (*_in_fields(options), *_in_args(options), *_in_addresses(options)):
        if "${" in value or "\n" in value or value in found.values():
            continue
        plain = f"{prefix}{_SLUG.sub('_', key).strip('_').upper() or 'KEY'}"
        name, number = plain, 2
        while name in found:
            name, number = f"{plain}_{number}", number + 1
        found[name] = value
    return found


def _in_fields(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for group in ("env", "headers"):
        for key, value in (options.get(group) or {}).items():
            scheme = _SCHEME.fullmatch(value) if isinstance(value, str) else None
            if scheme and (hides(key, value, declared=True) or _TOKEN.fullmatch(scheme[2])):
                yield key, scheme[2]
    if isinstance(token := options.get("token"), str):
        yield "token", token


def _in_args(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    before = ""
    for arg in options.get("args") or ():
        option = _OPTION.fullmatch(arg)
        if option and (_is_secret(option[1]) or _TOKEN.fullmatch(option[4])):
            yield option[1].lstrip("-"), option[4]
        elif before.startswith("-") and _is_secret(before):
            yield before.lstrip("-"), arg
        elif _TOKEN.fullmatch(arg) and not arg.startswith("-"):
            yield "key", arg
        before = arg


def _in_addresses(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("url", "document"):
        parts = urlsplit(str(options.get(key) or ""))
        if parts.password:
            yield "password", parts.password
        for pair in parts.query.split("&"):
            name, _, value = pair.partition("=")
            if value and (_is_secret(name) or _TOKEN.fullmatch(value)):
                yield name, value
        yield from (("path", each) for each in parts.path.split("/") if _TOKEN.fullmatch(each))


def _is_secret(option: str) -> bool:
    return hides(option.lstrip("-"), "", declared=True)


def _with_names(value: Any, secrets: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    """Return options with the names of variables in the place of secrets."""
    if isinstance(value, Mapping):
        return {key: _with_names(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_names(each, secrets) for each in value]
    if isinstance(value, str) and secrets:
        names = {secret: name for name, secret in secrets.items()}
        longest = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
        return re.sub(longest, lambda match: f"${{{names[match.group()]}}}", value)
    return value


def _refused(pasted: Pasted, trusted: bool, environment: Mapping[str, str]) -> Sequence[Mistake]:
    """Return what cannot be, of a source that is right as such."""
    at = Mistake("", pasted.line, pasted.column)
    if not trusted:
        if pasted.is_program:
            words = (
                f"{pasted.name} starts a program on the server: add it there with "
                "`vixio tools add`, or set api.programs: true"
            )
            return [replace(at, message=words)]
        if pasted.type == "openapi" and urlsplit(str(pasted.options["document"])).scheme == "":
            return [replace(at, message="document: expected an address: https://…")]
        words = "write the value itself: the variables of the server are for its operator"
        if "${" in json.dumps(pasted.options):
            places = [place for _, place in pasted.variables] or [at]
            return [replace(place, message=words) for place in places]
        return []
    mistakes = [
        replace(place, message=f"{place.message}: set it in the server's environment, or write "
        "the value")
        for name, place in pasted.variables
        if not environment.get(name)
    ]  # fmt: skip
    command = str(pasted.options.get("command") or "")
    if pasted.is_program and "${" not in command and shutil.which(command) is None:
        mistakes.append(
            replace(at, message=missing_program(command, pasted.options.get("cwd", "")))
        )
    return mistakes


def _guarded(pasted: Pasted, trusted: bool) -> Pasted:
    """Return a source that reaches the private network only where the person may."""
    if pasted.is_program:
        return pasted
    return replace(pasted, options={**pasted.options, "allow_private": trusted})


def _expanded(value: Any, environment: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return {key: _expanded(each, environment) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_expanded(each, environment) for each in value]
    if not isinstance(value, str):
        return value
    return expanded(value, environment, ConfigError, _REMEDY)


_REMEDY: Final[Callable[[str], str]] = "set it, or add these tools again".format


def _prefix(profile: str, name: str) -> str:
    return f"TOOLS_{_slug(profile) if profile else 'ALL'}__{_slug(name)}__"


def _slug(text: str) -> str:
    """Return a part of the name of a variable; different texts give different ones."""
    plain = _SLUG.sub("_", text).strip("_").upper()
    return plain if plain.lower() == text else f"{plain}_{zlib.crc32(text.encode()):08X}"


def _write_env(folder: Path, added: Mapping[str, str], gone: Sequence[str]) -> None:
    """Write the variables of tools, without former ones that begin with ``gone``."""
    path = folder / ENV_FILE
    former = read_env(path)
    kept = {name: each for name, each in former.items() if not name.startswith(tuple(gone))}
    if former == {**kept, **added}:
        return
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted({**kept, **added}.items())]
    try:
        make_private_folder(folder)
        draft = path.with_name(f"{ENV_FILE}.new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write("# Keys of added tools, written by `vixio tools` and the console.\n")
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise RegistryError(f"{path}: cannot be written: {error.strerror}") from None
