"""What the contract suites have in common: a provider for each test, and nothing left behind it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Generic, Protocol, TypeVar

import pytest
import pytest_asyncio

from vixio.testing.contract.bounds import LIMIT, RULE_LIMIT, bounded, has_hung, within_limit
from vixio.testing.contract.leftovers import NotedExecutor, nothing_left

__all__ = ["LIMIT", "Contract", "Creator", "Provider", "ProviderContract"]


class Provider(Protocol):
    """What the interfaces have in common."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...


ProviderT = TypeVar("ProviderT", bound=Provider)

Creator = Callable[[], AbstractAsyncContextManager[ProviderT]]
"""Makes an unstarted provider; around it stands whatever it needs."""


class Contract:
    """Base of all suites: their tests run in any mode of pytest-asyncio, end within a limit, and
    leave no thread and no child process."""

    pytestmark = pytest.mark.asyncio

    limit: ClassVar[float] = RULE_LIMIT
    """Seconds that one rule may take, and as many for the start and the close. Set more for a model
    that is slow, less to find hangs sooner."""

    def __init_subclass__(cls) -> None:
        """Give every rule of a suite its limit."""
        super().__init_subclass__()
        for name, rule in list(vars(cls).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(rule):
                setattr(cls, name, bounded(rule))

    @pytest.fixture(autouse=True)
    def nothing_left_running(self) -> Iterator[None]:
        """Whatever a test does, when it is over its provider's threads and children are."""
        with nothing_left():
            yield


class ProviderContract(Contract, Generic[ProviderT]):
    """Base of the suites for what is started and closed. A subclass says by :meth:`create` what.

    Every test gets a provider of its own. When it is over, the provider is closed, and no thread,
    no child process and no task of it may be left.
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
        executor = NotedExecutor()
        asyncio.get_running_loop().set_default_executor(executor)
        async with creator() as provider:
            yield provider
            await within_limit(type(self), "close()", provider.close(), always=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        if still := await executor.rest(self.limit):
            has_hung(type(self), "work in a thread")
            pytest.fail(
                f"still at work in a thread {self.limit:g} s after close(): {still}; closing or "
                "cancelling has to stop the work (a flag that it checks between two pieces)",
                pytrace=False,
            )

    @pytest_asyncio.fixture
    async def provider(self, unstarted: ProviderT) -> ProviderT:
        """Return a fresh provider, started."""
        await within_limit(type(self), "start()", unstarted.start())
        return unstarted
