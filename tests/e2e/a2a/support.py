"""A running server with the gateway, and a scripted model behind it, which calls tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.e2e.api_client import SPEECHLESS
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.a2a_client import TOKENS
from tests.support.llm_server import Call, LLMServer
from vixio.settings import Settings

VERSIONS = ("1.0", "0.3")
"""Of the protocol."""

PARIS = Call("c1", "get_weather", '{"city": "Paris"}')
ROME = Call("c2", "get_weather", '{"city": "Rome"}')


def a2a_settings(llm: LLMServer, **sections: Any) -> Settings:  # noqa: ANN401 - as in a file
    """Return settings with the gateway; ``a2a`` has further keys of its section."""
    a2a = {"tokens": TOKENS, **sections.pop("a2a", {})}
    agent = {"name": "openai", "base_url": llm.base_url, "api_key": "k", "model": "m"}
    agent |= sections.pop("agent", {})
    return settings(**sections, agent=agent, a2a=a2a)


@asynccontextmanager
async def gateway(llm: LLMServer, **sections: Any) -> AsyncIterator[RunningServer]:  # noqa: ANN401 - as in a file
    """Run a server whose gateway is loaded. No device speaks with it: it does without speech."""
    made = {kind: make() for kind, make in SPEECHLESS.items()}
    async with serving(a2a_settings(llm, **sections), loaded=False, **made) as server:
        assert server.app.a2a is not None
        await server.app.a2a.loaded()
        yield server
