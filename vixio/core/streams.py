"""Helpers for the streams of the replying half: every wait bounded, every generator closed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from vixio.core.clock import now
from vixio.core.errors import ProviderTimeout
from vixio.core.watchdog import Watchdog

T = TypeVar("T")


@asynccontextmanager
async def closing(stream: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Close ``stream`` at the end, if it is one that can be closed (async generators are)."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


async def bounded(
    stream: AsyncIterator[T], *, provider: str, what: str, first: float, next: float
) -> AsyncIterator[T]:
    """Pass ``stream`` on; raise ProviderTimeout when an item takes too long.

    ``first`` seconds for the first item, ``next`` for each later one. Closes ``stream``.
    """
    limit = first
    with contextlib.closing(Watchdog()) as watchdog:
        async with closing(stream) as items:
            while True:
                try:
                    with watchdog.until(now() + limit):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise ProviderTimeout(provider, what, limit) from None
                limit = next
                yield item


STEADY_S = 1.0
"""Words that follow each other within this come steadily: who reads or hears them does not wait."""


async def within(
    stream: AsyncIterator[T], seconds: float, busy_until: Callable[[], float] = lambda: 0.0
) -> AsyncIterator[T]:
    """Pass ``stream`` on; raise TimeoutError when it has been awaited for ``seconds`` in all.

    The reader's own time does not count, nor does that before ``busy_until()``, asked at each wait:
    until then nobody misses what comes. Closes ``stream``.
    """
    left = seconds
    with contextlib.closing(Watchdog()) as watchdog:
        async with closing(stream) as items:
            while True:
                began = max(now(), busy_until())
                try:
                    with watchdog.until(began + left):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                left -= max(0.0, now() - began)
                yield item


# ── generators of other libraries ──────────────────────────────────────────────────────────────
#
# An unfinished asynchronous generator is not closed by the enclosing one, unless that does so
# explicitly. HTTP clients and SDKs stack a dozen of them, and some close the next one and some do
# not. Those left over wait for the garbage collector, which closes them in tasks of their own: at
# any time, in any order, two of them at once ("asynchronous generator is already running"), or
# never, if the loop has ended. So every generator that begins while a stream is advanced is
# remembered, and closed with it, the outer ones first. The hook for that is the interpreter's own
# (``sys.set_asyncgen_hooks``).

Generator = AsyncGenerator[Any, Any]


class _Scope:
    """The generators of one stream, in the order in which they began."""

    def __init__(self) -> None:
        self._generators: list[Generator] | None = []

    def add(self, generator: Generator) -> None:
        if self._generators is not None:  # tasks that were begun in the scope may outlive it
            self._generators.append(generator)

    async def close(self) -> None:
        generators, self._generators = self._generators or [], None
        for generator in generators:
            try:
                await generator.aclose()
            except RuntimeError:
                pass  # another task is closing it, or it yields while it is closed


_current: ContextVar[_Scope | None] = ContextVar("generator_scope", default=None)


class _Scoped(Generic[T]):
    """A stream that is advanced in its scope."""

    def __init__(self, stream: AsyncIterator[T], scope: _Scope) -> None:
        self._stream = stream
        self._scope = scope

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        token = _current.set(self._scope)
        try:
            return await anext(self._stream)
        finally:
            _current.reset(token)


@asynccontextmanager
async def closing_all(stream: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Give ``stream``; at the end close it, and every generator that began within it."""
    _install_hook()
    scope = _Scope()
    try:
        yield _Scoped(stream, scope)
    finally:
        await scope.close()


class _FirstIteration:
    """The loop's own hook, and then ours."""

    def __init__(self, loops: Callable[[Generator], None] | None) -> None:
        self._loops = loops

    def __call__(self, generator: Generator) -> None:
        if self._loops is not None:
            self._loops(generator)
        scope = _current.get()
        if scope is not None:
            scope.add(generator)


def _install_hook() -> None:
    """Install the hook in this thread. The loop puts its own back when it begins and ends."""
    hooks = sys.get_asyncgen_hooks()
    if not isinstance(hooks.firstiter, _FirstIteration):
        sys.set_asyncgen_hooks(firstiter=_FirstIteration(hooks.firstiter))
