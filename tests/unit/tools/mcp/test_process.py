"""A server that is a child process: what it inherits, what it says, how it ends."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from mcp import Tool

from tests.e2e.harness import until
from tests.unit.tools.mcp.servers import BOUND, source_of, stdio
from vixio.tools.mcp.listing import MAX_TOOLS, to_definitions

ROGUE = Path(__file__).parents[3] / "chaos" / "rogue_mcp.py"


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A child that nobody has waited for yet is as good as gone.
    return (
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    )


async def test_it_has_its_environment_and_nothing_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VIXIO_SECRET", "ours")
    config = stdio(env={"KEY": "theirs"}, cwd=str(tmp_path))
    async with source_of(config) as source:
        told = {
            name: (await source.call_tool("variable", {"name": name})).result
            for name in ("KEY", "VIXIO_SECRET", "CWD")
        }
    assert told == {"KEY": "theirs", "VIXIO_SECRET": "unset", "CWD": str(tmp_path)}
    assert "theirs" not in repr(config)


async def test_a_crash_fails_what_is_pending_and_a_new_process_takes_over() -> None:
    async with source_of(stdio()) as source:
        old = (await source.call_tool("process_id", {})).result
        pending = asyncio.create_task(source.call_tool("slow", {"seconds": 60}))
        await asyncio.sleep(0)
        crashed = await asyncio.wait_for(source.call_tool("crash", {}), BOUND)
        assert (crashed.error_type, crashed.retryable) == ("disconnected", True)
        assert (await asyncio.wait_for(pending, BOUND)).error_type == "disconnected"
        await until(
            lambda: source.connects == 2 and source.tools(), what="the new one", seconds=BOUND
        )
        assert (await source.call_tool("process_id", {})).result != old


async def test_closing_ends_the_process() -> None:
    async with source_of(stdio()) as source:
        pid = int(str((await source.call_tool("process_id", {})).result))
        assert not gone(pid)
    await until(lambda: gone(pid), what="the end of the process", seconds=BOUND)


async def test_one_that_says_nothing_holds_nothing_up_and_is_ended() -> None:
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), level="DEBUG", format="{extra}")
    try:
        async with source_of(stdio("silent", connect_timeout=3.0)) as source:
            assert source.tools() == ()
            assert source.faults[0].reason == "no answer within 3 s"
    finally:
        logger.remove(sink)
    said = next(line for line in lines if "not a word from" in line)
    pid = int(said.partition("not a word from ")[2].split("'")[0])
    await until(lambda: gone(pid), what="the end of the process", seconds=BOUND)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"command": "no-such-program-anywhere"}, "there is no no-such-program-anywhere"),
        ({"cwd": "/no/such/folder"}, "there is no /no/such/folder"),
        (
            {"args": ("-c", "raise SystemExit('no licence found')")},
            "it ended; it said: no licence found",
        ),
    ],
)
async def test_why_it_cannot_be_reached_is_said_in_one_line(
    options: dict[str, str], reason: str
) -> None:
    async with source_of(stdio(**options)) as source:
        assert source.tools() == ()
        assert [fault.reason for fault in source.faults] == [reason]


async def test_garbage_on_its_standard_output_is_no_harm() -> None:
    async with source_of(stdio("noisy")) as source:
        await until(source.tools, what="its tools", seconds=BOUND)
        assert (await source.call_tool("echo", {"text": "fine"})).result == "fine"


async def test_of_ten_thousand_tools_most_are_not_even_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def counted(tools: list[Tool], *rest: Any) -> Any:  # noqa: ANN401 - as it is
        seen.append(len(tools))
        return to_definitions(tools, *rest)

    monkeypatch.setattr("vixio.tools.mcp.source.to_definitions", counted)
    async with source_of(stdio(args=(str(ROGUE), "many"))) as source:
        await until(source.tools, what="its tools", seconds=BOUND)
        assert len(source.tools()) == MAX_TOOLS
        assert max(seen) == MAX_TOOLS + 1
        assert [fault.reason for fault in source.faults] == [
            f"the server has more than {MAX_TOOLS} tools"
        ]
        assert (await source.call_tool("mcp_many_7", {})).result == "whole"


async def test_what_it_writes_to_standard_error_is_logged_within_bounds() -> None:
    lines: list[str] = []
    sink = logger.add(
        lambda line: lines.append(str(line)),
        level="DEBUG",
        format="{extra[text]}",
        filter=lambda record: "text" in record["extra"],
    )
    try:
        async with source_of(stdio()) as source:
            await source.call_tool("complain", {"lines": 5_000})
            await until(lambda: len(lines) >= 90, what="the log", seconds=BOUND)
    finally:
        logger.remove(sink)
    complaints = [line for line in lines if "complaint" in line]
    assert 50 <= len(complaints) <= 200


async def test_every_kind_of_content_and_its_caps() -> None:
    async with source_of(stdio()) as source:
        mixed = await source.call_tool("mixed", {})
        assert mixed.result == "one\ntwo"
        assert [image.mime_type for image in mixed.images] == ["image/png"]
        structured = await source.call_tool("weather", {"city": "Rome"})
        assert '"degrees": 21' in str(structured.result)
        huge = await source.call_tool("huge", {"characters": 3_000_000})
        assert len(str(huge.result)) == 1_000_000
        wrong = await source.call_tool("echo", {})
        assert wrong.success is False


async def test_allow_and_deny() -> None:
    async with source_of(stdio(allow=("e*", "fail"), deny=("erase",))) as source:
        assert {tool.name for tool in source.tools()} == {"echo", "fail"}
