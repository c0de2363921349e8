"""An ordered list of models as one model: where one fails, the next takes the call.

It works at the level of the single model call, so it is invisible to the agent loop above: results
of tool calls are kept, and the next model continues from them. Cheap to import.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.providers.fallback.circuit_breaker import CircuitBreaker
from vixio.providers.fallback.time_shares import TimeLimit, time_share
from vixio.providers.openai_agent.guarded_model import GuardedModel
from vixio.providers.openai_agent.model import Answer, Declined, Item, ModelCall, ModelStream

_log = logging.getLogger(__name__)

_OF_ONE_SERVICE: Final = frozenset({"id", "status", "provider_data", "extra_content"})
"""Fields of an item that only the service that wrote them can read."""


@dataclass(slots=True)
class ModelCandidate:
    """One model of the list. ``limit``: the most that it may take for its first token."""

    model: GuardedModel
    limit: TimeLimit
    retries: int = 0
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    failure: ProviderError | None = None
    """The last one, until it answers again."""


class FallbackModel:
    """``candidates`` in their order; ``first_token``: seconds for all of them together.

    Their health is shared by all users of this object. A model is passed over while its circuit is
    open; if all are open, all are asked. Used as a model itself, each call is a turn of its own.
    """

    def __init__(self, candidates: Sequence[ModelCandidate], first_token: float) -> None:
        self.candidates = tuple(candidates)
        self.first_token = first_token

    def turn(self) -> FallbackTurn:
        """Return the model of one turn."""
        return FallbackTurn(self)

    def stream(self, call: ModelCall) -> ModelStream:
        """Stream the answer."""
        return self.turn().stream(call)

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each model, in order."""
        now = asyncio.get_running_loop().time()
        return [{"model": each.model.label, **each.breaker.state(now)} for each in self.candidates]


class FallbackTurn:
    """The list as one turn uses it: the model that answered is asked first in later rounds."""

    def __init__(self, model: FallbackModel) -> None:
        self._model = model
        self._current = 0
        self._served: set[int] = set()
        self._failed: set[int] = set()

    async def stream(self, call: ModelCall) -> ModelStream:
        """Ask the models in order until one begins to answer; stream that answer.

        Raises the first model's failure if all fail.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._model.first_token
        candidates = self._model.candidates
        passed, asked = self._plan(loop.time())
        first_failure: ProviderError | None = None
        for position, index in enumerate(asked):
            candidate = candidates[index]
            limits = [candidates[each].limit for each in asked[position:]]
            seconds = round(time_share(limits, deadline - loop.time()), 2)
            ticket = candidate.breaker.begin()
            begun = settled = False
            asking = self._portable(replace(call, failure=self._best_failure(passed)), index)
            attempt = candidate.model.attempt(asking, seconds, candidate.retries)
            try:
                async with aclosing(attempt) as answer:
                    async for event in answer:
                        if not begun:
                            begun = settled = True
                            candidate.breaker.succeeded(ticket)
                            candidate.failure = None
                            self._current = index
                            self._served.add(index)
                        if isinstance(event, Answer) and passed:
                            labels = tuple(candidates[each].model.label for each in passed)
                            event = replace(event, use=replace(event.use, passed_over=labels))  # noqa: PLW2901 - the copy
                        yield event
                return
            except Declined:
                raise  # nothing is wrong with this one
            except ProviderError as error:
                settled = True
                candidate.failure = error
                self._report(candidate, ticket, error)
                if begun:
                    raise
                first_failure = first_failure or error
                self._failed.add(index)
                passed.append(index)
            finally:
                if not settled:
                    candidate.breaker.abandoned(ticket)
        raise first_failure or ProviderError("fallback", "there is no model", retryable=False)

    def _plan(self, now: float) -> tuple[list[int], list[int]]:
        """Return the models to pass over and those to ask, each in order.

        First the model that served this turn and those after it, then those before it that have not
        failed in this turn.
        """
        candidates = self._model.candidates
        numbers = range(len(candidates))
        order = [*numbers[self._current :], *numbers[: self._current]]
        order = [each for each in order if each not in self._failed] or order
        asked = [each for each in order if candidates[each].breaker.allows(now)] or order
        return [each for each in numbers if each < asked[0] and each not in asked], asked

    def _best_failure(self, passed: Sequence[int]) -> ProviderError | None:
        """Return why the first model that was passed over does not answer."""
        failures = (self._model.candidates[each].failure for each in sorted(passed))
        return next((each for each in failures if each is not None), None)

    def _report(self, candidate: ModelCandidate, ticket: int, error: ProviderError) -> None:
        candidate.breaker.report(ticket, error, asyncio.get_running_loop().time())
        _log.warning("model failed", extra={"model": candidate.model.label, "error": str(error)})

    def _portable(self, call: ModelCall, index: int) -> ModelCall:
        """Return ``call`` without the items that only the model that wrote them can read."""
        if not self._served - {index}:
            return call
        return replace(call, items=without_private(call.items))


def without_private(items: Sequence[Item]) -> list[Item]:
    """Leave out reasoning, which is private to one model, and the ids and fields of its service."""
    return [
        {key: value for key, value in item.items() if key not in _OF_ONE_SERVICE}
        for item in items
        if item.get("type") != "reasoning"
    ]
