"""An ordered list of models behind one: where one fails, the next takes the call.

It works at the level of the single model call, so the agent loop above knows nothing of it: tool
calls that were carried out stay so, and the next model goes on from their results. Importing this
imports the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from agents.items import TResponseInputItem
from loguru import logger
from openai.types.responses import ResponseCompletedEvent

from vixio.core.errors import ProviderError
from vixio.providers.chain.health import Rest
from vixio.providers.chain.shares import Wish, share
from vixio.providers.openai_agent.guarded_model import GuardedModel
from vixio.providers.openai_agent.model_call import CallModel, EventStream, ModelCall

PASSED_OVER = "vixio.passed_over"
"""The key under which a completed response's metadata names the models before, a line each."""


@dataclass(slots=True)
class ChainMember:
    """One model of the list. ``wish``: the seconds that it would have for its first token."""

    model: GuardedModel
    wish: Wish
    retries: int = 0
    rest: Rest = field(default_factory=Rest)


class ChainModel(CallModel):
    """``members`` in their order; ``first_token``: seconds for all of them together.

    Their health is shared by all who use this object. A model is passed over while it rests, unless
    all rest: then all are asked. Used as a model itself, each call is a turn of its own.
    """

    def __init__(self, members: Sequence[ChainMember], first_token: float) -> None:
        self.members = tuple(members)
        self.first_token = first_token

    def turn(self) -> ChainTurn:
        """Return the model of one turn."""
        return ChainTurn(self)

    def stream(self, call: ModelCall) -> EventStream:
        """Answer as it comes."""
        return self.turn().stream(call)

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each model, in order."""
        now = asyncio.get_running_loop().time()
        return [{"model": each.model.label, **each.rest.state(now)} for each in self.members]


class ChainTurn(CallModel):
    """The list as one turn uses it: whoever answered goes on, as long as it can."""

    def __init__(self, chain: ChainModel) -> None:
        self._chain = chain
        self._current = 0
        self._served: set[int] = set()
        self._failed: set[int] = set()

    async def stream(self, call: ModelCall) -> EventStream:
        """Ask the models in turn until one begins to answer; from then on the answer is its own.

        Raises the first model's failure when all fail.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._chain.first_token
        members = self._chain.members
        passed, asked = self._plan(loop.time())
        first_failure: ProviderError | None = None
        for position, index in enumerate(asked):
            member = members[index]
            wishes = [members[each].wish for each in asked[position:]]
            seconds = round(share(wishes, deadline - loop.time()), 2)
            ticket = member.rest.admit()
            begun = settled = False
            attempt = member.model.attempt(self._portable(call, index), seconds, member.retries)
            try:
                async with aclosing(attempt) as answer:
                    async for event in answer:
                        if not begun:
                            begun = settled = True
                            member.rest.succeeded(ticket)
                            self._current = index
                            self._served.add(index)
                        if isinstance(event, ResponseCompletedEvent) and passed:
                            labels = "\n".join(members[each].model.label for each in passed)
                            known = event.response.metadata or {}
                            event.response.metadata = {**known, PASSED_OVER: labels}
                        yield event
                return
            except ProviderError as error:
                settled = True
                self._report(member, ticket, error)
                if begun:
                    raise
                first_failure = first_failure or error
                self._failed.add(index)
                passed.append(index)
            finally:
                if not settled:
                    member.rest.abandoned(ticket)
        raise first_failure or ProviderError("chain", "there is no model", retryable=False)

    def _plan(self, now: float) -> tuple[list[int], list[int]]:
        """Return the models to pass over and those to ask, each in order.

        First the one that served this turn and those behind it, then those before it that have not
        failed in this turn.
        """
        members = self._chain.members
        numbers = range(len(members))
        order = [*numbers[self._current :], *numbers[: self._current]]
        order = [each for each in order if each not in self._failed] or order
        asked = [each for each in order if members[each].rest.free(now)] or order
        return [each for each in numbers if each < asked[0] and each not in asked], asked

    def _report(self, member: ChainMember, ticket: int, error: ProviderError) -> None:
        member.rest.report(ticket, error, asyncio.get_running_loop().time())
        logger.bind(model=member.model.label, error=str(error)).warning("model failed")

    def _portable(self, call: ModelCall, index: int) -> ModelCall:
        """Return ``call`` without what only the model that wrote it can read."""
        if isinstance(call.input, str) or not self._served - {index}:
            return call
        return replace(call, input=without_private(call.input))


def without_private(items: Sequence[TResponseInputItem]) -> list[TResponseInputItem]:
    """Leave out reasoning, which is one model's own, and the ids and fields of its service."""
    kept: list[Any] = []
    for item in items:
        if item.get("type") == "reasoning":
            continue
        kept.append({key: item[key] for key in item if key not in {"id", "provider_data"}})  # type: ignore[literal-required]  # a copy of a TypedDict, whichever of the union it is
    return kept
