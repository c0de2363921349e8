"""Deferred results: acknowledged at once, delivered when the work is done, bounded, cancelled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from vixio.core.history import HistoryItem, ToolCallItem, ToolResultItem
from vixio.core.session.speech import SpeechHandle, SpeechStatus
from vixio.core.tools.late_results import MAX_WORKING
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.types import ToolCallResult, ToolDefinition, ToolOptions
from vixio.tools import Deferred, ToolError

STARTED = "I am working on it and will tell you when it is done."
DONE = "What you asked for earlier is done."
FAILED = "Sorry, what you asked for earlier did not work."


class Voice:
    """Takes what is delivered, and ends it as a session does."""

    def __init__(self, status: SpeechStatus = SpeechStatus.PLAYED) -> None:
        self.said: asyncio.Queue[tuple[str, Sequence[HistoryItem]]] = asyncio.Queue()
        self.status = status

    def __call__(self, text: str, items: Sequence[HistoryItem]) -> SpeechHandle:
        handle = SpeechHandle(text, items=items)
        self.said.put_nowait((text, items))
        handle.end(self.status, text if self.status is SpeechStatus.PLAYED else "")
        return handle

    async def next(self) -> tuple[str, Sequence[HistoryItem]]:
        """Return the next delivery."""
        async with asyncio.timeout(30):
            return await self.said.get()


class Work:
    """A tool whose work ends when the test says so."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - of Deferred
        self.result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.stopped = asyncio.Event()
        self._options = options

    async def _wait(self) -> Any:  # noqa: ANN401 - any result
        try:
            return await self.result
        finally:
            self.stopped.set()

    def tool(self, **options: Any) -> ToolDefinition:  # noqa: ANN401 - of a tool
        async def book(table: int = 1) -> Deferred:
            """Book a table."""
            return Deferred(self._wait(), **self._options)

        return func_to_tool_definition(book, options=ToolOptions(**options))


def session(voice: Voice | None = None, runtime: ToolRuntime | None = None) -> SessionTools:
    opened = (runtime or ToolRuntime()).open("aa:bb", "1")
    if voice is not None:
        opened.deliver_by(voice)
    return opened


async def call(session: SessionTools, tool: ToolDefinition, call_id: str = "c1") -> ToolCallResult:
    return await session.begin_turn(1, "en").run(tool, '{"table": 4}', call_id)


def counts(session: SessionTools) -> dict[str, int]:
    counted = session.runtime.counters.snapshot()
    return {
        name.removeprefix("tool.late."): number
        for name, number in counted.items()
        if name.startswith("tool.late.")
    }


async def test_the_call_is_acknowledged_and_the_result_delivered() -> None:
    voice, work = Voice(), Work()
    opened = session(voice)
    assert await call(opened, work.tool()) == ToolCallResult("c1", True, STARTED)
    assert voice.said.empty()
    work.result.set_result("The table is booked for eight.")
    text, items = await voice.next()
    assert text == "The table is booked for eight."
    assert items == (
        ToolCallItem("late_c1", "book", '{"table": 4}'),
        ToolResultItem("late_c1", text),
    )
    await opened.close()
    assert counts(opened) == {"started": 1, "delivered": 1}


async def test_the_words_of_the_acknowledgement_are_the_tools_own() -> None:
    opened = session(Voice())
    result = await call(opened, Work(acknowledgement="I am calling them.").tool())
    assert result.result == "I am calling them."
    await opened.close()


@pytest.mark.parametrize(
    ("value", "spoken", "kept"),
    [
        (None, DONE, ""),
        ({"seats": 4}, DONE, '{"seats": 4}'),
        ([1, 2], DONE, "[1, 2]"),
        ('{"seats": 4}', DONE, '{"seats": 4}'),
        (True, DONE, "true"),
        ("null", DONE, "null"),
        (21, "21", "21"),
        ('"Four seats."', "Four seats.", '"Four seats."'),
        ({"seats": "x" * 200}, DONE, '{"seats": "xxx'),
        (ToolCallResult("", True, "Done by hand."), "Done by hand.", "Done by hand."),
        ("x" * 200, "x" * 100 + "…", "x" * 100 + "… [cut: 200 characters in all]"),
    ],
)
async def test_what_is_spoken_of_a_result(value: object, spoken: str, kept: str) -> None:
    voice, work = Voice(), Work()
    opened = session(voice)
    await call(opened, work.tool(max_result_chars=100))
    work.result.set_result(value)
    text, items = await voice.next()
    assert text == spoken
    last = items[-1]
    assert isinstance(last, ToolResultItem)
    assert last.output.startswith(kept)
    await opened.close()


