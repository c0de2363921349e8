"""What the contract suites have in common: a provider for each test, and nothing left behind it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Generic, Protocol, TypeVar

import pytest
import pytest_asyncio

LIMIT = 60.0
"""Seconds that anything here may take; a hang, not a speed, is what it catches."""


class Provider(Protocol):
    """What the interfaces have in common."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...


ProviderT = TypeVar("ProviderT", bound=Provider)

Creator = Callable[[], AbstractAsyncContextManager[ProviderT]]
"""Makes an unstarted provider; around it stands whatever it needs."""


@contextmanager
def no_thread_left() -> Iterator[None]:
    """Fail if a thread that was not there before is there at the end."""
    before = _threads()
    yield
    assert _threads() <= before


def _threads() -> set[threading.Thread]:
    """Every thread but those of the loop's own executor, which ends with the loop.

    LiteLLM has an executor for the whole process, for its logging.
    """
    module = sys.modules.get("litellm.litellm_core_utils.thread_pool_executor")
    foreign = getattr(module.executor, "_threads", ()) if module is not None else ()
    return {
        each
        for each in threading.enumerate()
        if not each.name.startswith("asyncio_") and each not in foreign
    }


class Contract:
    """Base of all suites: their tests run in any mode of pytest-asyncio, and leave no thread."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture(autouse=True)
    def nothing_left_running(self) -> Iterator[None]:
        """Whatever a test does, when it is over its provider's threads are."""
        with no_thread_left():
            yield


class ProviderContract(Contract, Generic[ProviderT]):
    """Base of the suites for what is started and closed. A subclass says by :meth:`create` what.

    Every test gets a provider of its own. When it is over, the provider is closed, and no thread
    and no task of it may be left.
    """

    def create(self) -> AbstractAsyncContextManager[ProviderT]:
        """Yield the provider unstarted, with whatever it needs around it, as a vendor's stand-in.

        The suite closes the provider; what stands around it is the context manager's own.
        """
        raise NotImplementedError(f"{type(self).__name__} has to say what it tests: create()")

    @pytest.fixture
    def creator(self) -> Creator[ProviderT]:
        """Return what makes the provider; a fixture with ``params`` here runs the suite on many."""
        return self.create

    @pytest_asyncio.fixture
    async def unstarted(
        self, creator: Creator[ProviderT], nothing_left_running: None
    ) -> AsyncIterator[ProviderT]:
        """Return a fresh provider; closed at the end, whatever the test did with it."""
        async with creator() as provider:
            yield provider
            await provider.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    @pytest_asyncio.fixture
    async def provider(self, unstarted: ProviderT) -> ProviderT:
        """Return a fresh provider, started."""
        await unstarted.start()
        return unstarted
