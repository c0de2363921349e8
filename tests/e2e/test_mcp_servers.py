"""An MCP server in a running conversation: used, killed in mid-call, and back within the turn."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from urllib.request import urlopen

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, SCRIPT
from vixio.tools.mcp.source import McpSource


async def test_killed_in_mid_call_it_costs_one_answer_and_comes_back() -> None:
    waiting = Stall()
    async with LLMServer() as llm:
        llm.script(
            calls(Call("call_1", "slow", '{"seconds": 50}')),
            text("The server ", waiting, "went away."),
            calls(Call("call_2", "echo", '{"text": "I am back"}')),
            text("It says: I am back."),
        )
        config = settings(
            agent={"name": "openai", "model": "m", "base_url": llm.base_url},
            mcp_servers={
                "trouble": {"command": sys.executable, "args": [str(SCRIPT), "stdio"]},
                "absent": {"command": "no-such-program-anywhere"},
            },
        )
        async with serving(config, asr=WaveformASR({})) as server:
            source = next(each for each in server.app.tools.sources if isinstance(each, McpSource))
            async with asyncio.timeout(BOUND):
                await source.ready()
            pid = int(str((await source.call_tool("process_id", {})).result))
            async with SimulatedDevice(server.device()) as device:
                turn = asyncio.create_task(device.type_text("take your time"))
                await until(
                    lambda: server.app.tools.counters.get("turn.tools") or llm.requests,
                    what="the model's first call",
                    seconds=BOUND,
                )
                async with asyncio.timeout(BOUND):
                    while (await source.call_tool("sleeping", {})).result != "1":
                        pass
                os.kill(pid, signal.SIGKILL)
                # The tools are back before the running turn is over.
                await waiting.reached.wait()
                await until(
                    lambda: source.connects == 2 and source.tools(),
                    what="the tools' return",
                    seconds=BOUND,
                )
                waiting.go.set()
                first = await turn
                assert first.text == "The server went away."
                second = await device.type_text("are you there")
                assert second.text == "It says: I am back."
                assert device.violations == []
            page = await asyncio.to_thread(_health, server.http_url)
        told = json.loads(llm.requests[1]["messages"][-1]["content"])
        assert told["error"]["type"] == "disconnected"
        assert llm.requests[3]["messages"][-1]["content"] == "I am back"
        # What is not there is not offered, and nothing else suffers.
        offered = {tool["function"]["name"] for tool in llm.requests[2]["tools"]}
        assert {"echo", "slow", "get_time", "self_audio_speaker_set_volume"} <= offered
        counters = page["counters"]
        assert isinstance(counters, dict)
        assert counters["tool.trouble.disconnected"] == 1


def _health(url: str) -> dict[str, object]:
    with urlopen(f"{url}/healthz", timeout=30) as page:  # noqa: S310 - the test's own server
        found: dict[str, object] = json.load(page)
    return found
