"""Tools that were added for profiles: sources of this process, as the registry has them.

A running server reads the registry about once a second: what a command, another process or another
server has added is there in running conversations then.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from vixio.core.errors import ConfigError
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import EVERYBODY, Scope
from vixio.data.devices.profile_repository import added_tools
from vixio.data.devices.registry import DeviceRegistry
from vixio.data.devices.repository import DeviceRepository
from vixio.settings import Settings
from vixio.tools.registry import SourceContext
from vixio.web.api.added_tools import (
    Given,
    PasteMistake,
    PasteRefused,
    SourceAdded,
    SourceTried,
    ToolAdding,
    ToolListed,
)
from vixio.web.api.assistant_settings import NotNow

_log = logging.getLogger(__name__)

TRIAL_S: Final = 60.0
"""For the sources of a paste to start; a package may have to be downloaded."""

Key = tuple[str, str]
"""Profile and name."""


class AddedTools:
    """One server's, in this process. ``folder``: of the data."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        runtime: ToolRuntime,
        registry: DeviceRegistry,
        folder: Path,
    ) -> None:
        self._settings = settings
        self._runtime = runtime
        self._registry = registry
        self._folder = folder
        self._sources: dict[Key, tuple[Mapping[str, Any], str]] = {}
        """What is stored, and the key of the source that was made of it; empty: none could be."""
        self._problems: dict[Key, str] = {}
        self._stale = False
        self._following: asyncio.Task[None] | None = None
        self._trial: asyncio.Task[list[SourceTried]] | None = None

    def port(self) -> ToolAdding:
        """Return what the API does with them."""
        return ToolAdding(self._listed, self._try_out, self._add, self._remove)

    def look_again(self) -> None:
        """Follow the registry, which may have changed."""
        self._stale = True
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(), name="added tools")

    async def close(self) -> None:
        """End what is under way. Idempotent. The runtime closes the sources."""
        await cancel_and_wait(self._following, self._trial)

    async def _follow(self) -> None:
        while self._stale:
            self._stale = False
            wanted = {
                (profile, name): entry
                for profile, sources in added_tools(self._registry.known.profiles).items()
                for name, entry in sources.items()
            }
            if wanted != {key: entry for key, (entry, _) in self._sources.items()}:
                await self._exchange(wanted)

    async def _exchange(self, wanted: Mapping[Key, Mapping[str, Any]]) -> None:
        """Make the sources that are wanted those of the process."""
        from vixio.composition.pasted_tools import environment_of, made

        environment = await asyncio.to_thread(environment_of, self._folder)
        settings, runtime = self._settings(), self._runtime
        context = SourceContext("", settings.assistant.time_zone, counters=runtime.counters)
        for key in [
            each for each, (entry, _) in self._sources.items() if wanted.get(each) != entry
        ]:
            _, source_key = self._sources.pop(key)
            self._problems.pop(key, None)
            if source_key:
                runtime.exchange([source_key], [])
        for key, entry in wanted.items():
            if key in self._sources:
                continue
            profile, name = key
            self._sources[key] = (entry, "")
            try:
                source = made(name, entry["type"], entry["options"], environment, context)
                source.for_scope(name, _scope(profile))
                runtime.exchange([], [source])
            except (ConfigError, ValueError) as error:
                self._problems[key] = str(error)
                fields = {"source": name, "profile": profile, "reason": str(error)}
                _log.warning("added tools left out", extra=fields)
            else:
                self._sources[key] = (entry, source.key)

    async def _listed(self) -> tuple[list[SourceAdded], bool]:
        from vixio.composition.pasted_tools import shown_target

        reports = {
            (profile, report.name.rpartition("/")[2]): report
            for profile in {profile for profile, _ in self._sources}
            for report in self._runtime.reports(_scope(profile))
        }
        found = []
        for key, (entry, _) in sorted(self._sources.items()):
            report, problem = reports.get(key), self._problems.get(key, "")
            if report is not None and report.faults and not report.tools:
                problem = report.faults[0].reason
            state = "failed" if problem else "starting" if report and report.pending else "ok"
            tools = report.tools if report is not None else ()
            found.append(
                SourceAdded(
                    name=key[1],
                    type=entry["type"],
                    target=shown_target(entry["options"]),
                    profile=key[0],
                    state=state,
                    problem=problem,
                    tools=[
                        ToolListed(name=tool.name, description=tool.description[:300])
                        for tool in tools
                    ],
                )
            )
        return found, self._settings().api.programs

    async def _try_out(self, given: Given) -> list[SourceTried]:
        if self._trial is not None and not self._trial.done():
            raise NotNow("another trial is under way: wait until it is done")
        trial = self._trial = asyncio.create_task(self._tried(given))
        await asyncio.wait((trial,))
        if trial.cancelled():
            raise NotNow("the server stops")
        return trial.result()

    async def _tried(self, given: Given) -> list[SourceTried]:
        from vixio.composition import pasted_tools
        from vixio.tools.pasted.trial import Wanted

        sources = await self._understood(given)
        wanted = Wanted(given.tool, given.arguments)
        results = await pasted_tools.tried(sources, TRIAL_S, wanted, os.environ)
        return [
            SourceTried(
                name=source.name,
                type=source.type,
                target=pasted_tools.shown_target(source.options),
                line=source.line,
                ok=not result.problem,
                problem=_for_console(result.problem),
                tools=[ToolListed(name=name, description=text) for name, text in result.tools],
                called=result.called,
                answer=result.answer,
                ms=result.ms,
            )
            for source, result in zip(sources, results, strict=True)
        ]

    async def _understood(self, given: Given) -> Any:  # noqa: ANN401 - imported when it is needed
        from vixio.composition.pasted_tools import Paste, kept_apart, understood
        from vixio.tools.pasted.text import PasteError

        settings = self._settings()
        paste = Paste(given.text, given.headers, given.profile, settings.api.programs)
        own = {name for profile, name in self._sources if not profile}
        taken = frozenset(source.name for source in self._runtime.sources) - own
        try:
            sources = await understood(paste, frozenset() if given.profile else taken, os.environ)
        except PasteError as error:
            raise PasteRefused(
                [
                    PasteMistake(
                        message=_for_console(each.message), line=each.line, column=each.column
                    )
                    for each in error.mistakes
                ]
            ) from None
        if settings.cluster is not None and any(kept_apart(each, "") for each in sources):
            raise NotNow("there are several nodes: write ${NAME} for a key, and set it on each")
        return sources

    async def _add(self, given: Given, actor: str) -> list[str]:
        from vixio.composition.pasted_tools import stored

        sources = await self._understood(given)
        await self._registry.change(
            lambda database: stored(
                sources, given.profile, DeviceRepository(database).profiles, self._folder, actor
            )
        )
        await self._caught_up()
        return [each.name for each in sources]

    async def _remove(self, name: str, profile: str, actor: str) -> None:
        from vixio.composition.pasted_tools import removed

        await self._registry.change(
            lambda database: removed(
                name, profile, DeviceRepository(database).profiles, self._folder, actor
            )
        )
        await self._caught_up()

    async def _caught_up(self) -> None:
        self.look_again()
        if self._following is not None:
            await asyncio.wait((self._following,))


def _for_console(words: str) -> str:
    return words.replace(
        "allow_private: true allows that",
        "`vixio tools add` on the server's machine, or api.programs: true, allows it",
    )


def _scope(profile: str) -> Scope:
    return Scope(profile=profile) if profile else EVERYBODY
