"""What a list of models costs: one model call alone, and as a list of one and of three.

    python scripts/bench_models.py [CALLS]

The phrase book stands in for the model, so that nothing but the guard and the list is in the way;
a whole turn of the agent is measured beside it. Milliseconds, median and 95th percentile.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from time import perf_counter

from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.backend import PhraseBookAgentBackend, SharedModelBackend
from vixio.providers.openai_agent.fallback_backend import (
    FallbackAgentBackend,
    FallbackAgentSettings,
)
from vixio.providers.openai_agent.model import Model, ModelCall
from vixio.providers.openai_agent.phrasebook import PhraseBookModel
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings

CALL = ModelCall("", [{"role": "user", "content": "hello"}])


def _chain(length: int) -> FallbackAgentBackend:
    models = [{"name": "phrasebook"}] * length
    return FallbackAgentBackend(FallbackAgentSettings.model_validate({"models": models}))


async def _measure(name: str, work: Callable[[], Awaitable[None]], calls: int) -> None:
    took: list[float] = []
    for _ in range(calls + calls // 10):
        began = perf_counter()
        await work()
        took.append((perf_counter() - began) * 1000)
    took = sorted(took[calls // 10 :])
    print(f"{name:34} {took[len(took) // 2]:.3f}  {took[len(took) * 95 // 100]:.3f}", flush=True)


async def main(calls: int) -> None:
    """Print the table."""
    bare = PhraseBookModel("en")

    await _measure("model alone", lambda: _call(bare), calls)
    for name, backend in (
        ("behind the guard", PhraseBookAgentBackend(PhraseBookAgentSettings())),
        ("list of one", _chain(1)),
        ("list of three", _chain(3)),
    ):
        await _call_and_turn(name, backend, calls)


async def _call(model: Model) -> None:
    async with aclosing(model.stream(CALL)) as events:
        async for _ in events:
            pass


async def _call_and_turn(name: str, backend: SharedModelBackend, calls: int) -> None:
    shared = await backend.shared()
    agent = backend.create()

    async def turn() -> None:
        async for _ in agent.reply(AgentRequest(1, "hello")):
            pass

    await _measure(name, lambda: _call(shared.for_turn()), calls)
    await _measure(f"{name}, a whole turn", turn, calls)
    await backend.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000))
