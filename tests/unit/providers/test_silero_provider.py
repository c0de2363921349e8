"""Silero beyond the contract suite: slots, settings, errors."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import ValidationError

from vixio.cli.diagnostics.spoken import spoken
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.silero_vad import model as module
from vixio.providers.silero_vad.provider import SileroSettings, SileroVADProvider

WINDOW = bytes(1024)


def test_settings_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ValidationError):
        SileroSettings.model_validate({"treshold": 0.5})
    with pytest.raises(ValidationError):
        SileroSettings(max_batch=0)


def test_the_registry_knows_it() -> None:
    factory = registry.resolve("vad", "silero")
    assert factory.settings_model is SileroSettings
    assert isinstance(factory.create(SileroSettings()), SileroVADProvider)


def test_places_are_used_again() -> None:
    provider = SileroVADProvider()
    streams = [provider.open() for _ in range(5)]
    streams[3].close()
    streams[1].close()
    streams[1].close()
    assert [provider.take_slot() for _ in range(3)] == [1, 3, 5]


async def test_many_devices_come_and_go() -> None:
    provider = SileroVADProvider()
    await provider.start()
    try:
        for _ in range(3):
            streams = [provider.open() for _ in range(50)]  # more than the first arrays hold
            async with asyncio.timeout(60):
                heard = await asyncio.gather(*(each.process(WINDOW * 2) for each in streams))
            assert len({tuple(each) for each in heard}) <= 2  # equal up to the last bit
            for each in streams:
                each.close()
    finally:
        await provider.close()


@pytest.mark.slow
async def test_a_device_is_heard_alike_alone_and_in_a_crowd() -> None:
    provider = SileroVADProvider()
    await provider.start()
    try:
        pcm = await spoken("Please set the volume to thirty percent.")
        packets = [pcm[start : start + 1920] for start in range(0, len(pcm), 1920)]
        lone = provider.open()
        alone = [each for packet in packets for each in await lone.process(packet)]
        assert max(alone) > 0.5
        device, others = provider.open(), [provider.open() for _ in range(20)]
        heard: list[float] = []
        async with asyncio.timeout(60):
            for number, packet in enumerate(packets):
                crowd = others if number % 8 < 4 else []
                answers = await asyncio.gather(
                    *(each.process(packet) for each in crowd), device.process(packet)
                )
                heard += answers[-1]
        assert heard == pytest.approx(alone, abs=1e-4)
    finally:
        await provider.close()


async def test_a_missing_model_fails_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ProviderUnavailable("silero", "its model is not installed")

    monkeypatch.setattr(module, "find_model", missing)
    provider = SileroVADProvider()
    with pytest.raises(ProviderUnavailable):
        await provider.start()
    await provider.close()
    with pytest.raises(ProviderError):
        await provider.start()
    with pytest.raises(ProviderError):
        provider.open()
