"""A stand-in for Home Assistant's MCP server, from its description, with faults.

What it serves is that of the integration "Model Context Protocol Server" with the API "Assist":
``/api/mcp`` (streamable HTTP without sessions: each POST is answered with JSON) and
``/mcp_server/sse`` with ``/mcp_server/messages/ID``, both behind a long-lived access token.
``homeassistant/components/mcp_server`` and ``homeassistant/helpers/llm.py`` have the form of lists,
answers and of the text of ``GetLiveContext``; the names of tools have a namespace in front in newer
versions (``namespaced``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import yaml
from aiohttp import web

TOKEN: Final = "long-lived-access-token"  # noqa: S105 - of the stand-in
Json = dict[str, Any]

_LIVE: Final = "Live Context: An overview of the areas and the devices in this smart home:"
_NONE: Final = (
    "Only if the user wants to control a device, tell them to expose entities to their voice "
    "assistant in Home Assistant."
)


@dataclass
class Thing:
    """An entity. ``names`` and ``areas``: the name, then aliases. ``exposed``: to Assist."""

    names: str
    domain: str
    state: str = "off"
    areas: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    exposed: bool = True

    @property
    def name(self) -> str:
        return self.names.split(", ")[0]

    @property
    def id(self) -> str:
        return f"{self.domain}.{self.name.lower().replace(' ', '_')}"

    def context(self) -> Json:
        """Return it as ``_get_exposed_entities`` does: the keys in this order, no empty ones."""
        told: Json = {"names": self.names, "domain": self.domain, "state": self.state}
        if self.areas:
            told["areas"] = self.areas
        if self.attributes:
            told["attributes"] = dict(self.attributes)
        return told


ENGLISH: Final = (
    Thing("Ceiling Lamp, Big Light", "light", "off", "Kitchen", {"brightness": "128"}),
    Thing("Counter Light", "light", "off", "Kitchen"),
    Thing("Bedside Lamp", "light", "on", "Bedroom", {"brightness": "60"}),
    Thing("Floor Lamp", "light", "off", "Living Room"),
    Thing("Disco Ball", "light", "off", "Living Room", exposed=False),
    Thing("Office Lamp", "light", "off", "Office", exposed=False),
    Thing("Coffee Machine", "switch", "off", "Kitchen"),
    Thing("Desk Fan", "fan", "off", "Office", {"percentage": "0"}),
    Thing(
        "Bedroom Thermostat",
        "climate",
        "heat",
        "Bedroom",
        {"current_temperature": "18.5", "temperature": "19", "temperature_unit": "°C"},
    ),
    Thing(
        "Living Room Temperature",
        "sensor",
        "21.5",
        "Living Room, Lounge",
        {"unit_of_measurement": "°C", "device_class": "temperature"},
    ),
    Thing(
        "Living Room Humidity",
        "sensor",
        "48",
        "Living Room, Lounge",
        {"unit_of_measurement": "%", "device_class": "humidity"},
    ),
    Thing("Roller Blinds", "cover", "closed", "Living Room", {"device_class": "blind"}),
    Thing("Television", "media_player", "on", "Living Room", {"volume_level": "0.3"}),
    Thing("Front Door", "lock", "locked", "Hall"),
    Thing("Garage Door", "cover", "closed", "Garage", {"device_class": "garage"}),
    Thing("Back Window", "binary_sensor", "on", "Hall", {"device_class": "window"}),
    Thing("Old Heater", "switch", "unavailable", "Hall"),
    Thing("Movie Night", "scene", "unknown"),
)

CHINESE: Final = (
    Thing("吸顶灯, 大灯", "light", "off", "厨房", {"brightness": "128"}),
    Thing("床头灯", "light", "on", "卧室", {"brightness": "60"}),
    Thing("落地灯", "light", "off", "客厅"),
    Thing("咖啡机", "switch", "off", "厨房"),
    Thing(
        "卧室空调",
        "climate",
        "heat",
        "卧室",
        {"current_temperature": "18.5", "temperature": "19", "temperature_unit": "°C"},
    ),
    Thing(
        "客厅温度",
        "sensor",
        "21.5",
        "客厅",
        {"unit_of_measurement": "°C", "device_class": "temperature"},
    ),
    Thing("卷帘", "cover", "closed", "客厅", {"device_class": "blind"}),
    Thing("前门", "lock", "locked", "门厅"),
)

_TEXT: Final[Json] = {"type": "string"}
_TEXTS: Final[Json] = {"type": "array", "items": _TEXT}
_PERCENT: Final[Json] = {"type": "integer", "minimum": 0, "maximum": 100}
_TARGET: Final[Json] = {"name": _TEXT, "area": _TEXT, "floor": _TEXT}
_WIDE: Final[Json] = {**_TARGET, "domain": _TEXTS, "device_class": _TEXTS}


def _domain(name: str) -> Json:
    return {"type": "array", "items": {"type": "string", "enum": [name]}}


_TOOLS: Final[Mapping[str, tuple[str, Json]]] = {
    "HassTurnOn": (
        "Turns on/opens/presses a device or entity. For locks, this performs a 'lock' action.",
        _WIDE,
    ),
    "HassTurnOff": (
        "Turns off/closes a device or entity. For locks, this performs an 'unlock' action.",
        _WIDE,
    ),
    "HassSetPosition": ("Sets the position of a device or entity", {**_WIDE, "position": _PERCENT}),
    "HassLightSet": (
        "Sets the brightness percentage or color of a light",
        {
            **_TARGET,
            "domain": _domain("light"),
            "color": _TEXT,
            "temperature": {"type": "integer", "minimum": 0},
            "brightness": {
                **_PERCENT,
                "description": "The brightness percentage of the light between 0 and 100, where 0 "
                "is off and 100 is fully lit",
            },
        },
    ),
    "HassClimateSetTemperature": (
        "Sets the target temperature of a climate device or entity",
        {"temperature": {"type": "number"}, "area": _TEXT, "name": _TEXT, "floor": _TEXT},
    ),
    "HassFanSetSpeed": (
        "Sets a fan's speed by percentage",
        {**_TARGET, "domain": _domain("fan"), "percentage": _PERCENT},
    ),
    "HassSetVolume": (
        "Sets the volume percentage of a media player",
        {**_TARGET, "domain": _domain("media_player"), "volume_level": _PERCENT},
    ),
    "HassMediaPause": ("Pauses a media player", {**_TARGET, "domain": _domain("media_player")}),
    "GetDateTime": ("Provides the current date and time.", {}),
    "GetLiveContext": (
        "Provides real-time information about the CURRENT state of devices, sensors, or areas.",
        {},
    ),
}
_OFFICIAL: Final[Mapping[str, str]] = {
    "HassLightSet": "light",
    "HassClimateSetTemperature": "climate",
    "HassFanSetSpeed": "fan",
    "HassSetVolume": "media_player",
    "HassMediaPause": "media_player",
    "GetDateTime": "homeassistant",
    "GetLiveContext": "homeassistant",
}
_ON: Final[Mapping[str, str]] = {"cover": "open", "lock": "locked"}
_OFF: Final[Mapping[str, str]] = {"cover": "closed", "lock": "unlocked"}


class HomeAssistantService:
    """``async with HomeAssistantService() as home``: listens on a free port of this machine.

    ``trouble``: what goes wrong with every request from now on: ``refused`` (the token), ``error``
    (500), ``hang``, ``garbage`` (no JSON), ``missing`` (the integration is off), ``intents`` (calls
    that act fail). ``calls``: the calls of tools that act, with their arguments.
    """

    def __init__(self, things: Iterable[Thing] = ENGLISH, *, namespaced: bool = False) -> None:
        self.things = [replace(each, attributes=dict(each.attributes)) for each in things]
        self.token = TOKEN
        self.trouble = ""
        self.calls: list[tuple[str, Json]] = []
        self.reads = 0
        """Calls of GetLiveContext."""
        self.port = 0
        self._namespaced = namespaced
        self._runner: web.AppRunner | None = None
        self._streams: dict[str, asyncio.Queue[Json]] = {}
        self._ending = asyncio.Event()

    @property
    def root(self) -> str:
        """Its address, as the browser has it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def section(self) -> Json:
        """The entry of ``mcp_servers`` for it."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return {"url": f"{self.root}/api/mcp", "headers": headers}

    def thing(self, name: str) -> Thing:
        """Return the entity of this name."""
        return next(each for each in self.things if each.name == name)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, at the port of before if there was one."""
        self._ending = asyncio.Event()
        app = web.Application()
        app.router.add_post("/api/mcp", self._post)
        app.router.add_get("/mcp_server/sse", self._sse)
        app.router.add_post("/mcp_server/messages/{id}", self._message)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Go away, and end all connections."""
        self._ending.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _admit(self, request: web.Request) -> web.Response | None:
        """Return what is answered in place of an answer, if anything is."""
        if self.trouble == "hang":
            await self._ending.wait()
        if self.trouble == "missing":
            text = "Model Context Protocol server is not configured"
            return web.Response(status=404, text=text)
        if self.trouble == "refused" or (
            request.headers.get("Authorization") != f"Bearer {self.token}"
        ):
            return web.Response(status=401, text="401: Unauthorized")
        if self.trouble == "error":
            return web.Response(status=500, text="500 Internal Server Error")
        return None

    async def _post(self, request: web.Request) -> web.StreamResponse:
        if (instead := await self._admit(request)) is not None:
            return instead
        if self.trouble == "garbage":
            return web.Response(text="{", content_type="application/json")
        answer = self._answer(await request.json())
        return web.json_response(answer) if answer is not None else web.Response(status=202)

    async def _sse(self, request: web.Request) -> web.StreamResponse:
        if (instead := await self._admit(request)) is not None:
            return instead
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        key = uuid4().hex
        queue = self._streams[key] = asyncio.Queue()
        await response.write(f"event: endpoint\ndata: /mcp_server/messages/{key}\n\n".encode())
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            while not ending.done():
                message = asyncio.ensure_future(queue.get())
                await asyncio.wait((message, ending), return_when=asyncio.FIRST_COMPLETED)
                if not message.done():
                    message.cancel()
                    break
                text = json.dumps(message.result())
                await response.write(f"event: message\ndata: {text}\n\n".encode())
        finally:
            ending.cancel()
            del self._streams[key]
        return response

    async def _message(self, request: web.Request) -> web.StreamResponse:
        if (instead := await self._admit(request)) is not None:
            return instead
        queue = self._streams.get(request.match_info["id"])
        if queue is None:
            return web.Response(status=404, text="Could not find session ID")
        answer = self._answer(await request.json())
        if answer is not None:
            queue.put_nowait(answer)
        return web.Response(status=200)

    def _answer(self, message: Json) -> Json | None:
        if "id" not in message:
            return None
        told: Json = {"jsonrpc": "2.0", "id": message["id"]}
        parameters: Json = message.get("params") or {}
        match message["method"]:
            case "initialize":
                result: Json = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {
                        "experimental": {},
                        "prompts": {"listChanged": False},
                        "tools": {"listChanged": False},
                    },
                    "serverInfo": {"name": "home-assistant", "version": "1.26.0"},
                }
            case "ping":
                result = {}
            case "tools/list":
                result = {"tools": self._listed()}
            case "tools/call":
                result = self._call(parameters["name"], parameters.get("arguments") or {})
            case method:
                error = {"code": -32601, "message": "Method not found", "data": method}
                return {**told, "error": error}
        return {**told, "result": result}

    def _listed(self) -> Sequence[Json]:
        tools = []
        for name, (description, properties) in _TOOLS.items():
            if name == "GetLiveContext" and not any(each.exposed for each in self.things):
                continue
            schema = {"type": "object", "properties": properties}
            told = f"{_OFFICIAL.get(name, 'intent')}__{name}" if self._namespaced else name
            tools.append({"name": told, "description": description, "inputSchema": schema})
        return tools

    def _call(self, tool: str, arguments: Json) -> Json:
        name = tool.rpartition("__")[2]
        if name == "GetDateTime":
            return _text({"success": True, "result": {"date": "2026-01-01", "time": "12:00:00"}})
        if name == "GetLiveContext":
            self.reads += 1
            return _text(self._context())
        self.calls.append((name, arguments))
        if self.trouble == "intents":
            return _failed("Service handler failed")
        found = self._targets(arguments)
        if isinstance(found, str):
            return _failed(
                f"<MatchFailedError result=MatchTargetsResult(is_match=False, no_match_reason="
                f"<MatchFailedReason.{found}>, states=[], no_match_name=None, areas=[], floors=[])>"
            )
        for each in found:
            _change(each, name, arguments)
        success = [{"name": each.name, "type": "entity", "id": each.id} for each in found]
        if area := arguments.get("area"):
            success.insert(0, {"name": area, "type": "area", "id": area.lower()})
        data = {"targets": [], "success": success, "failed": []}
        return _text({"speech": {}, "response_type": "action_done", "data": data})

    def _context(self) -> Json:
        told = [each.context() for each in self.things if each.exposed]
        if not told:
            return {"success": False, "error": _NONE}
        text = yaml.safe_dump(told, default_flow_style=False, allow_unicode=True, sort_keys=False)
        return {"success": True, "result": f"{_LIVE}\n{text}"}

    def _targets(self, arguments: Json) -> Sequence[Thing] | str:
        """Return the entities that an intent matches, or the name of the reason that none does."""
        found = [each for each in self.things if each.exposed]
        name, area = arguments.get("name"), arguments.get("area")
        if not (name or area or arguments.get("floor")):
            return "NAME: 1"
        if area:
            found = [each for each in found if _is(area, each.areas)]
            if not found:
                return "INVALID_AREA: 4"
        if name:
            found = [each for each in found if _is(name, each.names) or each.id == name]
            if not found:
                return "NAME: 1"
            if len(found) > 1:
                return "DUPLICATE_NAME: 9"
        if domains := arguments.get("domain"):
            found = [each for each in found if each.domain in domains]
        if kinds := arguments.get("device_class"):
            found = [each for each in found if each.attributes.get("device_class") in kinds]
        return found or "DOMAIN: 6"


def _is(name: str, names: str) -> bool:
    return name.strip().casefold() in (each.casefold() for each in names.split(", "))


def _change(thing: Thing, tool: str, arguments: Json) -> None:
    if thing.state == "unavailable":
        return  # Home Assistant passes it over without a word
    match tool:
        case "HassTurnOn":
            thing.state = _ON.get(thing.domain, "on")
        case "HassTurnOff":
            thing.state = _OFF.get(thing.domain, "off")
        case "HassLightSet":
            thing.state = "on" if arguments["brightness"] else "off"
            thing.attributes["brightness"] = str(round(arguments["brightness"] * 2.55))
        case "HassClimateSetTemperature":
            thing.attributes["temperature"] = str(arguments["temperature"])
        case "HassSetPosition":
            thing.state = "open" if arguments["position"] else "closed"
        case "HassSetVolume":
            thing.attributes["volume_level"] = str(arguments["volume_level"] / 100)


def _text(result: Json) -> Json:
    return {"content": [{"type": "text", "text": json.dumps(result)}], "isError": False}


def _failed(why: str) -> Json:
    return {"content": [{"type": "text", "text": f"Error calling tool: {why}"}], "isError": True}
