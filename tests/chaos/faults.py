"""Faults that every kind of provider can have."""

from __future__ import annotations

import asyncio
from typing import Final

from tests.chaos.plan import Plan
from vixio.core.errors import ProviderError

FOREVER: Final = 3_600.0
STUBBORN_S: Final = 3.0
"""How long a call goes on after it was cancelled."""


class Defect(Exception):
    """What no interface mentions: a mistake in a provider's own code."""


async def meet(kind: str, plan: Plan) -> None:
    """Raise or wait as ``kind`` says; returns for kinds that bend the answer instead."""
    if kind == "raise":
        raise ProviderError("chaos", "out of order")
    if kind == "crash":
        raise Defect("a provider's own mistake")
    if kind == "hang":
        await asyncio.sleep(FOREVER)
    if kind == "stubborn":
        await stubborn(plan)


async def stubborn(plan: Plan) -> None:
    """Wait to be cancelled, ignore it for a while, and return as if nothing had been."""
    try:
        await asyncio.sleep(FOREVER)
    except asyncio.CancelledError:
        plan.stubborn += 1
        try:
            await asyncio.sleep(STUBBORN_S)
        finally:
            plan.stubborn -= 1
