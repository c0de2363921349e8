"""A model behind time limits and retries. Cheap to import."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, closing
from dataclasses import replace

from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.streams import closing_all
from vixio.core.watchdog import Watchdog
from vixio.providers.openai_agent.accepted_tools import AcceptedTools
from vixio.providers.openai_agent.made_calls import sendable, settled
from vixio.providers.openai_agent.model import Answer, Model, ModelCall, ModelStream
from vixio.providers.openai_agent.offered import OfferedTools
from vixio.providers.openai_agent.settings import SamplingSettings, TurnSettings
from vixio.providers.service_errors import unexpected

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 2.0
"""Seconds. If a server asks for a longer pause, it is not retried in this turn: the user waits."""

_MOST_REFUSALS = 3
"""Times that one request goes again, each without tools that the service has just refused."""

_RETRY = Backoff(first=0.3, longest=2 * _LONGEST_WAIT, jitter=0.1)


class GuardedModel:
    """Delegates to ``inner`` with time limits and retries. Raises ProviderError.

    A request is retried only before its first token: the first words or refusal, or a whole answer
    without any. So the reader sees nothing of an answer that failed before it. ``label``: the
    model's name in messages and figures.
    """

    def __init__(self, inner: Model, name: str, limits: TurnSettings, *, label: str = "") -> None:
        self.label = label or name
        self._inner = inner
        self._name = name
        self._limits = limits
        self._writes = isinstance(limits, SamplingSettings)  # the phrase book does not
        most = limits.max_tools if isinstance(limits, SamplingSettings) else 0
        self._accepted = AcceptedTools(self.label, most)

    def stream(self, call: ModelCall) -> ModelStream:
        """Stream the answer, within the model's own limits."""
        return self.attempt(call, self._limits.first_token_timeout, self._limits.retries)

    async def attempt(self, call: ModelCall, first_token: float, retries: int) -> ModelStream:
        """Stream the answer; its first token is due in ``first_token`` seconds, with retries."""
        failures = refusals = 0
        loop = asyncio.get_running_loop()
        deadline = loop.time() + first_token
        while True:
            begun = False
            tools = [
                tool for tool in call.tools if not (self._writes and tool.definition.phrases_only)
            ]
            fit = replace(call, items=sendable(call.items), tools=self._accepted.of(tools))
            try:
                async with aclosing(self._answer(fit, deadline, first_token)) as answer:
                    async for event in answer:
                        begun = True
                        yield self._signed(event, call) if isinstance(event, Answer) else event
                return
            except Exception as error:  # reason: a model's library may raise anything
                failure = self._classified(error)
                mended = refusals < _MOST_REFUSALS and not begun
                if mended and self._accepted.blamed(failure, fit.tools):
                    refusals += 1
                    continue  # without the tools that were refused
                failures += 1
                wait = max(_RETRY.delay(failures), failure.retry_after or 0.0)
                if (
                    begun
                    or retries == 0
                    or not failure.retryable
                    or isinstance(failure, ProviderTimeout)
                    or wait > _LONGEST_WAIT
                    or loop.time() + wait >= deadline
                ):
                    raise failure from error
            _log.info("model request retried", extra={"model": self.label, "error": str(failure)})
            retries -= 1
            await asyncio.sleep(wait)

    async def _answer(self, call: ModelCall, deadline: float, first_token: float) -> ModelStream:
        """Pass on one answer, whose first token is due at ``deadline``."""
        begun = False
        with closing(Watchdog()) as watchdog:
            async with closing_all(self._inner.stream(call)) as stream:
                while True:
                    try:
                        with watchdog.until(deadline):
                            event = await anext(stream)
                    except StopAsyncIteration:
                        what = "the answer broke off"
                        raise ProviderError(self._name, what, reason="service") from None
                    except TimeoutError as error:
                        if watchdog.expired:
                            raise self._late(begun, first_token) from error
                        raise
                    if isinstance(event, Answer):
                        yield event
                        return
                    if event.text:
                        begun = True
                        yield event
                        deadline = asyncio.get_running_loop().time() + self._limits.stall_timeout

    def _late(self, begun: bool, first_token: float) -> ProviderTimeout:
        if begun:
            return ProviderTimeout(self._name, "further token", self._limits.stall_timeout)
        return ProviderTimeout(self._name, "first token", first_token)

    def _signed(self, answer: Answer, call: ModelCall) -> Answer:
        items = settled(answer.items, call.items, OfferedTools(call.tools))
        return Answer(items, replace(answer.use, model=self.label))

    def _classified(self, error: Exception) -> ProviderError:
        if isinstance(error, ProviderError):
            return error
        return unexpected(self._name, error)
