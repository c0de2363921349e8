"""The last tool list of each device: the same tools again, in bounded memory."""

from __future__ import annotations

from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition, ToolOptions
from vixio.transports.xiaozhi.mcp_content import parse_page
from vixio.transports.xiaozhi.remembered_tools import MAX_LIST_BYTES, RememberedTools

ENTRIES = [
    {"name": "self.lamp.turn_on", "description": "Licht an 💡", "inputSchema": {"type": "object"}},
    {
        "name": "half \ud83d",
        "inputSchema": {
            "type": "object",
            "properties": {"level": {"type": "integer", "minimum": 0, "maximum": 100}},
            "required": ["level"],
        },
    },
]


class Client:
    async def call_tool(self, tool_name: str, arguments: JsonObject, **_: object) -> ToolCallResult:
        raise AssertionError("no tool is called here")


def tools(client: Client) -> list[ToolDefinition]:
    page = parse_page({"tools": ENTRIES}, client)
    assert page is not None
    return list(page.tools)


def named(name: str) -> list[ToolDefinition]:
    return [ToolDefinition(name, "x" * 50)]


def test_the_same_tools_come_back_for_another_client() -> None:
    remembered = RememberedTools()
    remembered.keep("a", tools(Client()))
    newer = Client()
    assert remembered.recall("a", newer) == tools(newer)
    assert remembered.recall("b", newer) == []


def test_their_options_come_back_too() -> None:
    remembered, client = RememberedTools(), Client()
    options = ToolOptions(timeout=7, confirm=True, read_only=True)
    own = ToolDefinition("lamp", "", source="device", options=options, caller=client)
    remembered.keep("a", [own])
    assert remembered.recall("a", client) == [own]


def test_a_newer_list_replaces_the_last_and_an_empty_one_removes_it() -> None:
    remembered, client = RememberedTools(), Client()
    for names in (["one"], ["one"], ["two"]):
        remembered.keep("a", named(names[0]))
        assert [tool.name for tool in remembered.recall("a", client)] == names
    remembered.keep("a", [])
    assert remembered.recall("a", client) == []
    assert len(remembered) == 0


def test_the_devices_seen_longest_ago_are_forgotten() -> None:
    remembered, client = RememberedTools(max_bytes=1_000), Client()
    for number in range(100):
        remembered.keep("often", named("lamp"))
        remembered.keep(f"device {number}", named(f"lamp {number}"))
    assert 2 < len(remembered) < 20
    assert remembered.recall("often", client)
    assert remembered.recall("device 99", client)
    assert not remembered.recall("device 0", client)


def test_an_overlong_list_is_not_remembered() -> None:
    remembered, client = RememberedTools(), Client()
    remembered.keep("a", named("lamp"))
    remembered.keep("a", [ToolDefinition(f"tool {n}", "x" * 2_000) for n in range(100)])
    assert sum(len(f"tool {n}") + 2_000 for n in range(100)) > MAX_LIST_BYTES
    assert remembered.recall("a", client) == []
