"""Runs the phrase book's tools by Home Assistant's own ones, and answers in the user's language.

Which entities are meant is decided here, from the list that Home Assistant exposes: it knows no
"all the blinds", and says of a name that it has twice only that it failed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.tools.home_assistant.definitions import (
    ADJUST,
    ADJUSTED,
    KINDS,
    STATE,
    SWITCH,
    SWITCHED,
    Asks,
    definitions,
)
from vixio.tools.home_assistant.entities import Entity, find, read_entities

_log = logging.getLogger(__name__)

CONTEXT: Final = "GetLiveContext"
_MARK: Final = "HassTurnOn"
"""The tool by which a Home Assistant is known. It has no CONTEXT while nothing is exposed."""

PATIENCE_S: Final = 8.0
"""A sentence that switches a lamp is not waited for longer."""

MAX_CALLS: Final = 24
"""Of Home Assistant, for one sentence."""

_ACTING: Final = ("TurnOn", "TurnOff", "Toggle", "SetPosition", "StopMoving")
_GUARDS: Final = ("lock", "alarm", "garage", "disarm")
"""In the name of a tool or domain: it is about what lets people in."""

_SHOWN: Final = 4
"""Rooms or names that one sentence names."""

Call = Callable[[str, JsonObject, float], Awaitable[ToolCallResult]]
"""Calls a tool of Home Assistant: name, arguments, seconds. Raises ToolError."""


def bare(name: str) -> str:
    """Return a tool's name without the namespace that newer versions put in front."""
    return name.rpartition("__")[2]


def is_home(tools: Iterable[ToolDefinition]) -> bool:
    """Whether these are the tools of a Home Assistant."""
    return any(bare(tool.name) == _MARK for tool in tools)


def likely(name: str, url: str) -> bool:
    """Whether a server that was never reached is most likely a Home Assistant."""
    path = urlsplit(url).path.rstrip("/")
    if path == "/mcp_server/sse":
        return True
    of_home = "home" in f"{name} {urlsplit(url).hostname}".lower() or ":8123/" in url
    return of_home and path in ("/api/mcp", "/api/mcp/assist")


