"""The client of an OpenAI-compatible server that a provider uses: creation, retries, closing.

Importing this module is cheap. :meth:`SharedClient.start` imports the client, which takes a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.imports import sdk_import

if TYPE_CHECKING:
    import openai

_log = logging.getLogger(__name__)

T = TypeVar("T")

_PAUSE: Final = 0.2
"""Seconds before a retry where the server names no ``Retry-After``."""

_LONGEST_PAUSE: Final = 2.0
"""Seconds. After a longer ``Retry-After`` there is no retry; the error carries the pause."""

_SPARE: Final = 5.0
"""Seconds that the client's timeouts exceed the provider's, so that the provider's come first."""


class OpenAIConnection(BaseModel):
    """Options of every provider that uses an OpenAI-compatible server. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str | None = Field(default=None, description="Of a compatible server, ending in /v1")
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Retries after temporary errors: a refused connection, 429, 5xx."""
    extra_body: dict[str, Any] | None = None
    """Further fields of the request that are specific to one server."""


class SharedClient:
    """The client of one provider, with its pool of connections, for the whole process.

    ``section``: of the settings, as ``asr``; the error about a missing key names it.
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
        """Import and create the client in a thread. Raises ProviderUnavailable without a key."""
        async with self._starting:
            if self._closed:
                raise self._gone("closed")
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)

    def get(self) -> openai.AsyncOpenAI:
        """Return the client. Raises ProviderError before :meth:`start` and after :meth:`close`."""
        if self._closed or self._client is None:
            raise self._gone("closed" if self._closed else "not started")
        return self._client

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await ``work``, which uses the client. :meth:`close` ends it.

        Cancellation cancels ``work`` and its request. Raises ProviderError, classified.
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
        """Call :meth:`run`, with retries after temporary errors that ask for a short pause."""
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
        """Await ``work`` for at most ``seconds``. Raises ProviderTimeout."""
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise ProviderTimeout(self._provider, what, seconds) from None

    async def close(self) -> None:
        """Fail the requests in progress and close the connections. Idempotent."""
        self._closed = True
        # The client closes idle connections only: the others end with their tasks.
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
        with sdk_import():
            import openai

            import vixio.providers.openai_errors  # noqa: F401 - loaded for later

        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        if not key and settings.base_url:
            key = "none"  # local servers need no key, but the client requires one
        try:
            client = openai.AsyncOpenAI(
                api_key=key or None,
                base_url=settings.base_url,
                timeout=openai.Timeout(self._timeout + _SPARE, connect=settings.connect_timeout),
                max_retries=0,  # the client would wait for a minute while the user waits
            )
            # The client imports these at their first use, which takes a tenth of a second.
            _ = (client.audio.speech, client.audio.transcriptions, client.chat.completions)
        except openai.OpenAIError:
            raise ProviderUnavailable(
                self._provider,
                f"no key: set {self._section}.api_key, or OPENAI_API_KEY",
                reason="no_key",
            ) from None
        extra = {"provider": self._provider, "section": self._section}
        _log.debug("client created", extra=extra)
        return client
