"""Installs a model: from the first source that works, verified, then visible as a whole."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vixio.providers.downloads.catalogue import Model, Part, Source
from vixio.providers.downloads.errors import ModelError, Trouble
from vixio.providers.downloads.fetch import Fetch
from vixio.providers.downloads.hubs import Hubs, Mirror
from vixio.providers.downloads.offline import OfflineFolder
from vixio.providers.downloads.progress import Progress, Report, ignore
from vixio.providers.downloads.staging import Staging
from vixio.providers.downloads.store import Installed, ModelStore
from vixio.providers.downloads.web import Web


async def get(
    model: Model,
    store: ModelStore,
    web: Web,
    hubs: Hubs,
    *,
    offline: Path | None = None,
    report: Report = ignore,
) -> Installed:
    """Install ``model``, and return it; one that is there and whole is left as it is.

    Files of an installed model that are broken are replaced. ``offline``: a folder to take the
    files from, instead of the hubs. Waits while another process does the same. Cancelling it, or
    ending the process, keeps what has arrived for the next call. Raises ModelError.
    """
    place = store.place(model.name)
    async with store.locked(model.name, lambda: report(Progress(model.name, "waiting"))):
        present = await asyncio.to_thread(store.get, model.name)
        if present is None and await asyncio.to_thread(place.exists):
            raise ModelError(
                f"{place} is there, but no whole model of `vixio models`: move it away first"
            )
        staging = Staging(model, store, report)
        if present is not None and await staging.is_whole(present):
            await asyncio.to_thread(shutil.rmtree, staging.folder, True)
            return present
        await asyncio.to_thread(store.prepare, model.name)
        if present is not None:
            await asyncio.to_thread(staging.reuse, present)
        await staging.restore()
        if offline is not None:
            folder = await asyncio.to_thread(OfflineFolder, offline, model)
            for part in model.parts:
                await folder.part(part, staging)
        else:
            fetch = Fetch(staging, web, hubs)
            for part in model.parts:
                await fetch.part(part)
        files = [staging.ready[file.name] for file in model.files]
        return await asyncio.to_thread(store.publish, model.name, staging.origin, files)


@dataclass(frozen=True, slots=True)
class Plan:
    """What :func:`get` would do. ``size``: bytes on disk; ``stated``: the hub's own sizes."""

    model: Model
    size: int
    stated: bool
    arrived: int
    """Bytes that an earlier try has fetched."""
    hosts: tuple[str, ...]
    """Where the files come from, the first one first."""


async def plan(
    model: Model,
    store: ModelStore,
    web: Web,
    hubs: Hubs,
    *,
    offline: Path | None = None,
    report: Report = ignore,
) -> Plan:
    """Return what getting ``model`` takes.

    Where the catalogue has no exact size, the hubs are asked, unless the files come from a folder;
    without an answer, the size is the catalogue's approximate one.
    """
    size, stated = 0, True
    hosts: dict[str, None] = {}
    for part in model.parts:
        order = hubs.of(part.sources)
        hosts |= dict.fromkeys(mirror.label for _, mirror in order)
        known = sum(file.size or 0 for file in part.files)
        if not all(file.size for file in part.files):
            said = (
                None
                if offline
                else await _said(part, order, web, hubs, lambda it: report(_asking(model, it)))
            )
            stated = stated and said is not None
            known = sum(file.expected for file in part.files) if said is None else said
        size += known
    arrived = await asyncio.to_thread(store.partial, model.name)
    return Plan(model, size, stated, arrived, tuple(hosts))


def _asking(model: Model, host: str) -> Progress:
    return Progress(model.name, "asking", text=host)


async def _said(
    part: Part,
    order: list[tuple[Source, Mirror]],
    web: Web,
    hubs: Hubs,
    asking: Callable[[str], None],
) -> int | None:
    """Return the size of a part as the first hub that answers states it, None if none does."""
    for source, mirror in order:
        if source.archive is not None:
            continue
        asking(mirror.label)
        try:
            paths = [source.path_of(file) for file in part.files]
            said = await hubs.remotes(web, source, mirror, paths)
        except Trouble:
            continue  # `get` tells it, if it fails there too
        sizes = [said[path].size for path in paths]
        if all(size is not None for size in sizes):
            return sum(size or 0 for size in sizes)
    return None
