"""What a tool call costs: the runtime's own share, the agent's loop around it, a broker between.

    python scripts/bench_tools.py

Medians of many calls of a tool that does nothing, in one process, without a network: the model is
played by a few lines that answer at once. ``per tool call and its round``: a turn with three tool
calls minus a turn without, by three; the runtime's share is part of it. A tool on a broker is
measured by ``scripts/bench_broker.py``; status 1 if it misses its mark.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench_broker import measure
from vixio.core.metrics import ModelUse
from vixio.core.tools.context import ToolContext
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.toolset import ToolSet
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition, ToolOptions
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.model import Answer, ModelCall, ModelStream, ModelTool, Words
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings
from vixio.providers.openai_agent.turn_loop import TurnLoop

CALLS = 2_000
TURNS = 200
TOOLS = 20

ARGUMENTS = '{"text": "hello", "number": 3}'


async def nothing(text: str, number: int) -> str:
    """Do nothing.

    Args:
        text: Any words.
        number: Any number.
    """
    return text


class _Device:
    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        return ToolCallResult("", True, "true")


class _Instant:
    """Calls the tool ``calls`` times, then says a word."""

    def __init__(self, calls: int) -> None:
        self._calls = calls

    async def stream(self, call: ModelCall) -> ModelStream:
        use = ModelUse("instant", 0, 0)
        done = sum(1 for item in call.items if item.get("type") == "function_call_output")
        if done < self._calls:
            made = {"call_id": f"call_{done}", "name": "nothing", "arguments": ARGUMENTS}
            yield Answer([{"type": "function_call", **made}], use)
        else:
            yield Words("Done.")
            yield Answer([{"role": "assistant", "content": "Done."}], use)


async def median_us(work: Callable[[], Awaitable[object]], times: int) -> float:
    """Return the median time of ``work`` in microseconds."""
    for _ in range(max(10, times // 20)):
        await work()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e6


async def main() -> bool:
    """Print the tables; return whether the broker's mark is met."""
    local = func_to_tool_definition(nothing)
    limited = replace(local, options=ToolOptions(concurrency=4))
    device = ToolDefinition("nothing", "", local.parameters, "device", caller=_Device())
    turn = ToolRuntime().open("a", "s").begin_turn(1, "en")
    print("runtime, per call (median µs)")
    alone = await median_us(lambda: nothing("hello", 3), CALLS)
    print(f"  the function itself            {alone:8.1f}")
    own = await median_us(lambda: turn.run(local, ARGUMENTS), CALLS)
    print(f"  local function                 {own:8.1f}")
    one_of_four = await median_us(lambda: turn.run(limited, ARGUMENTS), CALLS)
    print(f"  with a concurrency limit       {one_of_four:8.1f}")
    over = await median_us(lambda: turn.run(device, ARGUMENTS), CALLS)
    print(f"  device tool, answering at once {over:8.1f}")

    offered = [ModelTool("nothing", "", dict(local.parameters), local)]

    async def tools() -> Sequence[ModelTool]:
        return offered

    async def a_turn(calls: int) -> None:
        loop = TurnLoop(
            "instant",
            _Instant(calls),
            tools,
            PhraseBookAgentSettings(max_tool_rounds=8),
            AgentRequest(1, "", runner=turn),
        )
        async for _ in loop.run("", [{"role": "user", "content": "go"}]):
            pass

    without = await median_us(lambda: a_turn(0), TURNS)
    with_three = await median_us(lambda: a_turn(3), TURNS)
    per_call = (with_three - without) / 3
    print("the agent's loop")
    print(f"  a turn without tools           {without:8.1f}")
    print(f"  per tool call and its round    {per_call:8.1f}")
    print(f"  the runtime's share of it      {100 * own / per_call:7.1f} %")

    toolset = ToolSet()
    listed = [replace(local, name=f"tool_{number}") for number in range(TOOLS)]
    others = [replace(local, name=f"other_{number}") for number in range(TOOLS)]

    again = [replace(tool, parameters=deepcopy(dict(tool.parameters))) for tool in listed]

    async def same() -> bool:
        return toolset.replace("device", listed)

    async def equal() -> bool:
        return toolset.replace("device", again)

    async def changed() -> bool:
        return toolset.replace("device", others) and toolset.replace("device", listed)

    await same()
    print(f"tool set of {TOOLS}")
    print(f"  the same list again            {await median_us(same, CALLS):8.1f}")
    print(f"  an equal one, built anew       {await median_us(equal, CALLS):8.1f}")
    print(f"  another list                   {await median_us(changed, CALLS) / 2:8.1f}")
    return await measure()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main()) else 1)
