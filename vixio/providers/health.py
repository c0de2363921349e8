"""What is known of a provider's health, by itself and by its uses. All of it is optional."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from vixio.core.errors import ProviderError, describe

_log = logging.getLogger(__name__)

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


TRIAL_S = 10.0
"""For the trial of a service. One that has not answered by then is not judged."""


async def trial(provider: object) -> ProviderError | bool:
    """Return the error of a service that refuses us; else whether it is known to serve us."""
    if not isinstance(provider, Verifiable):
        return False
    try:
        async with asyncio.timeout(TRIAL_S):
            return await provider.verify()
    except ProviderError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a defect, or no answer in time, judges nothing
        _log.debug("trial failed", extra={"error": describe(error)})
        return False


def served(outcomes: Sequence[ProviderError | bool]) -> bool:
    """Return the outcome of a list, of which one provider that serves is enough.

    Raises the first error if the trial of each has failed.
    """
    errors = [each for each in outcomes if isinstance(each, ProviderError)]
    if errors and len(errors) == len(outcomes):
        raise errors[0]
    return True in outcomes


@runtime_checkable
class SelfReporting(Protocol):
    """A provider that notices by itself when it cannot serve any more, and mends that."""

    @property
    def outage(self) -> ProviderError | None:
        """Why it cannot serve now, though it has started; None if it can.

        The reason ``LOADING`` of :mod:`vixio.core.messages`: it will in a moment.
        """
        ...
