"""Logs what is still loading while the providers of a server start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from vixio.core.clock import now
from vixio.core.tasks import cancel_and_wait
from vixio.providers.pool.loader import ProviderLoader

_log = logging.getLogger(__name__)

PAUSES: Final = (3.0, 5.0, 10.0, 20.0)
"""Seconds before each line; the last one repeats. What loads faster needs no line."""


@asynccontextmanager
async def progress_logged(
    loaders: Callable[[], Sequence[ProviderLoader[Any]]],
) -> AsyncIterator[None]:
    """Log from time to time, while the body runs, which of ``loaders`` are still loading."""
    task = asyncio.create_task(_log_progress(loaders))
    try:
        yield
    finally:
        await cancel_and_wait(task)


def shown(loader: ProviderLoader[Any]) -> str:
    """Return kind and name of a provider, as in ``asr funasr``."""
    return f"{loader.choice.kind} {loader.name}"


async def _log_progress(loaders: Callable[[], Sequence[ProviderLoader[Any]]]) -> None:
    began = now()
    lines = 0
    while True:
        await asyncio.sleep(PAUSES[min(lines, len(PAUSES) - 1)])
        lines += 1
        known = loaders()
        loading = [each for each in known if not each.ready and not each.failed]
        if not loading:
            continue
        fields = {
            "waiting_for": ", ".join(map(shown, loading)),
            "seconds": round(now() - began),
            "ready": f"{sum(each.ready and not each.failed for each in known)} of {len(known)}",
        }
        _log.info("providers are still loading", extra=fields)
