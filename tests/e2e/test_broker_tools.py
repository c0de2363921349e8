"""Tool services in a running conversation: they come within a turn, and speak while they work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from firmware_test_client import SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.waiting import until
from tests.unit.tools.broker.place import Place
from vixio.bus import DynamicToolService


class Ticker(DynamicToolService):
    """Tells prices; the second one when it may."""

    id = "ticker"
    tools = (
        {
            "name": "watch-share",
            "description": "Follow a share.",
            "stream": "say",
            "arguments": [{"name": "company", "type": "string", "description": "Which."}],
        },
    )

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.go = asyncio.Event()

    async def invoke(
        self, user: str, config: dict[str, Any], arguments: dict[str, Any]
    ) -> AsyncIterator[str]:
        """Yield pieces that are not sentences."""
        self.calls.append((user, arguments))
        yield "Acme stands "
        yield "at forty. "
        yield "And "
        await self.go.wait()
        yield "now at fifty."


async def test_a_service_comes_within_a_turn_and_speaks_while_it_works() -> None:
    ticker, place = Ticker(), Place()
    waiting = Stall()
    async with LLMServer() as llm:
        first_call = calls(Call("call_1", "get_time", "{}"))
        first_call.steps.insert(0, waiting)
        llm.script(
            first_call,
            calls(Call("call_2", "watch-share", '{"company": "acme"}')),
            text("That is all."),
        )
        config = settings(
            agent={"name": "openai", "model": "m", "base_url": llm.base_url},
            tools={"broker": {"url": place.url}},
            devices={"*": {"user": "alice"}},
        )
        async with (
            serving(config, asr=WaveformASR({})) as server,
            SimulatedDevice(server.device()) as device,
        ):
            turn = asyncio.create_task(device.type_text("follow acme"))
            async with asyncio.timeout(60):
                await waiting.reached.wait()
            async with place.service(ticker):
                (session,) = server.app.tools._sessions
                await until(lambda: session.toolset.find("watch-share"), what="the service's tool")
                waiting.go.set()
                # The first sentence is heard while the service is at work.
                await until(
                    lambda: any("forty" in each.text for each in device.sentences),
                    what="the first sentence",
                    seconds=60,
                )
                assert not turn.done()
                ticker.go.set()
                heard = await turn
            assert heard.text == "Acme stands at forty. And now at fifty. That is all."
            assert device.violations == []
        offered = [
            {tool["function"]["name"] for tool in request["tools"]} for request in llm.requests
        ]
        assert "watch-share" not in offered[0]
        assert "watch-share" in offered[1]
        assert ticker.calls == [("alice", {"company": "acme"})]
        result = llm.requests[2]["messages"][-1]["content"]
        assert result == "[already spoken to the user] Acme stands at forty. And now at fifty."
