"""The lines about what is still loading."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.unit.providers.pool.support import Choice, loader
from vixio.composition.server_providers import progress_logged
from vixio.core.errors import ProviderUnavailable
from vixio.testing import run_virtual


def test_what_loads_for_long_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        slow, quick = Choice("slow", slow=True), Choice("quick")
        broken = Choice("broken", errors=[ProviderUnavailable("broken", "no model")] * 9)
        loaders = [loader(slow), loader(quick), loader(broken)]
        async with progress_logged(lambda: loaders):
            for each in loaders:
                each.begin()
            await asyncio.sleep(20)
            slow.made[0].loads.set()
            await asyncio.sleep(100)
        await asyncio.sleep(100)
        for each in loaders:
            await each.close()

    with caplog.at_level(logging.INFO, "vixio.composition"):
        run_virtual(run())
    lines = [vars(each) for each in caplog.records if "still loading" in each.getMessage()]
    assert [(each["waiting_for"], each["seconds"], each["ready"]) for each in lines] == [
        ("tts slow", seconds, "1 of 3") for seconds in (3, 8, 18)
    ]


def test_what_loads_at_once_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        its = loader(Choice("quick"))
        async with progress_logged(lambda: [its]):
            its.begin()
            await asyncio.sleep(100)
        await its.close()

    with caplog.at_level(logging.INFO, "vixio.composition"):
        run_virtual(run())
    assert not [each for each in caplog.records if "still loading" in each.getMessage()]
