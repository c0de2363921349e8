"""A session that talks to an agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from tests.support.a2a_agent import RemoteAgent
from tests.support.tool_sources import started
from vixio.core.backoff import Backoff
from vixio.core.chunk import Chunk, TextDelta
from vixio.core.device import DeviceProfile
from vixio.core.history import HistoryItem
from vixio.core.session.speech import SpeechHandle, SpeechStatus
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.types import ToolCallResult
from vixio.tools.a2a.config import A2aConfig
from vixio.tools.a2a.source import A2aSource

BOUND = 60.0
QUICK = Backoff(first=0.02, longest=0.05)


class Talk:
    """One session, and what its user hears."""

    def __init__(self, session: SessionTools, source: A2aSource) -> None:
        self.session = session
        self.source = source
        self.heard: list[str] = []
        self.heard_more = asyncio.Event()
        self.late: asyncio.Queue[str] = asyncio.Queue()
        self.late_items: list[HistoryItem] = []
        self._turns = 0
        session.deliver_by(self._deliver)

    @property
    def words(self) -> str:
        return "".join(self.heard).strip()

    async def ask(self, message: str, tool: str = "forecast") -> ToolCallResult:
        """Call a tool in a new turn, as a model does."""
        self._turns += 1
        turn = self.session.begin_turn(self._turns, "en", self._hear)
        definition = next(each for each in self.source.tools() if each.name == tool)
        arguments = json.dumps({"message": message})
        async with asyncio.timeout(BOUND):
            return await turn.run(definition, arguments, f"call_{self._turns}")

    def _hear(self, chunk: Chunk) -> None:
        assert isinstance(chunk, TextDelta)
        self.heard.append(chunk.text)
        self.heard_more.set()

    def _deliver(self, text: str, items: Sequence[HistoryItem]) -> SpeechHandle:
        handle = SpeechHandle(text, items=items)
        self.late_items = list(items)
        self.late.put_nowait(text)
        handle.end(SpeechStatus.PLAYED, text)
        return handle


def sourced(url: str, **options: Any) -> AbstractAsyncContextManager[A2aSource]:  # noqa: ANN401 - of the config
    """Yield a source whose first reading of the card is over."""
    # No limit of time decides a test that does not set it.
    patient = {"timeout": BOUND, "connect_timeout": BOUND, "later": 0.0}
    given = {"allow_private": True, "reconnect": QUICK, **patient, **options}
    return started(A2aSource(A2aConfig("weather", url, **given)))


@asynccontextmanager
async def talking(agent: RemoteAgent, **options: Any) -> AsyncIterator[Talk]:  # noqa: ANN401 - of the config
    """Serve the agent; yield a session that has its tools."""
    async with agent.serving(), sourced(agent.url, **options) as source:
        runtime = ToolRuntime([source])
        session = runtime.open("aa:bb", "1", DeviceProfile(user="Ann"))
        yield Talk(session, source)
        await session.close()
