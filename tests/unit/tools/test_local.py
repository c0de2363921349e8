"""Python functions as tools, from modules, files and other packages; faults of broken ones."""

import asyncio
import textwrap
from collections.abc import Awaitable, Callable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from vixio.core.tools.context import ToolContext
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.types import ToolOptions
from vixio.tools import local, tool, toolbox
from vixio.tools.decorator import mark_of
from vixio.tools.local import LocalSource, describe

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


async def started(**options: Any) -> LocalSource:  # noqa: ANN401 - of LocalSource
    source = LocalSource(**{"use_entry_points": False, **options})
    await source.start()
    return source


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")


async def call(session: SessionTools, name: str, arguments: str = "{}") -> str:
    turn = session.begin_turn(1, "en")
    (found,) = [tool for tool in session.toolset.definitions() if tool.name == name]
    return (await turn.run(found, arguments)).for_model()


def test_a_marked_function_stays_callable() -> None:
    @tool(name="sum", timeout=3, confirm=True, idempotent=True, retries=2, concurrency=4)
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add(1, 2) == 3
    (described,) = describe(add)
    assert described.name == "sum"
    assert described.options == ToolOptions(
        timeout=3, confirm=True, idempotent=True, retries=2, concurrency=4
    )


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="patience"):
        tool(patience=3)  # type: ignore[call-overload]  # what the test is about


async def test_a_named_module_and_a_named_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        "plain_tools_a.py",
        '''
        from json import dumps

        def hello(name: str) -> str:
            """Greet."""
            return f"hello {name}"

        def _helper() -> None: ...
        ''',
    )
    write(
        tmp_path,
        "marked_tools_b.py",
        '''
        from vixio.tools import tool

        @tool
        def one() -> int:
            """One."""
            return 1

        def two() -> int:
            """Two."""
            return 2
        ''',
    )
    monkeypatch.syspath_prepend(tmp_path)
    source = await started(modules=["plain_tools_a", "marked_tools_b", "marked_tools_b:two"])
    assert [tool.name for tool in source.tools()] == ["hello", "one", "two"]
    assert source.faults == []


async def test_a_broken_file_costs_its_own_tools_only(tmp_path: Path) -> None:
    good = '''
    def {name}(x: int = 1) -> int:
        """Do it."""
        return x
    '''
    write(tmp_path, "a_good.py", good.format(name="first"))
    write(tmp_path, "b_syntax.py", "def broken(:\n")
    write(tmp_path, "c_raises.py", "raise RuntimeError('on\\nimport')")
    write(tmp_path, "d_exits.py", "import sys; sys.exit(3)")
    write(tmp_path, "e_untyped.py", 'def untyped(x):\n    """Do."""\n')
    write(tmp_path, "f_silent.py", "def silent() -> None: ...\n")
    write(tmp_path, "g_empty.py", "")
    write(tmp_path, "h_same.py", good.format(name="first"))
    write(tmp_path, "_private.py", "raise RuntimeError")
    write(tmp_path, "z_good.py", good.format(name="last"))
    source = await started(folder=tmp_path)
    assert [tool.name for tool in source.tools()] == ["first", "last"]
    reasons = {Path(fault.place).name: fault.reason for fault in source.faults}
    assert reasons.keys() == {
        *("b_syntax.py", "c_raises.py", "d_exits.py", "e_untyped.py", "f_silent.py"),
        *("g_empty.py", "h_same.py"),
    }
    assert reasons["b_syntax.py"].startswith("line 1 is not valid Python")
    assert reasons["c_raises.py"] == "RuntimeError: on import"
    assert "type hint is missing" in reasons["e_untyped.py"]
    assert "docstring" in reasons["f_silent.py"]
    assert all("\n" not in reason for reason in reasons.values())


@pytest.mark.parametrize(
    "options",
    [{"modules": ["no_such_module_x"]}, {"modules": ["json:nothing"]}, {"folder": Path("nowhere")}],
)
async def test_a_missing_module_or_folder_is_one_line(options: dict[str, Any]) -> None:
    source = await started(**options)
    assert source.tools() == ()
    assert len(source.faults) == 1


