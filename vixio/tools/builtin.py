"""The built-in tools: clock, end of the conversation, volume, facts about the user."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from vixio.core.errors import ConfigError, ToolError
from vixio.core.facts import FactStore, InMemoryFactStore, person_owner
from vixio.core.tools.context import ToolContext
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.local import func_to_tool_definition, get_date, get_time
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import JsonObject, ToolDefinition, ToolOptions
from vixio.tools.registry import SourceContext, ToolSourceFactory
from vixio.tools.source_settings import Name, SourceSettings

BUILTIN_SOURCE = "builtin"

STATUS_TOOL = "self.get_device_status"
"""``main/mcp_server.cc`` of the firmware: returns JSON, ``audio_speaker.volume`` 0 to 100."""

VOLUME_TOOL = "self.audio_speaker.set_volume"
"""``main/mcp_server.cc``: takes ``volume``, 0 to 100."""


def builtin_source(
    names: Sequence[str] | None = None,
    facts: FactStore | None = None,
    time_zone: str = "",
    *,
    name: str = BUILTIN_SOURCE,
) -> FixedSource:
    """Return the built-in tools with these ``names``; None: all.

    ``facts``: the store of users' facts. ``time_zone``: IANA name of the zone that the clock
    uses when the user names none; empty: this machine's. Raises ConfigError for an unknown name.
    """
    known = _definitions(facts if facts is not None else InMemoryFactStore())
    for clock in ("get_time", "get_date"):
        known[clock] = _in_zone(known[clock], time_zone)
    wanted = known if names is None else names
    if unknown := [name for name in wanted if name not in known]:
        names_known = ", ".join(known)
        raise ConfigError(f"there is no built-in tool {unknown[0]!r} (known: {names_known})")
    return FixedSource(name, [known[name] for name in wanted])


async def end_conversation(context: ToolContext) -> str:
    """End the conversation, when the user says goodbye or asks to stop. Say a short farewell then.

    The device rests after it, until it is woken again.
    """
    context.end_conversation()
    return "The conversation ends after your next words: say goodbye in one short sentence."


async def change_volume(
    change: Literal["louder", "quieter", "mute", "maximum"], context: ToolContext, by: int = 10
) -> str:
    """Change the loudness of the device relative to what it is now, or mute it.

    Args:
        change: What the user wants.
        by: How many of 100 steps louder or quieter.
    """
    if change in ("louder", "quieter"):
        status = await context.call_device(STATUS_TOOL)
        _succeeded(status.success, status.error)
        step = max(1, abs(by))
        volume = _volume_in(status.result or "") + (step if change == "louder" else -step)
    else:
        volume = 0 if change == "mute" else 100
    volume = max(0, min(100, volume))
    done = await context.call_device(VOLUME_TOOL, volume=volume)
    _succeeded(done.success, done.error)
    return json.dumps({"volume": volume})


def _in_zone(tool: ToolDefinition, time_zone: str) -> ToolDefinition:
    """Return a clock tool whose default zone is ``time_zone``."""
    ask = {"get_time": get_time, "get_date": get_date}[tool.name]
    if not time_zone:
        return tool

    async def here(zone: str = "") -> str:
        return await ask(zone=zone or time_zone)

    return replace(tool, caller=FunctionCaller(here))


def _succeeded(success: bool, error: str | None) -> None:
    if not success:
        raise ToolError("failed", error or "the device did not do it")


def _volume_in(status: str) -> int:
    try:
        volume = json.loads(status)["audio_speaker"]["volume"]
        return int(volume)
    except (ValueError, TypeError, KeyError) as error:
        raise ToolError("failed", "the device does not report its volume") from error


class _Memory:
    """The tools that remember and forget, over one store.

    What they answer is for a model; the phrase book has words of its own.
    """

    def __init__(self, facts: FactStore) -> None:
        self._facts = facts

    async def _owner(self, context: ToolContext) -> str:
        """Return whose facts they are.

        What a device was told before it became somebody's is that person's from now on, and no
        longer there for whoever has the device next.
        """
        if not context.person:
            return context.device_id
        owner = person_owner(context.person)
        await self._facts.hand_over(context.device_id, owner)
        return owner

    async def remember_fact(self, fact: str, context: ToolContext) -> JsonObject:
        """Remember a lasting fact about the user, such as a name, a taste or a birthday.

        Args:
            fact: One short sentence about the user that makes sense on its own.
        """
        await self._facts.add(await self._owner(context), fact)
        return {"remembered": fact}

    async def recall_facts(self, context: ToolContext) -> JsonObject:
        """Get everything that is remembered about the user; an empty list if that is nothing."""
        return {"facts": await self._facts.facts(await self._owner(context))}

    async def forget_fact(self, about: str, context: ToolContext) -> JsonObject:
        """Forget what is remembered about the user on a subject.

        Args:
            about: Words that occur in what is to be forgotten.
        """
        gone = await self._facts.remove(await self._owner(context), about)
        if not gone:
            raise ToolError("not_found", "nothing like that is remembered")
        return {"forgotten": gone}

    async def forget_everything(self, context: ToolContext) -> JsonObject:
        """Forget everything that is remembered about the user. It cannot be brought back."""
        return {"forgotten": await self._facts.clear(await self._owner(context))}


def _definitions(facts: FactStore) -> dict[str, ToolDefinition]:
    memory = _Memory(facts)
    reads = ToolOptions(timeout=5.0, idempotent=True, read_only=True)
    repeatable = ToolOptions(timeout=5.0, idempotent=True)
    writes = ToolOptions(timeout=10.0)
    described: list[tuple[Callable[..., Any], ToolOptions]] = [
        (get_time, reads),
        (get_date, reads),
        (end_conversation, repeatable),
        (change_volume, writes),
        (memory.remember_fact, writes),
        (memory.recall_facts, reads),
        (memory.forget_fact, writes),
        (memory.forget_everything, replace(writes, confirm=True)),
    ]
    tools = [
        func_to_tool_definition(function, BUILTIN_SOURCE, options)
        for function, options in described
    ]
    return {
        tool.name: replace(tool, needs=(STATUS_TOOL, VOLUME_TOOL))
        if tool.name == change_volume.__name__
        else tool
        for tool in tools
    }


class BuiltinSettings(SourceSettings):
    """Options of the type ``builtin``."""

    tools: tuple[Name, ...] | None = None
    """Names; unset: all."""


def _from_settings(settings: BuiltinSettings, context: SourceContext) -> FixedSource:
    return builtin_source(settings.tools, context.facts, context.time_zone, name=context.name)


BUILTIN = ToolSourceFactory(settings_model=BuiltinSettings, create=_from_settings)
