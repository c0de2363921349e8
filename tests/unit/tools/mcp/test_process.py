"""An MCP server as a child process: its environment, its output, its end."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Tool

from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, plain, source_of, stdio
from vixio.tools.bounds import MAX_TOOLS
from vixio.tools.mcp.listing import to_definitions

pytestmark = pytest.mark.slow

ROGUE = Path(__file__).parents[3] / "chaos" / "rogue_mcp.py"


def stderr_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged of the process's standard error."""
    return [vars(record)["text"] for record in caplog.records if "text" in vars(record)]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A zombie has ended; only its exit status was not read yet.
    return (
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    )


async def test_it_inherits_nothing_of_the_servers_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VIXIO_SECRET", "ours")
    config = plain(env={"KEY": "theirs"}, cwd=str(tmp_path))
    async with source_of(config) as source:
        told = {
            name: (await source.call_tool("variable", {"name": name})).result
            for name in ("KEY", "VIXIO_SECRET", "CWD")
        }
    assert told == {"KEY": "theirs", "VIXIO_SECRET": "unset", "CWD": str(tmp_path)}
    assert "theirs" not in repr(config)


async def test_a_crash_fails_pending_calls_and_a_new_process_starts() -> None:
    async with source_of(plain()) as source:
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
    async with source_of(plain()) as source:
        pid = int(str((await source.call_tool("process_id", {})).result))
        assert not gone(pid)
    await until(lambda: gone(pid), what="the end of the process", seconds=BOUND)


async def test_a_silent_process_blocks_nothing_and_is_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "vixio")
    # It does not go when asked; and it says who it is at once, on a busy machine too.
    silent = "trap '' TERM; echo not a word from $$ >&2; exec sleep 600"
    config = stdio(command="sh", args=("-c", silent), connect_timeout=3.0)
    async with source_of(config) as source:
        assert source.tools() == ()
        assert source.faults[0].reason == "no answer within 3 s"
    said = next(text for text in stderr_of(caplog) if "not a word from" in text)
    pid = int(said.partition("not a word from ")[2])
    await until(lambda: gone(pid), what="the end of the process", seconds=BOUND)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"command": "no-such-program-anywhere"},
            (
                "the program no-such-program-anywhere is not installed, or not on the PATH of "
                "this server"
            ),
        ),
        ({"cwd": "/no/such/folder"}, "there is no folder /no/such/folder (cwd)"),
        (
            {"args": ("-c", "raise SystemExit('no licence found')")},
            f"{sys.executable} ended; it wrote: no licence found",
        ),
    ],
)
async def test_one_line_says_why_it_cannot_be_reached(options: dict[str, str], reason: str) -> None:
    async with source_of(stdio(**options)) as source:
        assert source.tools() == ()
        assert [fault.reason for fault in source.faults] == [reason]


async def test_garbage_on_its_standard_output_is_ignored() -> None:
    async with source_of(stdio("noisy")) as source:
        await until(source.tools, what="its tools", seconds=BOUND)
        assert (await source.call_tool("echo", {"text": "fine"})).result == "fine"


async def test_only_the_first_of_ten_thousand_tools_are_validated(
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


async def test_what_it_writes_to_standard_error_is_logged_within_bounds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "vixio")
    async with source_of(plain()) as source:
        await source.call_tool("complain", {"lines": 5_000})
        await until(lambda: len(stderr_of(caplog)) >= 90, what="the log", seconds=BOUND)
    complaints = [text for text in stderr_of(caplog) if "complaint" in text]
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
    async with source_of(plain(allow=("e*", "fail"), deny=("erase",))) as source:
        assert {tool.name for tool in source.tools()} == {"echo", "fail"}
