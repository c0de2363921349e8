"""TEN VAD keeps the contract of detectors, with its real library."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.models.needs import needs
from vixio.core.errors import ProviderUnavailable
from vixio.providers.ten_vad.library import load_library
from vixio.providers.ten_vad.provider import TenVADProvider
from vixio.providers.vad import VADProvider
from vixio.testing.contract import VADContract

pytestmark = needs("ten", "ten_vad")


class TestTenVAD(VADContract):
    @asynccontextmanager
    async def create(self) -> AsyncIterator[VADProvider]:
        try:
            load_library()
        except ProviderUnavailable as missing:  # libc++, or no library for this machine
            pytest.skip(str(missing))
        yield TenVADProvider()
