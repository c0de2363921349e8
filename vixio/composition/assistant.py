"""Settings that are changed in the browser: shown, saved, applied in all processes, undone."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pydantic import ValidationError

from vixio.cli.setup.services import SERVICES
from vixio.composition.assistant_file import AssistantFile
from vixio.composition.assistant_install import Installer
from vixio.composition.masks import masked, restored, secrets
from vixio.composition.registry import data_folder
from vixio.core.cluster import Cluster
from vixio.core.errors import ConfigError, ProviderError, VixioError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.types import JsonObject
from vixio.settings import Settings
from vixio.settings.devices import PROVIDERS
from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.layer import FILE_NAME, KEYED, OF_TOOLS, SECTIONS, LayerError
from vixio.settings.shown import MASK, shown
from vixio.settings.variables import expanded
from vixio.web.api.assistant_settings import (
    NOT_STARTED,
    SERVERS,
    AssistantState,
    Choices,
    Installation,
    Mistaken,
    Models,
    NotNow,
    PartTrial,
    Unusable,
)

if TYPE_CHECKING:
    from vixio.composition.reload import Reloader
    from vixio.server import Server

_log = logging.getLogger(__name__)

TOPIC: Final = "assistant"
"""By which processes tell each other that the file has changed."""

APPLIED_S: Final = 10.0
"""For all processes to apply it; one that cannot has it in its log."""

_AGAIN_S: Final = 0.1

_OF_OPERATOR: Final = frozenset({"folders", "stories", "allow_private"})
"""Of music: what reads the disk of the server, or leads into its private network."""


class AssistantSettingsService:
    """One server's, in this process."""

    def __init__(self, app: Server, cluster: Cluster) -> None:
        self._app = app
        self._cluster = cluster
        self._file = AssistantFile(data_folder(app.settings) / FILE_NAME)
        self._applied = ""
        """The mark of the last change that was applied here."""
        self._following: set[asyncio.Task[None]] = set()
        self._trial: asyncio.Task[PartTrial] | None = None
        self._installer = Installer(cluster.presence, partial(self._file.locked, "install", 0))
        cluster.presence.publish(lambda: {"mark": self._applied}, topic=TOPIC)
        cluster.broadcast.on_message(TOPIC, self._told)

    async def show(self) -> AssistantState:
        """Return what was saved and what is in force."""
        return await asyncio.to_thread(self._state)

    async def save(
        self, content: dict[str, Any], seen: int | None, *, anyway: bool
    ) -> Sequence[str]:
        """Save and apply a content; return the names of the sections that changed."""
        reloader = self._editable()
        async with self._file.locked("lock"):
            if seen is not None and seen != (self._file.changed_at or 0):
                raise NotNow("it was changed since this page was loaded: load it again")
            stored = await asyncio.to_thread(self._file.read)
            whole = self._completed(content, stored)
            async with self._drafted(whole) as draft:
                if not anyway:
                    await self._start(await asyncio.to_thread(reloader.read, draft), whole)
                await reloader.apply(draft, partial(self._file.keep, draft))
            await self._everywhere()
        return _noted(stored, whole)

    async def undo(self) -> Sequence[str]:
        """Apply what was saved before; return the names of the sections that changed."""
        reloader = self._editable()
        async with self._file.locked("lock"):
            if not self._file.before.exists():
                raise NotNow("there is nothing to undo")
            stored = await asyncio.to_thread(self._file.read)
            with _refused(stored):
                await reloader.apply(self._file.before, self._file.back)
            await self._everywhere()
            now = await asyncio.to_thread(self._file.read)
        return _noted(stored, now)

    async def choices(self, language: str) -> Choices:
        """Return what the guide can offer for a language."""

        def found() -> Choices:
            from vixio.composition.assistant_choices import choices  # imports `vixio setup`

            own = self._app.settings.assistant.language
            programs = self._app.settings.api.programs
            return choices(
                language or own, lambda url: not self._connection(url)[1], programs=programs
            )

        return await asyncio.to_thread(found)

    async def models(self, base_url: str, key: str) -> Models:
        """Return the models of a server. ``key``: ``***`` for the one that is known."""
        self._editable()
        whole, mistakes = await asyncio.to_thread(self._connection, base_url, key)
        if mistakes:
            raise Unusable(mistakes[0][1], "no_key")
        trials, section = await asyncio.to_thread(_trials), whole["agent"]
        try:
            key = expanded(section.get("api_key", ""), os.environ, ConfigError, str)
            found: Models = await trials.models(section.get("base_url", ""), key)
            return found
        except ConfigError:
            raise Unusable("its variable is not set", "no_key") from None
        except ValidationError as error:
            words = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise Unusable(f"base_url: {words}", "") from None
        except ProviderError as error:
            raise Unusable(clean(str(error), {"agent": {"api_key": key}}), error.reason) from None

    async def try_part(self, part: str, content: dict[str, Any]) -> PartTrial:
        """Use a part once with a content that is not saved."""
        reloader, trials = self._editable(), await asyncio.to_thread(_trials)
        whole = self._completed(content, await asyncio.to_thread(self._file.read))
        async with self._file.locked("trial", 0):
            async with self._drafted(whole) as draft:
                settings = await asyncio.to_thread(reloader.read, draft)
            if part.startswith(SERVERS) and part.removeprefix(SERVERS) not in settings.mcp_servers:
                raise Mistaken([(part, "there is no such server")])
            trial = self._trial = asyncio.create_task(trials.try_part(settings, part))
            try:
                await asyncio.wait((trial,))
            finally:
                await cancel_and_wait(trial)
        if trial.cancelled():
            raise NotNow("the server stops")
        detail = clean(trial.result().detail, whole, settings)
        return trial.result().model_copy(update={"detail": detail})

    async def install(self, names: Sequence[str]) -> Installation:
        """Begin to install choices."""
        self._editable()
        return await self._installer.begin(names)

    async def installation(self) -> Installation:
        """Return how the last installation is."""
        return await self._installer.state()

    async def close(self) -> None:
        """End what is under way. Idempotent."""
        await self._installer.close()
        await cancel_and_wait(self._trial)
        if self._following:
            await asyncio.wait(self._following)

    def _completed(self, content: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return a content with its secrets. Raises Mistaken."""
        whole, mistakes = restored(content, stored, _variable)
        for place, why in self._fixed().items():
            sent, had = (_at(each, *place.split(".", 1)) for each in (whole, stored))
            if sent is not None and sent != had:
                mistakes.append((place, f"{why} has it, which wins: change it there"))
        servers = whole.get("mcp_servers")
        for name, server in servers.items() if isinstance(servers, Mapping) else ():
            if isinstance(server, Mapping) and {"command", "args", "env", "cwd"} & set(server):
                words = "only with a url: a program is started by the settings file alone"
                mistakes.append((f"mcp_servers.{name}", words))
        sent, had = (_at(each, "tools", "media") for each in (whole, stored))
        if isinstance(sent, Mapping) and not self._app.settings.api.programs:
            for key in _OF_OPERATOR:
                if sent.get(key) and not (isinstance(had, Mapping) and sent[key] == had.get(key)):
                    words = "only in the settings file, or with api.programs: true"
                    mistakes.append((f"tools.media.{key}", words))
        if mistakes:
            raise Mistaken(mistakes)
        return whole

    @asynccontextmanager
    async def _drafted(self, content: Mapping[str, Any]) -> AsyncIterator[Path]:
        """Give a file with a content, for a body that the settings may refuse. Raises Mistaken."""
        draft = await asyncio.to_thread(self._file.draft, content)
        try:
            with _refused(content):
                yield draft
        finally:
            draft.unlink(missing_ok=True)

    async def _start(self, settings: Settings, content: Mapping[str, Any]) -> None:
        """Start the parts that are not in use. Raises Mistaken if one fails."""
        if failed := await self._app.providers.start_new(settings):
            found = [(kind, clean(str(each), content, settings)) for kind, each in failed.items()]
            raise Mistaken(found, NOT_STARTED)

    async def _everywhere(self) -> None:
        """Have the other processes read the file, and wait for them."""
        mark = self._applied = uuid4().hex
        until = asyncio.get_running_loop().time() + APPLIED_S
        while self._cluster.shared and asyncio.get_running_loop().time() < until:
            self._cluster.broadcast.send(TOPIC, {"mark": mark})
            await asyncio.sleep(_AGAIN_S)
            members = await self._cluster.presence.members(TOPIC)
            if all(each.get("mark") == mark for each in members):
                return
        if self._cluster.shared:
            _log.warning("changed settings are not in force in all processes")

    def _told(self, body: JsonObject) -> None:
        mark = str(body.get("mark", ""))
        if mark == self._applied or self._following or self._app.reloader is None:
            return
        task = asyncio.create_task(self._follow(self._app.reloader, mark))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _follow(self, reloader: Reloader, mark: str) -> None:
        await reloader.reload()
        self._applied = mark

    def _state(self) -> AssistantState:
        settings, content = self._app.settings, self._file.read()
        in_force = shown(settings).values
        fixed, problem, why_not = self._fixed(), "", ""
        try:
            reloader = self._editable()
            with _refused(content):
                reloader.read()
        except NotNow as error:
            content, why_not = {}, str(error)
        except Mistaken as error:
            problem = str(error)
        return AssistantState(
            content=masked(content),
            in_force={
                **{name: in_force[name] for name in SECTIONS},
                "tools": {name: in_force["tools"][name] for name in OF_TOOLS},
            },
            fixed=fixed,
            editable=not why_not,
            why_not=why_not,
            problem=problem,
            set_up=bool(content or {"asr", "agent", "tts"} & set(fixed)),
            can_undo=not why_not and self._file.before.exists(),
            changed_at=None if why_not else self._file.changed_at,
        )

    def _fixed(self) -> dict[str, str]:
        """Return what the settings file decides, with its file and line."""
        settings = self._app.settings
        origin, found = settings.origin, {}
        for name in SECTIONS:
            places: list[KeyPath] = [(name,)]
            if name in KEYED:
                value = getattr(settings, name)
                given = value if isinstance(value, Mapping) else value.model_fields_set
                given = OF_TOOLS if name == "tools" else given
                places = [(name, key) for key in given]
            elif name not in settings.model_fields_set:
                continue
            for place in places:
                if place in origin.keys and place not in origin.console:
                    found[show_path(place)] = f"{origin.file}:{origin.keys[place]}"
        return found

    def _editable(self) -> Reloader:
        """Return what applies changes. Raises NotNow."""
        settings = self._app.settings
        if self._app.reloader is None:
            raise NotNow("a program gave this server its settings: they are changed there")
        if not settings.data.kept:
            raise NotNow("data.database is none: this server keeps nothing")
        if settings.cluster is not None:
            raise NotNow("there are several nodes: their settings files decide")
        return self._app.reloader

    def _connection(
        self, base_url: str, key: str = MASK
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Return the section ``agent`` for a server, its key put in; mistakes: none is known."""
        section = {"name": "openai", "base_url": base_url, "api_key": key}
        given = {name: each for name, each in section.items() if each}
        return restored({"agent": given}, self._file.read(), _variable)


@contextmanager
def _refused(content: Mapping[str, Any]) -> Iterator[None]:
    """Turn what the settings refuse into Mistaken."""
    try:
        yield
    except NotNow:
        raise
    except LayerError as error:
        raise Mistaken([(path, clean(each, content)) for path, each in error.mistakes]) from None
    except VixioError as error:
        name = f'"name": "{error.provider}"' if isinstance(error, ProviderError) else "\0"
        path = next((each for each in PROVIDERS if name in json.dumps(content.get(each))), "")
        raise Mistaken([(path, clean(str(error), content))]) from None


def _trials() -> Any:  # noqa: ANN401 - a module
    """Import what tries parts; takes a few tenths of a second."""
    from vixio.composition import assistant_trials

    return assistant_trials


def clean(text: str, content: Mapping[str, Any], settings: Settings | None = None) -> str:
    """Return a text without the secrets of a content, which a server may have repeated in it."""
    known = secrets(content) | (set(settings.origin.texts) if settings is not None else set())
    for secret in sorted(known, key=len, reverse=True):
        if len(secret) > 3:
            text = text.replace(secret, MASK)
    return " ".join(text.split())


def _variable(base_url: str) -> str:
    """Return the reference to the variable that has the key of a service; empty: there is none."""
    for service in SERVICES:
        if service.base_url == base_url and service.key and os.environ.get(service.key):
            return f"${{{service.key}}}"
    return ""


def _at(content: Mapping[str, Any], section: str, key: str = "") -> Any:  # noqa: ANN401 - JSON
    found = content.get(section)
    if not key:
        return found
    return found.get(key) if isinstance(found, Mapping) else None


def _noted(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the sections that changed, and log them."""
    names = [name for name in SECTIONS if before.get(name) != after.get(name)]
    _log.info("settings changed in the browser", extra={"sections": ", ".join(names)})
    return names
