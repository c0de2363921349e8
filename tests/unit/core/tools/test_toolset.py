"""A session's tools: several sources at once, and the same definitions for many sessions."""

from __future__ import annotations

from vixio.core.tools.context import ToolContext
from vixio.core.tools.toolset import Renamed, ToolSet
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition


class Caller:
    """Stands for a device."""

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        return ToolCallResult("", True, tool_name)


def tool(name: str, source: str = "a") -> ToolDefinition:
    return ToolDefinition(name, "A tool.", source=source)


def test_several_sources_change_at_once() -> None:
    tools = ToolSet()
    seen: list[list[str]] = []
    tools.watch(lambda listed: seen.append([each.alias for each in listed]))
    sources = {"a": [tool("x"), tool("y")], "b": [tool("x")]}
    assert tools.replace_all(sources)
    assert seen == [["x", "y", "b_x"]]
    assert tools.version == 1
    assert [each.source for each in tools.definitions()] == ["a", "a", "b"]
    assert not tools.replace_all(sources)
    assert tools.replace_all({"a": [], "b": [tool("x")]})
    assert seen[1:] == [["x"]]
    assert tools.version == 2


def test_the_order_of_changes_does_not_matter() -> None:
    sources = {"a": [tool("x"), tool("y.z")], "b": [tool("x"), tool("y_z")], "c": []}
    together, apart = ToolSet(), ToolSet()
    together.replace_all(sources)
    for source, tools in sources.items():
        apart.replace(source, tools)
    assert together.definitions() == apart.definitions()


def test_sessions_share_definitions_except_their_devices() -> None:
    renamed = Renamed()
    sources = {"a": [tool("x.y")], "b": [tool("z", "b")]}
    mine = ToolDefinition("x.y", "Mine.", source="device", caller=Caller())
    sets = [ToolSet(renamed=renamed) for _ in range(2)]
    for each in sets:
        each.replace_all(sources)
    first, second = (each.definitions() for each in sets)
    assert all(one is other for one, other in zip(first, second, strict=True))
    sets[0].replace("device", [mine])
    assert [each.alias for each in sets[0].definitions()] == ["x_y", "z", "device_x_y"]
    assert [each.alias for each in sets[1].definitions()] == ["x_y", "z"]


def test_one_definition_may_have_another_alias_elsewhere() -> None:
    renamed = Renamed()
    shared = tool("x")
    one, other = ToolSet(renamed=renamed), ToolSet(renamed=renamed)
    one.replace("a", [shared])
    other.replace_all({"b": [tool("x", "b")], "a": [shared]})
    assert one.definitions()[0].alias == "x"
    assert other.definitions()[1].alias == "a_x"
    assert one.definitions()[0].alias == "x"


def test_copies_go_with_the_tools_that_a_source_no_longer_has() -> None:
    renamed = Renamed()
    sets = [ToolSet(renamed=renamed) for _ in range(3)]
    offered: list[ToolDefinition] = []
    for generation in range(200):
        offered = [tool(f"t{generation}.{number}") for number in range(4)]
        for each in sets:
            each.replace("a", offered)
        assert [found.alias for found in sets[0].definitions()] == [
            f"t{generation}_{number}" for number in range(4)
        ]
        assert sets[0].definitions()[0] is sets[2].definitions()[0]
    assert len(renamed._kept) == 4
    for each in sets:
        each.remove("a")
    offered.clear()
    assert len(renamed._kept) == 0