async def test_other_packages_publish_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints(
        [
            EntryPoint("zone", "vixio.core.tools.local:get_time", "vixio.tools"),
            EntryPoint("gone", "no_such_package_y:tool", "vixio.tools"),
        ]
    )
    monkeypatch.setattr(local, "entry_points", lambda group: points.select(group=group))
    source = await started(use_entry_points=True)
    assert [tool.name for tool in source.tools()] == ["get_time"]
    assert [fault.place for fault in source.faults] == ["entry point gone"]


async def test_each_session_has_its_own_state_made_once_and_closed_with_it() -> None:
    made: list[str] = []
    closed: list[str] = []

    @toolbox
    class Counter:
        def __init__(self, context: ToolContext) -> None:
            self.session = context.session_id
            self.number = 0
            made.append(self.session)

        @tool
        async def count(self) -> int:
            """Count."""
            self.number += 1
            return self.number

        @tool
        def read(self) -> str:
            """Read."""
            return f"{self.session}: {self.number}"

        async def close(self) -> None:
            closed.append(self.session)

    runtime = ToolRuntime([FromObject(Counter)])
    one, two = runtime.open("a", "one"), runtime.open("b", "two")
    idle = runtime.open("c", "idle")
    await asyncio.gather(call(one, "count"), call(one, "count"), call(two, "count"))
    assert [await call(session, "read") for session in (one, two)] == ["one: 2", "two: 1"]
    assert sorted(made) == ["one", "two"]
    for session in (one, two, idle, one):
        await session.close()
    assert closed == ["one", "two"]
    assert "over" in await call(one, "count")


async def test_a_factory_may_be_a_function_and_may_fail() -> None:
    attempts: list[int] = []

    class Radio:
        @tool
        async def play(self) -> str:
            """Play."""
            return "playing"

        def close(self) -> None:
            raise RuntimeError("does not want to")

    @toolbox
    async def radio() -> Radio:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("no antenna")
        return Radio()

    session = ToolRuntime([FromObject(radio)]).open("a", "one")
    assert "no antenna" in await call(session, "play")
    assert await call(session, "play") == "playing"
    await session.close()


class FromObject(LocalSource):
    """The tools of one object."""

    def __init__(self, loaded: object) -> None:
        super().__init__()
        self._described = tuple(describe(loaded))

    def tools(self) -> Any:  # noqa: ANN401 - as LocalSource
        return self._described


@pytest.mark.parametrize("broken", [object(), toolbox(lambda: None), toolbox(type("E", (), {}))])
def test_an_object_without_tools_is_refused(broken: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(TypeError):
        describe(broken)


async def test_the_examples_work() -> None:
    source = await started(folder=EXAMPLES)
    names = [tool.name for tool in source.tools()]
    wanted = [
        *("roll_dice", "find_station", "order_pizza"),
        *("add_to_list", "read_list", "clear_list"),
    ]
    assert [name for name in names if name in wanted] == wanted
    session = ToolRuntime([source]).open("aa:bb", "s")
    assert 1 <= int(await call(session, "roll_dice", '{"sides": 3}')) <= 3
    assert "at least two" in await call(session, "roll_dice", '{"sides": 1}')
    assert await call(session, "find_station", '{"city": "Berlin"}') == "radio eins"
    assert "no station" in await call(session, "find_station", '{"city": "Atlantis"}')
    assert "confirmation_required" in await call(session, "order_pizza", '{"kind": "funghi"}')
    await call(session, "add_to_list", '{"item": "milk", "amount": 2}')
    assert await call(session, "read_list") == '["2 milk"]'
    await session.close()


def test_marks_are_not_inherited() -> None:
    plain: Callable[[], Awaitable[None]] = asyncio.Event().wait  # type: ignore[assignment]  # any
    assert mark_of(plain) is None
