"""The agents of Dify and Coze on their stand-ins, for the contract suite and tests of faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from vixio.core.agent import AgentRequest
from vixio.core.chunk import TextDelta
from vixio.core.history import HistoryItem
from vixio.providers.agent import AgentBackend
from vixio.providers.coze.agent import FACTORY as COZE
from vixio.providers.coze.agent import CozeAgentSettings
from vixio.providers.dify.agent import FACTORY as DIFY
from vixio.providers.dify.agent import DifyAgentSettings
from vixio.testing.contract import AgentBench
from vixio_bench.vendors.coze import service as coze_service
from vixio_bench.vendors.coze.service import BOT, CozeService
from vixio_bench.vendors.dify import service as dify_service
from vixio_bench.vendors.dify.service import DifyService

KITCHEN = "02:00:00:00:00:01"


def dify(service: DifyService, **options: object) -> AgentBackend:
    given = {"base_url": service.base_url, "api_key": dify_service.KEY, **options}
    made: AgentBackend = DIFY.create(DifyAgentSettings.model_validate(given))
    return made


def coze(service: CozeService, **options: object) -> AgentBackend:
    key = coze_service.KEY
    given = {"base_url": service.base_url, "api_key": key, "bot_id": BOT, **options}
    made: AgentBackend = COZE.create(CozeAgentSettings.model_validate(given))
    return made


async def answer(
    backend: AgentBackend,
    text: str,
    history: list[HistoryItem] | None = None,
    device: str = KITCHEN,
    language: str = "",
) -> str:
    """Ask a new session's agent; return its words."""
    agent = backend.create()
    await agent.initialize(system_prompt="Be brief.")
    request = AgentRequest(1, text, history or [], language, device_id=device)
    words = [event.text async for event in agent.reply(request) if isinstance(event, TextDelta)]
    await agent.close()
    return "".join(words)


class DifyBench(AgentBench):
    """Its tools are at the service: what needs one of ours is left out."""

    def __init__(self, service: DifyService) -> None:
        self.backend = dify(service)

    def talk(self) -> str:
        return "hello"

    def lamp(self) -> str:
        return pytest.skip("it does not call tools of ours")

    volume = time = lamp

    def stands_around(self, task: asyncio.Task[object]) -> bool:
        return "RequestHandler" in repr(task.get_coro())


class CozeBench(DifyBench):
    """Its agent calls tools of ours, which it was told of at the service."""

    def __init__(self, service: CozeService) -> None:
        self.backend = coze(service)
        self._calls: list[tuple[str, str]] = []
        service.calls = lambda query: self._calls if query != "hello" else []

    def lamp(self) -> str:
        self._calls = [("self_lamp_turn_on", "{}")]
        return "turn on the lamp"

    def volume(self) -> str:
        self._calls = [("self_audio_speaker_set_volume", '{"volume": 30}')]
        return "set the volume to thirty percent"

    def time(self) -> str:
        self._calls = [("get_time", "{}")]
        return "what time is it"


@asynccontextmanager
async def dify_bench() -> AsyncIterator[AgentBench]:
    async with DifyService() as service:
        yield DifyBench(service)
        assert not service.account.violations


@asynccontextmanager
async def coze_bench() -> AsyncIterator[AgentBench]:
    async with CozeService() as service:
        yield CozeBench(service)
        assert not service.account.violations
