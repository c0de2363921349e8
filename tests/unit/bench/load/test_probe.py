"""What the bench sees of the server: backlog of the microphone, turns."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.metrics import TurnTimeline
from vixio.testing import ScriptedVAD, run_virtual, silence
from vixio_bench.load.probe import TimedVAD, _row


def lags(
    arrivals: list[float], *, work: float = 0.0, reset_before: int | None = None
) -> list[float]:
    """Lags noted for packets of 60 ms that arrive at these seconds."""

    async def listen() -> list[float]:
        vad = TimedVAD(ScriptedVAD(delay=work))
        stream = vad.open()
        clock = asyncio.get_running_loop().time
        for index, arrival in enumerate(arrivals):
            await asyncio.sleep(max(0.0, arrival - clock()))
            if index == reset_before:
                stream.reset()
            await stream.process(silence(0.06))
        stream.close()
        return [round(lag, 1) for lag in vad.lags]

    return run_virtual(listen())


def test_in_time_the_detector_alone_counts() -> None:
    found = lags([0.06 * n for n in range(1, 41)], work=0.01)
    assert len(found) == 10
    assert set(found) == {10.0}


def test_a_detector_too_slow_shows_as_growing_backlog() -> None:
    found = lags([0.06 * n for n in range(1, 41)], work=0.08)
    assert found == sorted(found)
    assert found[-1] > 800  # 20 ms more with each of 40 packets


def test_a_stall_shows_and_is_worked_off() -> None:
    arrivals = [0.06 * n for n in range(1, 21)] + [2.1] * 14 + [0.06 * n for n in range(35, 61)]
    found = lags(arrivals)
    assert max(found) > 500
    assert found[-1] < 5


def test_a_pause_with_a_reset_is_no_backlog() -> None:
    arrivals = [0.06 * n for n in range(1, 21)] + [10 + 0.06 * n for n in range(1, 21)]
    assert max(lags(arrivals, reset_before=20)) < 5
    assert max(lags(arrivals)) > 8_000


def test_a_turn_is_cut_into_its_stages() -> None:
    timeline = TurnTimeline(1, outcome="answered")
    for name, at in (("voice_end", 0.5), ("turn_end", 1.0), ("transcript", 1.3),
                     ("first_token", 1.31), ("first_sentence", 1.32), ("first_audio", 1.325),
                     ("first_frame", 1.33)):  # fmt: skip
        timeline.mark(name, at)
    row = _row("02:00", timeline)
    assert row["stages"] == [300, 10, 10, 5, 5]
    assert row["share"] == 330


def test_the_wait_for_the_device_is_no_share_of_the_server() -> None:
    timeline = TurnTimeline(1, outcome="answered", held=0.16)
    for name, at in (("turn_end", 1.0), ("first_audio", 1.01), ("speech_start", 1.011),
                     ("first_frame", 1.172)):  # fmt: skip
        timeline.mark(name, at)
    row = _row("02:00", timeline)
    assert row["share"] == pytest.approx(12)
    assert row["stages"][-1] == pytest.approx(2)
    assert row["held"] == 160


def test_a_stage_that_was_not_reached_is_none() -> None:
    timeline = TurnTimeline(1, outcome="failed:timeout")
    timeline.mark("turn_end", 1.0)
    timeline.mark("transcript", 1.5)
    assert _row("x", timeline)["stages"] == [500, None, None, None, None]
    assert _row("x", timeline)["share"] is None
