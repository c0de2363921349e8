"""Abandoned answers at the real client of a model's service: each request is closed, none leaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tests.session.conversation import Conversation
from tests.support.llm_server import LLMServer, Stall, text
from tests.support.waiting import until
from vixio.core.streams import closing
from vixio.core.tools.runtime import ToolRuntime
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.provider import OpenAIAgentProvider
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedAgent, ScriptedASR, silence, speech

LIMIT = 90.0


class Asking(ScriptedAgent):
    """An agent of a conversation that asks a service."""

    def __init__(self, service: OpenAIAgentProvider) -> None:
        super().__init__()
        self._service = service

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        self.running += 1
        try:
            async with closing(self._service.reply(request)) as events:
                async for event in events:
                    yield event
        finally:
            self.running -= 1

    async def close(self) -> None:
        await self._service.close()
        await super().close()


async def test_requests_that_are_given_up_are_closed_at_the_service() -> None:
    async with LLMServer() as server:
        stalls = [Stall() for _ in range(2)]
        for stall in stalls:
            server.script(text("Turning it", stall))
        server.script(text("It is ", "on."))
        agent = Asking(OpenAIAgentProvider("k", "stand-in", server.base_url))
        heard = ["good", "good morning", "good morning friend"]
        # On a busy machine the first request takes a while, in which no packet comes.
        patient = TurnSettings(think_ms=200, jitter_ms=20_000)
        talk = Conversation(
            asr=ScriptedASR(heard), agent=agent, turn=patient, runtime=ToolRuntime([])
        )
        async with talk.running():
            talk.listen()
            await talk.device.play(silence(0.3))
            for stall in stalls:
                await talk.device.play(speech(0.5) + silence(0.24))
                await asyncio.wait_for(stall.reached.wait(), LIMIT)
                assert server.answering == 1
                server.hung_up.clear()
                await talk.device.play(speech(0.3))
                await asyncio.wait_for(server.hung_up.wait(), LIMIT)
                await until(lambda: server.answering == 0, what="the end of the request")
            await talk.device.play(silence(0.9))
            await talk.device.wait_for("stop")
            assert talk.device.texts() == ["It is on."]
            assert [request["messages"][-1]["content"] for request in server.requests] == heard
            assert server.answering == 0
