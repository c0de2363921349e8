"""One client of an OpenAI-compatible server for a provider: made, held, retried and closed alike.

Importing this is cheap; the client, whose import takes a second, is imported by
:meth:`SharedClient.start`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.imports import SDK_IMPORT

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

_PAUSE: Final = 0.2
"""Seconds before the next try where the server names none: long enough for a new connection."""

_LONGEST_PAUSE: Final = 2.0
"""Who asks for more is not tried again in this turn; the pause is told on with the error."""

_SPARE: Final = 5.0
"""The provider bounds its own waits; the client's timeouts catch what hangs below, later."""


class OpenAIConnection(BaseModel):
    """Options of every provider that reaches such a server. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str | None = Field(default=None, description="Of a compatible server, ending in /v1")
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Further tries after what may pass by itself: a refused connection, 429, 5xx."""
    extra_body: dict[str, Any] | None = None
    """Further fields of the request, for what only one server knows."""


class SharedClient:
    """The client of one provider, with its pool of connections, for the whole process.

    ``section``: of the settings, as ``asr``; named where a key is missing.
    """

    def __init__(
        self, provider: str, section: str, settings: OpenAIConnection, *, timeout: float
    ) -> None:
        self._provider = provider
        self._section = section
        self._settings = settings
        self._timeout = timeout
        self._client: openai.AsyncOpenAI | None = None
        self._starting = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def start(self) -> None:
        """Import and make the client, off the loop. Raises ProviderUnavailable without a key."""
        async with self._starting:
            if self._closed:
                raise self._gone("closed")
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)

    def get(self) -> openai.AsyncOpenAI:
        """Return the client. Raises ProviderError before the start and after the end."""
        if self._closed or self._client is None:
            raise self._gone("closed" if self._closed else "not started")
        return self._client

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do ``work``, which uses the client; closing ends it. Raises ProviderError, classified.

        Cancelling this cancels ``work``, and with it the request.
        """
        from vixio.providers.openai_errors import classify

        task = asyncio.create_task(work)
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if self._closed and task.cancelled() and this is not None and not this.cancelling():
                raise self._gone("closed") from None
            raise
        except Exception as error:
            if self._closed:
                raise self._gone("closed") from None
            raise classify(self._provider, error, self._timeout) from error
        finally:
            self._running.discard(task)

    async def retried(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do :meth:`run`, and again where that may help and the server does not ask for long."""
        for left in range(self._settings.retries, -1, -1):
            try:
                return await self.run(work())
            except ProviderError as error:
                pause = _PAUSE if error.retry_after is None else error.retry_after
                again = error.retryable and not isinstance(error, ProviderTimeout)
                if not left or not again or pause > _LONGEST_PAUSE:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError  # unreachable: the last try returns or raises

    async def bounded(self, work: Awaitable[T], what: str, seconds: float) -> T:
        """Wait for ``work`` no longer than ``seconds``; raises ProviderTimeout."""
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise ProviderTimeout(self._provider, what, seconds) from None

    async def close(self) -> None:
        """Fail what is under way and end the connections. Idempotent."""
        self._closed = True
        # The client closes idle connections alone: those at work end with their tasks.
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        async with self._starting:  # a start in progress leaves nothing behind
            client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _gone(self, state: str) -> ProviderError:
        return ProviderError(self._provider, f"it is {state}", retryable=False)

    def _make(self) -> openai.AsyncOpenAI:
        with SDK_IMPORT:
            import openai

            import vixio.providers.openai_errors  # noqa: F401 - loaded for later

        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        if not key and settings.base_url:
            key = "none"  # local servers ask for none, the client insists on one
        try:
            client = openai.AsyncOpenAI(
                api_key=key or None,
                base_url=settings.base_url,
                timeout=openai.Timeout(self._timeout + _SPARE, connect=settings.connect_timeout),
                max_retries=0,  # it would sit out a pause of a minute while the user waits
            )
            # Its resources are imported at their first use: a tenth of a second.
            _ = (client.audio.speech, client.audio.transcriptions, client.chat.completions)
        except openai.OpenAIError:
            raise ProviderUnavailable(
                self._provider,
                f"no key: set {self._section}.api_key, or OPENAI_API_KEY",
                reason="no_key",
            ) from None
        logger.bind(provider=self._provider, section=self._section).debug("client made")
        return client
