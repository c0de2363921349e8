"""What a home's list says, what is meant by a call, and which calls ask first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.tools.home_assistant.entities import MAX_ENTITIES, Entity, read_entities
from vixio.tools.home_assistant.home import HomeAssistant, is_home, likely


def answer(text: str) -> str:
    return json.dumps({"success": True, "result": f"Live Context: An overview:\n{text}"})


def test_the_list_is_read_as_home_assistant_writes_it() -> None:
    """With aliases, quoted words, and lines that YAML has folded."""
    entities = read_entities(
        answer(
            "- names: Ceiling Lamp, Big Light\n  domain: light\n  state: 'on'\n"
            "  areas: Kitchen, Cook\n  attributes:\n    brightness: '128'\n"
            "- names: A lamp with so many words that\n    its line is folded\n"
            "  domain: light\n  state: off\n"
            "- names: 前门\n  domain: lock\n  state: locked\n"
        )
    )
    assert entities[0] == Entity(
        ("Ceiling Lamp", "Big Light"), "light", "on", ("Kitchen", "Cook"), {"brightness": "128"}
    )
    assert entities[1].name == "A lamp with so many words that its line is folded"
    assert [each.state for each in entities] == ["on", "off", "locked"]
    assert entities[2].guarded


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"success": true}',
        '{"success": true, "result": 3}',
        answer("nothing here"),
        answer("- [: :"),
        answer("- " + "[" * 5_000),
    ],
)
def test_a_malformed_list_is_an_error(text: str) -> None:
    with pytest.raises(ToolError, match="malformed"):
        read_entities(text)


def test_a_list_is_bounded_and_what_is_no_entity_is_left_out() -> None:
    assert read_entities('{"success": false, "error": "expose something"}') == ()
    many = "".join(f"- names: Lamp {n}\n  domain: light\n" for n in range(MAX_ENTITIES + 50))
    assert len(read_entities(answer(many))) == MAX_ENTITIES
    odd = (
        "- just text\n- names: [a, b]\n  domain: light\n- names: Lamp\n- names: X\n  domain: fan\n"
    )
    assert [each.name for each in read_entities(answer(odd))] == ["X"]
    bomb = (
        "- &a {names: &n Lamp, domain: light, attributes: {x: *n}}\n- *a\n- {names: X, areas: *a}"
    )
    assert [each.name for each in read_entities(answer(bomb))] == ["Lamp", "Lamp"]


HOUSE = (
    "- {names: Lamp, domain: light, state: 'off', areas: Hall}\n"
    "- {names: Lamp, domain: light, state: 'off', areas: Attic}\n"
    "- {names: Spot, domain: light, state: 'on', areas: Attic}\n"
    "- {names: Front Door, domain: lock, state: locked, areas: Hall}\n"
    "- {names: Gate, domain: cover, state: closed, attributes: {device_class: gate}}\n"
    "- {names: Blinds, domain: cover, state: closed, areas: Attic}\n"
)


class Server:
    """Answers as Home Assistant does; ``broken``: names that fail."""

    def __init__(self, broken: tuple[str, ...] = ()) -> None:
        self.calls: list[tuple[str, JsonObject]] = []
        self.broken = broken

    async def call(self, name: str, arguments: JsonObject, timeout: float) -> ToolCallResult:
        assert timeout <= 8.0
        if name == "GetLiveContext":
            return ToolCallResult("", success=True, result=answer(HOUSE))
        self.calls.append((name, arguments))
        if arguments.get("name") in self.broken:
            return ToolCallResult.failure(ToolError("failed", "Error calling tool"))
        failed = {"response_type": "action_done", "data": {"success": [], "failed": [{}]}}
        told = failed if arguments.get("area") == "Hall" and name == "HassLightSet" else {}
        return ToolCallResult("", success=True, result=json.dumps(told))


def tools(*names: str) -> list[ToolDefinition]:
    return [ToolDefinition(name, name) for name in (*names, "GetLiveContext")]


async def home(server: Server, *, asking: bool = True) -> HomeAssistant:
    made = HomeAssistant("home", 30.0, asking=asking)
    listed = tools("HassTurnOn", "HassTurnOff", "HassLightSet")
    given = await made.take(listed, server.call, lambda: False)
    assert all((each.asks is not None) is (asking and not each.options.read_only) for each in given)
    return made


@pytest.mark.parametrize(
    ("tool", "arguments", "asked"),
    [
        ("home.switch", {"action": "unlock", "name": "front door"}, True),
        ("home.switch", {"action": "open", "name": "Gate"}, True),
        ("home.switch", {"action": "open", "kind": "cover", "all": True}, False),
        ("home.switch", {"action": "on", "area": "Hall", "kind": "light"}, False),
        ("home.adjust", {"quantity": "position", "name": "Gate", "value": 50}, True),
        ("HassTurnOff", {"name": "FRONT DOOR"}, True),
        ("intent__HassTurnOff", {"area": "Hall"}, True),
        ("HassTurnOff", {"area": "Hall", "domain": "light"}, False),
        ("HassTurnOn", {"domain": ["cover"], "floor": "ground"}, True),
        ("HassTurnOff", {"name": "lock.front_door"}, True),
        ("HassTurnOn", {"name": "Blinds"}, False),
        ("HassLightSet", {"area": "Hall", "brightness": 3}, False),
        ("HassUnlockDoor", {}, True),
        ("HassToggle", {"name": "Gate"}, True),
    ],
)
async def test_what_lets_people_in_asks(tool: str, arguments: JsonObject, asked: bool) -> None:
    assert (await home(Server())).asks(tool, arguments) is asked


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        (
            "home.switch",
            {"action": "on", "name": "lamp"},
            "There are several: Hall; Attic. Please say which one.",
        ),
        ("home.switch", {"action": "on", "name": "pump"}, "Home Assistant shows me no pump."),
        ("home.switch", {"action": "off", "kind": "fan"}, "Home Assistant shows me nothing like"),
        (
            "home.switch",
            {"action": "on", "kind": "light", "area": "Shed"},
            "Home Assistant shows me nothing like that in Shed.",
        ),
        (
            "home.adjust",
            {"quantity": "volume", "name": "Spot", "value": 3},
            "Home Assistant shows me nothing like that",
        ),
        (
            "home.adjust",
            {"quantity": "position", "name": "Blinds", "value": 3},
            "Home Assistant could not do that.",
        ),
        (
            "home.adjust",
            {"quantity": "brightness", "area": "Hall", "value": 3},
            "Home Assistant could not do that.",
        ),
        ("home.switch", {"action": "off", "kind": "light", "all": True}, "Spot cannot be reached."),
    ],
)
async def test_what_cannot_be_done_is_told(tool: str, arguments: JsonObject, told: str) -> None:
    result = await (await home(Server(broken=("Spot",)))).call_tool(tool, arguments)
    assert result.error_type == UNAVAILABLE
    assert str(result.error).startswith(told)


async def test_one_of_several_lamps_of_a_name_is_meant_by_its_room() -> None:
    server = Server()
    made = await home(server)
    arguments: dict[str, Any] = {"action": "on", "name": "lamp", "area": "attic"}
    assert (await made.call_tool("home.switch", arguments)).success
    assert server.calls == [("HassTurnOn", {"name": "Lamp", "area": "Attic"})]


async def test_without_a_connection_it_says_so() -> None:
    made = await home(Server(), asking=False)
    assert [each.name for each in made.leave(refused=False)] == [
        "home.switch",
        "home.adjust",
        "home.state",
    ]
    arguments = {"action": "on", "name": "Spot"}
    away = await made.call_tool("home.switch", arguments)
    assert away.error == "Home Assistant cannot be reached at the moment."
    made.leave(refused=True)
    refused = await made.call_tool("home.switch", arguments)
    assert refused.error == "Home Assistant does not accept my token."


async def test_equal_lists_are_equal_tools() -> None:
    """A session's list is not replaced each time that the home is read again."""
    server = Server()
    made = HomeAssistant("home", 30.0, asking=True)
    listed = tools("HassTurnOn")
    first = await made.take(listed, server.call, lambda: False)
    assert await made.take(listed, server.call, lambda: False) == first


@pytest.mark.parametrize(
    ("name", "url", "found"),
    [
        ("home", "http://192.168.1.5:8000/api/mcp", True),
        ("x", "http://homeassistant.local:8123/api/mcp/", True),
        ("x", "http://192.168.1.5:8123/mcp_server/sse", True),
        ("x", "https://mcp.example.org/api/mcp", False),
        ("home", "https://mcp.example.org/mcp", False),
        ("home", "", False),
    ],
)
def test_a_server_that_was_never_reached(name: str, url: str, found: bool) -> None:
    assert likely(name, url) is found


def test_a_home_is_known_by_its_tools() -> None:
    assert is_home(tools("intent__HassTurnOn"))
    assert not is_home(tools("turn_on"))
