"""An ordered list of models as one model: where one fails, the next takes the call.

It works at the level of the single model call, so it is invisible to the agent loop above: results
of tool calls are kept, and the next model continues from them. Cheap to import.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.providers.fallback.availability import Availability
from vixio.providers.fallback.time_shares import TimeLimit, sharing, time_share
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
    availability: Availability
    retries: int = 0
    failure: ProviderError | None = None
    """The last one, until it answers again."""

    @property
    def group(self) -> int:
        """The number of its group: those are the same model on different servers."""
        return self.availability.place.group


class FallbackModel:
    """``candidates`` in their order; ``first_token``: seconds for all of them together.

    Their health is shared by all users of this object. A model that is not available is passed
    over; if none is, all are asked. Of one model on several servers, the one with the fewest
    requests comes first. Used as a model itself, each call is a turn of its own.
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
        return [
            {"model": each.model.label, **each.availability.state(now)} for each in self.candidates
        ]

    async def close(self) -> None:
        """End what runs in the background. The models are closed by their owner."""
        await asyncio.gather(*(each.availability.close() for each in self.candidates))


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
            seconds = round(self._share(asked[position:], deadline - loop.time()), 2)
            ticket = candidate.availability.begin()
            begun = settled = False
            asking = self._portable(replace(call, failure=self._best_failure(passed)), index)
            attempt = candidate.model.attempt(asking, seconds, candidate.retries)
            try:
                async with aclosing(attempt) as answer:
                    async for event in answer:
                        if not begun:
                            begun = settled = True
                            candidate.availability.succeeded(ticket)
                            candidate.failure = None
                            self._current = index
                            self._served.add(index)
                        if isinstance(event, Answer) and passed:
                            labels = self._labels(passed, candidate.group)
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
                    candidate.availability.abandoned(ticket)
                candidate.availability.over()
        raise first_failure or ProviderError("fallback", "there is no model", retryable=False)

    def _plan(self, now: float) -> tuple[list[int], list[int]]:
        """Return the models to pass over and those to ask, each in order.

        First the model that served this turn and those after it, then those before it that have not
        failed in this turn.
        """
        candidates = self._model.candidates
        numbers = range(len(candidates))
        served = candidates[self._current].group
        last = candidates[-1].group

        def rank(number: int) -> tuple[int, bool, tuple[int, int, int]]:
            each = candidates[number]
            turned = (each.group - served) % (last + 1)
            return turned, number not in self._served, each.availability.order()

        order = sorted(numbers, key=rank)
        order = [each for each in order if each not in self._failed] or order
        asked = [each for each in order if candidates[each].availability.allows(now)] or order
        first = candidates[asked[0]].group
        passed = [each for each in numbers if candidates[each].group < first]
        return [each for each in passed if each not in asked], asked

    def _share(self, left: Sequence[int], seconds: float) -> float:
        """Return the part of the ``seconds`` for the first of the models that are left to ask."""
        candidates = [self._model.candidates[each] for each in left]
        counted = sharing([each.group for each in candidates])
        return time_share([candidates[each].limit for each in counted], seconds)

    def _labels(self, passed: Sequence[int], group: int) -> tuple[str, ...]:
        """Return the models that were passed over, other than on servers of the same one."""
        others = (self._model.candidates[each] for each in passed)
        return tuple(dict.fromkeys(each.model.label for each in others if each.group != group))

    def _best_failure(self, passed: Sequence[int]) -> ProviderError | None:
        """Return why the first model that was passed over does not answer."""
        failures = (self._model.candidates[each].failure for each in sorted(passed))
        return next((each for each in failures if each is not None), None)

    def _report(self, candidate: ModelCandidate, ticket: int, error: ProviderError) -> None:
        candidate.availability.report(ticket, error)
        fields = {"model": candidate.model.label, "error": str(error)}
        if server := candidate.availability.place.server:
            fields["server"] = server
        _log.warning("model failed", extra=fields)

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
