"""TEN VAD with its real library: the contract of detectors, and its native memory."""

from __future__ import annotations

import ctypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.models.needs import needs
from vixio.core.errors import ProviderUnavailable
from vixio.providers.ten_vad.library import WINDOW_BYTES, load_library
from vixio.providers.ten_vad.provider import TenModel, TenVADProvider
from vixio.providers.vad import VADProvider
from vixio.testing.contract import VADContract

pytestmark = needs("ten", "ten_vad")


@pytest.fixture(autouse=True, scope="module")
def library() -> ctypes.CDLL:
    """The native library. Skips where libc++ or a library for this machine is missing."""
    try:
        return load_library()
    except ProviderUnavailable as missing:
        pytest.skip(str(missing))  # TEN publishes its library for few machines


class TestTenVAD(VADContract):
    @asynccontextmanager
    async def create(self) -> AsyncIterator[VADProvider]:
        yield TenVADProvider()


@pytest.fixture
def model(library: ctypes.CDLL) -> TenModel:
    return TenModel(library)


def test_native_detectors_live_from_forget_to_release(model: TenModel) -> None:
    for slot in range(5):
        model.forget(slot)
    model.forget(2)
    assert model.detectors == 5
    model.release(3)
    model.release(3)
    assert model.detectors == 4
    assert len(model.run([0, 4], [bytes(WINDOW_BYTES)] * 2)) == 2
    model.close()
    assert model.detectors == 0


async def test_a_closed_stream_gives_its_native_detector_back(model: TenModel) -> None:
    class Watched(TenVADProvider):
        def load(self) -> TenModel:
            return model

    provider = Watched()
    await provider.start()
    try:
        streams = [provider.open() for _ in range(4)]
        for stream in streams:
            await stream.process(bytes(WINDOW_BYTES))
        assert model.detectors == 4
        streams[0].close()
        streams[2].close()
        # The worker takes both releases before a later window.
        await streams[1].process(bytes(WINDOW_BYTES))
        assert model.detectors == 2
        streams[1].reset()
        await streams[1].process(bytes(WINDOW_BYTES))
        assert model.detectors == 2
    finally:
        await provider.close()
    assert model.detectors == 0