class HomeAssistant:
    """One Home Assistant: its entities as last read, and the caller of the tools for them.

    ``asking``: whether doors, locks and alarms need the user's yes.
    """

    def __init__(self, source: str, timeout: float, *, asking: bool) -> None:
        self._source = source
        self._timeout = min(timeout, PATIENCE_S)
        self._asking = asking
        self._entities: tuple[Entity, ...] = ()
        self._names: dict[str, str] = {}
        self._call: Call | None = None
        self._refuses: Callable[[], bool] = bool

    @property
    def entities(self) -> Sequence[Entity]:
        """What it exposes, as last read."""
        return self._entities

    def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools for the phrase book; they stay while it cannot be reached."""
        asks = self.asks if self._asking else None
        return definitions(self._entities, self._source, self, self._timeout, asks)

    async def take(
        self, listed: Sequence[ToolDefinition], call: Call, refuses: Callable[[], bool]
    ) -> tuple[ToolDefinition, ...]:
        """Take the list of a connection's tools, and read the entities; return all tools.

        Entities that cannot be read stay as they were. ``refuses``: whether the server refuses the
        token, now.
        """
        self._names = {bare(tool.name): tool.name for tool in listed}
        self._call, self._refuses = call, refuses
        try:
            await self._read()
        except ToolError as error:
            fields = {"server": self._source, "reason": error.type}
            _log.warning("Home Assistant's entities cannot be read", extra=fields)
        asks = self.asks if self._asking else None
        own = (_asking(tool, asks) for tool in listed)
        return (*own, *self.tools())

    def leave(self, *, refused: bool) -> tuple[ToolDefinition, ...]:
        """Return what is left to offer without a connection: tools that say so."""
        self._call, self._refuses = None, lambda: refused
        return self.tools()

    def asks(self, name: str, arguments: JsonObject) -> bool:
        """Whether a call acts on what lets people in: one of these tools, or of its own."""
        if name in (SWITCH, ADJUST):
            return any(each.guarded for each in self._meant(name, arguments))
        lowered = bare(name).lower()
        if any(word in lowered for word in _GUARDS):
            return True
        if not bare(name).endswith(_ACTING):
            return False
        domains, kinds = _texts(arguments.get("domain")), _texts(arguments.get("device_class"))
        named, area = _text(arguments.get("name")), _text(arguments.get("area"))
        found = find(self._entities, named, area, domains, kinds)
        # Home Assistant finds entities by their ids too, which are not listed.
        return any(each.guarded for each in found or self._entities)

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """See :class:`~vixio.core.tools.types.ToolCaller`."""
        language = context.language if context is not None else ""
        try:
            async with asyncio.timeout(timeout or self._timeout):
                result = await self._run(tool_name, arguments, language)
        except (ToolError, TimeoutError) as error:
            return ToolCallResult.failure(self._told(error, language))
        return ToolCallResult("", success=True, result=json.dumps(result, ensure_ascii=False))

    async def _run(self, name: str, arguments: JsonObject, language: str) -> object:
        if self._call is None:
            raise ToolError("disconnected", "not connected")
        if name == STATE:
            await self._read()
        found = self._meant(name, arguments)
        if name != STATE and (not found or not all(each.available for each in found)):
            await self._read()  # it may have come, or have come back, since
            found = self._meant(name, arguments)
        self._check(found, arguments, language)
        if name == STATE:
            return _states(found, arguments)
        await self._act(name, arguments, found, language)
        return {"done": [each.name for each in found]}

    def _meant(self, name: str, arguments: JsonObject) -> list[Entity]:
        """Return the entities that a call of the phrase book's tools is about."""
        kind = str(arguments.get("kind", ""))
        domains: Sequence[str] = KINDS.get(kind, ())
        if name == SWITCH:
            domains = domains or SWITCHED[str(arguments["action"])][1]
        elif name == ADJUST:
            domains = ADJUSTED[str(arguments["quantity"])][2]
        named, area = _text(arguments.get("name")), _text(arguments.get("area"))
        about = str(arguments.get("about", ""))
        if about in ("temperature", "humidity"):
            return _measured(self._entities, named, area, about)
        found = find(self._entities, named, area, domains)
        if not named and kind == "cover":  # "the blinds" are not the garage's door
            found = [each for each in found if not each.guarded]
        return found

    def _check(self, found: Sequence[Entity], arguments: JsonObject, language: str) -> None:
        """Raise ToolError with words for the user if ``found`` is nothing, or more than meant."""
        named, area = _text(arguments.get("name")), _text(arguments.get("area"))
        if not found:
            if named and not find(self._entities, named):
                raise _say("home_unknown", language, name=named)
            if area:
                raise _say("home_none_there", language, area=area)
            raise _say("home_none", language)
        listed = arguments.get("about") == "state" or arguments.get("all")
        told = _unique(each.area or each.name for each in found)
        if len(told) > 1 and not area and (named or not listed):
            places = message("facts_join", language).join(told[:_SHOWN])
            raise _say("home_several", language, places=places)
        gone = [each.name for each in found if not each.available and each.domain != "scene"]
        if len(gone) == len(found):
            raise _say("home_unavailable", language, name=gone[0])

    async def _act(
        self, name: str, arguments: JsonObject, found: Sequence[Entity], language: str
    ) -> None:
        if name == SWITCH:
            tool, more = SWITCHED[str(arguments["action"])][0], {}
        else:
            tool, argument, _ = ADJUSTED[str(arguments["quantity"])]
            more = {argument: arguments["value"]}
        area = _text(arguments.get("area"))
        if arguments.get("kind") == "light" and area and name == SWITCH:
            targets: list[JsonObject] = [{"area": found[0].area, "domain": ["light"]}]
        else:
            targets = [
                {"name": each.name, **({"area": each.area} if each.area else {})}
                for each in found[:MAX_CALLS]
                if each.available or each.domain == "scene"
            ]
        done = await asyncio.gather(
            *(self._ask(tool, {**target, **more}) for target in targets), return_exceptions=True
        )
        for target, error in zip(targets, done, strict=True):
            if isinstance(error, ToolError) and error.type == "failed" and len(done) > 1:
                raise _say("home_unavailable", language, name=str(target["name"]))
            if isinstance(error, BaseException):
                raise error

    async def _read(self) -> None:
        """Read the entities; without the tool for it there are none. Raises ToolError."""
        if self._call is not None and CONTEXT not in self._names:
            self._entities = ()
            return
        answer = await self._ask(CONTEXT, {})
        self._entities = await asyncio.to_thread(read_entities, answer)

    async def _ask(self, tool: str, arguments: JsonObject) -> str:
        """Call one of Home Assistant's tools; return its answer. Raises ToolError."""
        if self._call is None:
            raise ToolError("disconnected", "not connected")
        if tool not in self._names:
            raise ToolError("not_found", f"Home Assistant does not offer {tool}")
        result = await self._call(self._names[tool], arguments, self._timeout)
        if not result.success:
            raise ToolError(result.error_type or "failed", result.error or "")
        answer = result.result or ""
        if tool != CONTEXT and _failed(answer):
            raise ToolError("failed", "Home Assistant carried it out for none of them")
        return answer

    def _told(self, error: ToolError | TimeoutError, language: str) -> ToolError:
        """Return ``error`` in words for the user; the log has its cause."""
        if isinstance(error, ToolError) and error.type == UNAVAILABLE:
            return error
        kind = error.type if isinstance(error, ToolError) else "timeout"
        away = kind in ("disconnected", "timeout", "busy")
        key = "home_refused" if self._refuses() else "home_unreachable" if away else "home_failed"
        _log.warning("Home Assistant call failed", extra={"server": self._source, "reason": kind})
        return _say(key, language)