@pytest.mark.parametrize(
    ("error", "type", "words"),
    [
        (ToolError("denied", "they are closed"), "denied", "they are closed"),
        (RuntimeError("no line"), "failed", "RuntimeError: no line"),
        (ToolCallResult("", False, error="no", error_type="busy"), "busy", "no"),
    ],
)
async def test_a_failure_is_spoken_plainly_and_kept_in_full(
    error: Exception | ToolCallResult, type: str, words: str
) -> None:
    voice, work = Voice(), Work()
    opened = session(voice)
    await call(opened, work.tool())
    if isinstance(error, Exception):
        work.result.set_exception(error)
    else:
        work.result.set_result(error)
    text, items = await voice.next()
    assert text == FAILED
    last = items[-1]
    assert isinstance(last, ToolResultItem)
    kept = json.loads(last.output)["error"]
    assert (kept["type"], kept["message"]) == (type, words)
    await opened.close()
    assert counts(opened) == {"started": 1, "failed": 1, "delivered": 1}


async def test_work_has_a_limit_of_time() -> None:
    voice, work = Voice(), Work(timeout=0.01)
    opened = session(voice)
    await call(opened, work.tool())
    text, items = await voice.next()
    assert text == FAILED
    assert "not done within 0.01 s" in str(items[-1])
    assert work.stopped.is_set()
    await opened.close()


async def test_it_ends_with_its_session_and_is_delivered_to_no_other() -> None:
    runtime = ToolRuntime()
    mine, other = Voice(), Voice()
    first, work = session(mine, runtime), Work()
    await call(first, work.tool())
    await asyncio.sleep(0)
    second = session(other, runtime)  # the same device, connected anew
    await first.close()
    assert work.stopped.is_set()
    assert mine.said.empty()
    assert other.said.empty()
    assert counts(first) == {"started": 1, "lost": 1}
    late = await call(first, Work().tool())
    assert late.error_type == "disconnected"
    await second.close()


async def test_work_that_never_began_is_discarded() -> None:
    opened, work = session(Voice()), Work()
    await call(opened, work.tool())
    await opened.close()  # before the task's first step; a coroutine never awaited is a warning
    assert counts(opened) == {"started": 1, "lost": 1}


async def test_a_result_that_nobody_heard_is_lost() -> None:
    voice, work = Voice(SpeechStatus.DROPPED), Work()
    opened = session(voice)
    await call(opened, work.tool())
    work.result.set_result("x")
    await voice.next()
    await opened.close()
    assert counts(opened) == {"started": 1, "lost": 1}


async def test_the_number_of_concurrent_works_is_limited() -> None:
    voice = Voice()
    opened = session(voice)
    works = [Work() for _ in range(MAX_WORKING + 1)]
    results = [await call(opened, work.tool()) for work in works]
    assert [result.error_type for result in results] == [*[""] * MAX_WORKING, "busy"]
    assert counts(opened) == {"started": MAX_WORKING, "refused": 1}
    works[0].result.set_result("first")
    await voice.next()
    await asyncio.sleep(0)
    assert (await call(opened, Work().tool())).success
    await opened.close()


async def test_a_read_only_tool_cannot_defer() -> None:
    opened = session(Voice())
    refused = await call(opened, Work().tool(read_only=True))
    assert (refused.error_type, refused.error) == (
        "failed",
        "a read_only tool cannot defer its result",
    )
    await opened.close()


async def _at_once(value: object) -> object:
    return value


@pytest.mark.parametrize("opened", [False, True])
async def test_without_a_voice_the_call_waits_for_its_work(opened: bool) -> None:
    async def book() -> Deferred:
        """Book a table."""
        return Deferred(_at_once("booked"))

    tool = func_to_tool_definition(book)
    if not opened:
        assert (await DIRECT.run(tool, "{}")).result == "booked"
        return
    alone = session()
    assert (await call(alone, func_to_tool_definition(_with_table))).result == "booked 4"
    await alone.close()


async def _with_table(table: int) -> Deferred:
    """Book a table."""
    return Deferred(_at_once(f"booked {table}"))


async def test_deferred_work_cannot_defer_again() -> None:
    async def book() -> Deferred:
        """Book a table."""
        return Deferred(_at_once(Deferred(_at_once("never"))))

    result = await DIRECT.run(func_to_tool_definition(book), "{}")
    assert result.error == "deferred work deferred its result"


def _plain() -> Deferred:
    """Book a table."""
    return Deferred(_at_once("from a thread"))


@pytest.mark.parametrize("function", [_plain])
async def test_a_function_that_is_not_async_may_defer(
    function: Callable[[], Deferred | Awaitable[Deferred]],
) -> None:
    assert (await DIRECT.run(func_to_tool_definition(function), "{}")).result == "from a thread"
