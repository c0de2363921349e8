"""Tries settings that are not saved: a server's models, and a part as `vixio check --live` does.

Imported when it is first asked for: it brings what tries parts.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import replace
from time import perf_counter
from typing import Final

from vixio.cli.diagnostics import live
from vixio.cli.diagnostics.row import Row
from vixio.cli.diagnostics.trials import trials_of
from vixio.cli.setup.trial import list_models, list_tools
from vixio.composition.part_trials import PART_S, of_row, only
from vixio.composition.server_providers import START_S
from vixio.composition.voice_samples import MAX_BYTES
from vixio.core.errors import ConfigError, VixioError
from vixio.core.streams import closing
from vixio.settings import Settings
from vixio.tools.from_settings import make_sources, specs_of
from vixio.tools.media.source import MediaSource
from vixio.tools.ready.settings import ReadySettings
from vixio.tools.registry import SourceContext
from vixio.web.api.assistant_settings import SERVERS, TOOLS, Models, PartTrial

MAX_TOOLS: Final = 500

_ALLOWED: Final = "allow_private: true allows that"
_ALLOWED_HERE: Final = "the settings file, or api.programs: true, allows it"


async def models(base_url: str, key: str) -> Models:
    """Return the models that a server lists. Raises ProviderError."""
    began = perf_counter()
    found = await list_models(base_url, key)
    return Models(models=found, ms=round((perf_counter() - began) * 1000))


async def try_part(settings: Settings, part: str) -> PartTrial:
    """Use a part of settings once."""
    if part.startswith(SERVERS):
        return await _try_server(settings, part.removeprefix(SERVERS))
    if part.startswith(TOOLS):
        return await _try_tools(settings, part)
    limit = PART_S if part == "agent" else START_S + PART_S
    trials = only(trials_of(settings, START_S), part)
    found: list[Row] = []
    bound = asyncio.timeout(limit)
    try:
        async with bound, closing(live.rows_of(settings, trials, lambda _: None, limit)) as rows:
            async for row in rows:
                if row.kind == part:
                    found.append(row)  # noqa: PERF401 - kept if the limit passes
    except TimeoutError:
        if not bound.expired():
            raise
        late = Row(part)
        late.fail(f"nothing came of it within {limit:g} s")
        found.append(late)
    # Of a list: what is wrong with one of them, else the first one, which is usually used.
    return _trial(next((each for each in found if not each.ok), found[0]), [])


async def _try_server(settings: Settings, name: str) -> PartTrial:
    row, tools = Row(f"{SERVERS}{name}", name), list[str]()
    server = settings.mcp_servers[name].model_copy(update={"enabled": True})
    try:
        tools = await list_tools(name, server, PART_S)
        row.is_done()
        row.detail = f"{len(tools)} tools"
    except VixioError as error:
        row.fail(str(error))
    return _trial(row, tools)


async def _try_tools(settings: Settings, part: str) -> PartTrial:
    """Ask the service of one ready tool, or look for what there is to play."""
    _, kind, *name = part.split(".")
    row, tools = Row(part, kind), list[str]()
    spec = next((each for each in specs_of(settings) if each.type == kind), None)
    if spec is not None and name:
        section = getattr(spec.options, name[0], None)
        spec = replace(spec, options=ReadySettings(**{name[0]: section})) if section else None
    if spec is None:
        row.fail("it is not on")
        return _trial(row, tools)
    try:
        (source,) = make_sources([spec], SourceContext(""))
    except VixioError as error:
        row.fail(str(error).removeprefix(f"{spec.place}: "))
        return _trial(row, tools)
    try:
        async with asyncio.timeout(PART_S):
            await source.start()
            await source.ready()
            if source.faults and (kind == "media" or not source.tools()):
                raise ConfigError(source.faults[0].reason)
            tools = [tool.name for tool in source.tools()]
            if isinstance(source, MediaSource):
                await source.reach()
            row.detail = await source.look()
        row.is_done()
    except (VixioError, TimeoutError) as error:
        row.fail(str(error).replace(_ALLOWED, _ALLOWED_HERE) or f"no answer within {PART_S:g} s")
    finally:
        await source.close()
    return _trial(row, tools)


def _trial(row: Row, tools: list[str]) -> PartTrial:
    sound = b64encode(row.sound).decode() if len(row.sound) <= MAX_BYTES else ""
    return PartTrial(**of_row(row).model_dump(), tools=tools[:MAX_TOOLS], sound=sound)