def _asking(tool: ToolDefinition, asks: Asks | None) -> ToolDefinition:
    return replace(tool, asks=asks) if asks is not None else tool


def _measured(entities: Iterable[Entity], name: str, area: str, about: str) -> list[Entity]:
    """Return the entities that measure ``about``, as sensors: thermostats too, if nothing else."""
    unit = "temperature_unit" if about == "temperature" else ""
    key = "current_temperature" if about == "temperature" else "humidity"
    sensors = find(entities, name, area, ("sensor",), (about,))
    if sensors:
        return sensors[:1] if area or name else sensors
    return [
        Entity(
            each.names,
            "sensor",
            each.attributes[key],
            each.areas,
            {"unit_of_measurement": each.attributes.get(unit, "°C" if unit else "%")},
        )
        for each in find(entities, name, area)
        if each.attributes.get(key)
    ]


def _states(found: Sequence[Entity], arguments: JsonObject) -> object:
    """Return what the reply needs: one state, or pairs of names and states."""
    if arguments.get("name") or arguments.get("about") != "state":
        return {"state": found[0].told}
    return {"states": [[each.name, each.told] for each in found[:MAX_CALLS] if each.available]}


def _failed(answer: str) -> bool:
    """Whether an intent's answer says that nothing was done: IntentResponse.as_dict."""
    try:
        read = json.loads(answer)
    except ValueError:
        return False
    if not isinstance(read, dict):
        return False
    data = read.get("data")
    outcome = data if isinstance(data, dict) else {}
    return read.get("response_type") == "error" or bool(
        outcome.get("failed") and not outcome.get("success")
    )


def _say(key: str, language: str, **values: str) -> ToolError:
    return ToolError(UNAVAILABLE, message(key, language, **values))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    """Return one or several words as a list: a model may write either."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and each]


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
