"""A device whose tool server misbehaves converses all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from firmware_test_client import McpFaults, Misbehaviour, Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.stages import knows_tool
from tests.support.waiting import until
from vixio.core.messages import message
from vixio.testing import ScriptedTTS

APOLOGIES = ("not_understood_first", "tool_failed")
"""A tool that is not there has no phrase; one that fails has."""

VOLUME = "self.audio_speaker.set_volume"
FAILED = "did not work"

NEVER, SOON = 60.0, 1.0
"""Seconds that a tool may take: no machine is so slow; and for the one that never answers."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with the answers. ``listed``: tools become known; ``works``: calls succeed;
    ``counted``: the counter that shows that it was noticed."""

    faults: McpFaults
    listed: bool = True
    works: bool = True
    counted: str = ""


SILENT = Fault(McpFaults(never_answer=frozenset({VOLUME})), works=False, counted="call.timeout")

FAULTS: dict[str, Fault] = {
    "none": Fault(McpFaults()),
    "slow": Fault(McpFaults(delay=0.4)),
    "never initialised": Fault(
        McpFaults(never_answer=frozenset({"initialize"})), listed=False, works=False
    ),
    "string ids": Fault(
        McpFaults(string_ids=True), listed=False, works=False, counted="late_answer"
    ),
    "forged ids": Fault(McpFaults(forged_ids=True), counted="late_answer"),
    "twice": Fault(McpFaults(duplicate_answers=True), counted="late_answer"),
    "endless paging": Fault(
        McpFaults(endless_paging=True), works=False, counted="list_cut.too_many_pages"
    ),
    "the same page": Fault(
        McpFaults(repeat_cursor=True), works=False, counted="list_cut.repeated_cursor"
    ),
}


async def converse(server: RunningServer, fault: Fault) -> None:
    """A turn at once, before any tool can be known, then one that wants a tool, then another."""
    faults = Misbehaviour(mcp=fault.faults)
    async with SimulatedDevice(server.device(misbehaviour=faults)) as device:
        assert_well(await device.type_text("hello"))
        if fault.listed:
            paged = fault.faults.endless_paging or fault.faults.repeat_cursor
            await knows_tool(server, device, "self.page.tool_1" if paged else VOLUME)
        reply = await device.type_text("set the volume to thirty")
        assert_well(reply)
        if fault.works:
            assert device.volume == 30
            assert "30" in reply.text
        else:
            assert reply.text in {message(key, "en") for key in APOLOGIES}
        assert_well(await device.type_text("hello"))
        assert len(device.replies) == 3
        assert_nothing_wrong(device)


def assert_well(reply: Reply) -> None:
    assert reply.text
    assert_played_well(reply)


@pytest.mark.parametrize(
    ("faults", "timeout"), [(FAULTS, NEVER), ({"silent": SILENT}, SOON)], ids=["all", "silent"]
)
async def test_no_fault_disturbs_the_conversation(
    faults: Mapping[str, Fault], timeout: float
) -> None:
    config = settings(timeouts={"device_tool": timeout})
    async with serving(
        config, asr=WaveformASR({}), tts=ScriptedTTS(seconds_per_char=0.02)
    ) as server:
        async with asyncio.TaskGroup() as group:
            for name, fault in faults.items():
                group.create_task(converse(server, fault), name=name)
        for fault in faults.values():
            if fault.counted:
                assert server.count(f"xiaozhi.mcp.{fault.counted}") > 0, fault
        assert server.count("session.defect") == 0


async def test_a_late_answer_is_dropped() -> None:
    """It comes after the time-out, in the middle of the next turn."""
    faults = Misbehaviour(mcp=McpFaults(delay=0.9))
    config = settings(timeouts={"device_tool": 0.5})
    async with (
        serving(config, asr=WaveformASR({}), tts=ScriptedTTS(seconds_per_char=0.02)) as server,
        SimulatedDevice(server.device(misbehaviour=faults)) as device,
    ):
        await knows_tool(server, device, VOLUME)
        reply = await device.type_text("set the volume to thirty")
        assert "Sorry" in reply.text
        assert_well(await device.type_text("hello"))
        await until(
            lambda: server.count("xiaozhi.mcp.late_answer") == 1, what="the late answer's end"
        )
