"""Local tools: the schema of a function, and how it is run."""

import threading
from datetime import datetime
from enum import Enum
from typing import Literal

import pytest

from vixio.core.tools.local import BUILTIN_LOCAL_TOOLS, func_to_tool_definition, get_date, get_time
from vixio.core.tools.types import ToolOptions


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


async def test_the_builtin_tools_return_local_time() -> None:
    before = datetime.now().astimezone().replace(microsecond=0)
    told = datetime.strptime(await get_time(), "%Y-%m-%d %H:%M:%S").astimezone()
    assert before <= told <= datetime.now().astimezone()
    assert await get_date() == told.strftime("%Y-%m-%d")


def test_every_builtin_tool_can_be_described() -> None:
    for func in BUILTIN_LOCAL_TOOLS:
        definition = func_to_tool_definition(func)
        assert definition.description
        assert definition.parameters["properties"].keys() == {"zone"}
        assert "required" not in definition.parameters


async def test_the_schema_comes_from_hints_and_docstring() -> None:
    async def paint(
        what: str,
        colour: Colour,
        layers: int = 1,
        glossy: bool = False,
        amount: float | None = None,
        tags: list[str] | None = None,
        sizes: dict[str, int] = {},  # noqa: B006 - a default that JSON can say
        mode: Literal["fast", "slow"] = "fast",
    ) -> str:
        """Paint a thing.

        Takes a while.

        Args:
            what: The thing
                to paint.
            layers (int): How many coats: at least 1.

        Returns:
            what: not a parameter.
        """
        return f"{what} {colour.name} {layers}"

    tool = func_to_tool_definition(paint, source="shed", options=ToolOptions(timeout=3))
    assert tool.name == "paint"
    assert tool.description == "Paint a thing.\n\nTakes a while."
    assert tool.source == "shed"
    assert tool.options.timeout == 3
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "what": {"type": "string", "description": "The thing to paint."},
            "colour": {"enum": ["red", "blue"]},
            "layers": {
                "type": "integer",
                "default": 1,
                "description": "How many coats: at least 1.",
            },
            "glossy": {"type": "boolean", "default": False},
            "amount": {"type": ["number", "null"]},
            "tags": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
            },
            "sizes": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "default": {},
            },
            "mode": {"enum": ["fast", "slow"], "default": "fast"},
        },
        "additionalProperties": False,
        "required": ["what", "colour"],
    }
    assert tool.caller is not None
    result = await tool.caller.call_tool("paint", {"what": "door", "colour": "red"})
    assert result.result == "door RED 1"


async def test_a_function_that_is_not_async_runs_in_a_thread() -> None:
    def where() -> bool:
        """Tell whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    caller = func_to_tool_definition(where).caller
    assert caller is not None
    assert (await caller.call_tool("where", {})).result == "false"


def _complex(value: complex) -> None: ...


def _unhinted(value) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - what is tested


def _positional(value: int, /) -> None: ...


def _variadic(*value: int) -> None: ...


def _keys(value: dict[int, str]) -> None: ...


@pytest.mark.parametrize("func", [_complex, _unhinted, _positional, _variadic, _keys])
def test_a_parameter_without_a_json_type_is_refused(func: object) -> None:
    with pytest.raises(TypeError, match=r"\(value\)"):
        func_to_tool_definition(func)  # type: ignore[arg-type]  # parametrize loses the type
