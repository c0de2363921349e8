"""What is known of a provider's health, by itself and by its uses. All of it is optional."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from vixio.core.errors import ProviderError

Watch = Callable[[], AbstractContextManager[None]]
"""Returns a context whose body is one use of a provider: it learns whether the use worked."""


@runtime_checkable
class Verifiable(Protocol):
    """A provider whose service can be asked, free of charge, whether it serves us."""

    async def verify(self) -> bool:
        """Ask it once. True: it serves us; False: its answer does not show it.

        Raises ProviderError: it refuses us, or cannot be reached.
        """
        ...


@runtime_checkable
class SelfReporting(Protocol):
    """A provider that notices by itself when it cannot serve any more, and mends that."""

    @property
    def outage(self) -> ProviderError | None:
        """Why it cannot serve now, though it has started; None if it can.

        The reason ``LOADING`` of :mod:`vixio.core.messages`: it will in a moment.
        """
        ...
