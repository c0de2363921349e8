"""Where processor time goes: the samples are sorted by what stands on the stack."""

from __future__ import annotations

import shutil
import signal
import sys
import time

import numpy as np
import pytest

from vixio.audio.loudness import Leveller, VoiceLevel
from vixio_bench.load.calibration import calibrate
from vixio_bench.load.control import BenchError
from vixio_bench.load.work import OTHER, OTHER_THREADS, WorkSampler


def level(seconds: float) -> None:
    """Level a voice for so much processor time."""
    noise = np.random.default_rng(1).normal(0, 3_000, 24_000).astype("<i2").tobytes()
    end = time.process_time() + seconds
    while time.process_time() < end:
        Leveller(-20.0, VoiceLevel(), 24_000).feed(noise)


def count(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1_000))


@pytest.mark.slow
def test_the_part_that_works_gets_the_time() -> None:
    before = signal.getsignal(signal.SIGPROF)
    sampler = WorkSampler()
    sampler.start()
    try:
        count(0.2)
        sampler.reset()
        level(0.6)
        count(0.3)
        parts = sampler.seconds({"MainThread": 9.0, "vixio-encode_1": 2.0, "asyncio_0": 1.0})
    finally:
        sampler.stop()
        signal.signal(signal.SIGPROF, before)
    assert parts["encoding"] == 2.0
    assert parts[OTHER_THREADS] == 1.0
    assert sum(parts.values()) == 12.0 or abs(sum(parts.values()) - 12.0) < 1e-6
    # A third of the loop's time was spent elsewhere; samples are few, so only the order is sure.
    assert parts["levelling"] > parts[OTHER] > 0.0


@pytest.mark.slow
async def test_a_core_has_a_speed() -> None:
    found = await calibrate(2)
    assert found.slowness > 0.0
    assert found.shared >= 1.0


async def test_a_measurement_that_fails_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(BenchError, match=r"status 1$"):
        await calibrate(2)
