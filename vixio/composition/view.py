"""The server as its operator sees it over the API: parts, trials, load, log, facts."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from vixio.cli.banner import urls
from vixio.composition.info import about
from vixio.composition.load_series import INTERVAL_S, LoadSeries, added_up
from vixio.composition.part_trials import PartTrials
from vixio.composition.parts import parts_of
from vixio.core.tasks import cancel_and_wait
from vixio.settings.shown import shown
from vixio.telemetry.logging.recent import RECENT
from vixio.web.api.server_view import (
    LevelName,
    Load,
    LogLine,
    LogTail,
    PartList,
    PartName,
    ServerFacts,
    SettingsInForce,
    TriedPart,
)

if TYPE_CHECKING:
    from vixio.server import Server
    from vixio.transports.admission.admission import Admission

LOAD: Final = "load"
LOG: Final = "log"
"""Topics under which each process reports to the others."""

LOG_LINES: Final = 200
LOG_BYTES: Final = 128 * 1024
"""Of each process at most, where there are several."""


class OperatorView:
    """One server's, in this process."""

    def __init__(self, app: Server, admission: Admission) -> None:
        self._app = app
        self._presence = admission.cluster.presence
        self._shared = admission.cluster.shared
        self._trials = PartTrials(app)
        self._load = LoadSeries(
            lambda: admission.devices, lambda: float(admission.stats()["loop_lag_ms"])
        )
        self._sampling: asyncio.Task[None] | None = None
        self._began = time.monotonic()
        self._added = False
        app.host.events.attach(self._load)
        self._presence.publish(self._load.status, topic=LOAD)
        self._presence.publish(self._log_status, topic=LOG)

    def begin(self) -> None:
        """Begin to take samples, and to keep lines of the log if nothing does yet."""
        self._began = time.monotonic()
        self._sampling = asyncio.create_task(self._load.run(), name="load samples")
        root = logging.getLogger()
        if RECENT not in root.handlers:  # the program has configured logging itself
            root.addHandler(RECENT)
            self._added = True

    async def close(self) -> None:
        """End all tasks. Idempotent."""
        await self._trials.close()
        await cancel_and_wait(self._sampling)
        if self._added:
            logging.getLogger().removeHandler(RECENT)
            self._added = False

    def facts(self) -> ServerFacts:
        """Return what a banner needs."""
        info = about(self._app)
        return ServerFacts(
            ota_url=urls(info)[0],
            language=info.language,
            access=info.access,
            mqtt=mqtt.devices if (mqtt := self._app.settings.mqtt) is not None else "",
            uptime_s=round(time.monotonic() - self._began, 1),
            troubles={
                each.name: each.reason for each in self._app.readiness.results() if not each.ok
            },
        )

    def parts(self) -> PartList:
        """Return all parts, from what is known already."""
        return parts_of(self._app)

    async def settings(self) -> SettingsInForce:
        """Return the settings in force, without secrets."""
        found = await asyncio.to_thread(shown, self._app.settings)
        return SettingsInForce.model_validate(
            {"settings": found.values, "sources": found.sources, "file": found.file}
        )

    async def check(self, part: PartName | None) -> Sequence[TriedPart]:
        """Use each part once, or one. Raises CheckBusy, CheckEnded."""
        return await self._trials.run(part)

    async def load(self, minutes: int) -> Load:
        """Return the samples of the last minutes, of all processes together."""
        members = [each for each in await self._presence.members(LOAD) if "ticks" in each]
        found = await asyncio.to_thread(added_up, members, minutes * 60 // INTERVAL_S)
        return Load(interval_s=INTERVAL_S, processes=len(members), **found)

    async def log(self, after: int, level: LevelName, limit: int) -> LogTail:
        """Return the last lines of all processes.

        Lines that are written while processes answer are left for the next request: else a line of
        one could hide an earlier one of another.
        """
        number = logging.getLevelNamesMapping()[level]
        if not self._shared:
            lines = RECENT.after(after, number, limit)
            last = lines[-1]["id"] if lines else after
            return _tail([("1", each) for each in lines], last, RECENT.withheld)
        until = time.time_ns() // 1000
        members = await self._presence.members(LOG)
        found = [
            (str(member.get("worker", "1")), line)
            for member in members
            for line in member.get("lines", ())
            if after < line["id"] <= until and line["number"] >= number
        ]
        found.sort(key=lambda each: each[1]["id"])
        withheld = sum(int(member.get("withheld", 0)) for member in members)
        return _tail(found[-limit:], max(after, until), withheld)

    def _log_status(self) -> dict[str, Any]:
        lines: list[dict[str, Any]] = []
        room = LOG_BYTES
        for line in reversed(RECENT.after(limit=LOG_LINES)):
            room -= len(json.dumps(line))
            if room < 0:
                break
            lines.append(line)
        return {"lines": lines[::-1], "withheld": RECENT.withheld}


def _tail(lines: Sequence[tuple[str, dict[str, Any]]], next: int, withheld: int) -> LogTail:
    return LogTail(
        lines=[
            LogLine(
                id=line["id"],
                at=line["id"] // 1000,
                process=process,
                level=line["level"],
                logger=line["logger"],
                message=line["message"],
                fields=line["fields"],
            )
            for process, line in lines
        ],
        next=next,
        withheld=withheld,
    )
