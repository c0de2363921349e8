"""Runs the contract suite for every agent of the table.

To add an agent, write a bench that makes it answer and call tools as the suite needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec

import pytest

from tests.support import llm_server, responses_api
from tests.support.llm_server import Answer, Call, LLMServer
from tests.vendors.agents import coze_bench, dify_bench
from vixio.providers.openai_agent.backend import (
    LiteLLMAgentBackend,
    OpenAIAgentBackend,
    PhraseBookAgentBackend,
)
from vixio.providers.openai_agent.fallback_backend import (
    FallbackAgentBackend,
    FallbackAgentSettings,
)
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    PhraseBookAgentSettings,
)
from vixio.testing.contract import AgentBench, AgentContract


class OpenAIBench(AgentBench):
    api = llm_server

    def __init__(self, server: LLMServer) -> None:
        self._server = server
        self.backend = OpenAIAgentBackend(
            OpenAIAgentSettings(model="stand-in", base_url=server.base_url)
        )

    def talk(self) -> str:
        self._script(self.api.text("Hel", "lo."))
        return "hello"

    def lamp(self) -> str:
        return self._calling("self_lamp_turn_on", "{}", "turn on the lamp")

    def volume(self) -> str:
        name = "self_audio_speaker_set_volume"
        return self._calling(name, '{"volume": 30}', "set the volume to thirty percent")

    def time(self) -> str:
        return self._calling("get_time", "{}", "what time is it")

    def stands_around(self, task: asyncio.Task[object]) -> bool:
        return "LLMServer" in repr(task.get_coro())

    def _calling(self, name: str, arguments: str, said: str) -> str:
        made = Call("call_0", name, arguments)
        self._script(self.api.calls(made), self.api.text("There ", "you are."))
        return said

    def _script(self, *answers: Answer) -> None:
        self._server.script(*answers)


class ResponsesBench(OpenAIBench):
    api = responses_api

    def __init__(self, server: LLMServer) -> None:
        super().__init__(server)
        self.backend = OpenAIAgentBackend(
            OpenAIAgentSettings(model="stand-in", base_url=server.base_url, api="responses")
        )


class FallbackBench(OpenAIBench):
    """The first model of the list refuses every call; the second speaks the other protocol."""

    api = responses_api

    def __init__(self, server: LLMServer) -> None:
        super().__init__(server)
        models = [
            {"name": "openai", "model": "broken", "base_url": server.base_url, "retries": 0},
            {"name": "openai", "base_url": server.base_url, "api": "responses"},
            {"name": "phrasebook"},
        ]
        settings = FallbackAgentSettings.model_validate({"models": models, "pause": 0.001})
        self.backend = FallbackAgentBackend(settings)
        server.broken_model = "broken"


class PhraseBookBench(AgentBench):
    def __init__(self) -> None:
        self.backend = PhraseBookAgentBackend(PhraseBookAgentSettings())

    def talk(self) -> str:
        return "hello"

    def lamp(self) -> str:
        return "turn on the lamp"

    def volume(self) -> str:
        return "set the volume to thirty percent"

    def time(self) -> str:
        return "what time is it"


class LiteLLMBench(OpenAIBench):
    def __init__(self, server: LLMServer) -> None:
        super().__init__(server)
        self.backend = LiteLLMAgentBackend(
            LiteLLMAgentSettings.model_validate(
                {"model": "openai/stand-in", "base_url": server.base_url, "api_key": "k"}
            )
        )


BENCHES = {
    "openai": OpenAIBench,
    "responses": ResponsesBench,
    "fallback": FallbackBench,
    "litellm": LiteLLMBench,
}
HOSTED = {"dify": dify_bench, "coze": coze_bench}
LITELLM = pytest.param(
    "litellm",
    marks=[
        pytest.mark.skipif(find_spec("litellm") is None, reason="needs the extra litellm"),
        pytest.mark.filterwarnings("ignore"),  # LiteLLM's own, of which it has many
    ],
)


class TestAgent(AgentContract):
    @pytest.fixture(
        params=["openai", "responses", "fallback", LITELLM, "phrasebook", "dify", "coze"]
    )
    def creator(
        self, request: pytest.FixtureRequest
    ) -> Callable[[], AbstractAsyncContextManager[AgentBench]]:
        if request.param in HOSTED:
            return HOSTED[request.param]

        @asynccontextmanager
        async def made() -> AsyncIterator[AgentBench]:
            async with LLMServer() as server:
                known = request.param in BENCHES
                yield BENCHES[request.param](server) if known else PhraseBookBench()

        return made
