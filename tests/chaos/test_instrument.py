"""The instrument itself: what it measures by must be right, and it must notice harm."""

from __future__ import annotations

import numpy as np
import pytest

from firmware_test_client import DeviceTimeout
from tests.chaos import marks, tones
from tests.chaos.healthy import Felt, percentile
from tests.chaos.outcome import MAX_EXPLAINED, Outcome, explained
from tests.chaos.raw import TEXT, frame
from tests.chaos.run import Report, Row, _grown, _harm, _lateness, _log_problems
from tests.chaos.table import render
from tests.chaos.voice import Speaker
from vixio.audio.codec import OpusDecoder, OpusEncoder
from vixio.core.audio import AudioFormat


async def test_every_number_survives_opus_both_ways() -> None:
    for index in range(0, 16, 3):
        number, sound = await (await Speaker.create(index)).next()
        encoder, pcm = OpusEncoder(AudioFormat(16_000, 60), application="voip"), b""
        with OpusDecoder() as decoder:
            for packet in [*encoder.encode(sound.data, 16_000), *encoder.flush()]:
                pcm += decoder.decode(packet)
        assert marks.vote(pcm) == number
    assert marks.vote(bytes(64_000)) is None
    assert marks.vote(b"") is None


@pytest.mark.parametrize("number", [0, 1, 15, 16, 255, 511, 4_095])
def test_the_tones_of_an_answer_are_read_back(number: int) -> None:
    speech = np.random.default_rng(1).normal(0, 3_000, 24_000).astype(np.int16)
    tail = np.frombuffer(tones.tail(number, 24_000), "<i2")
    assert tones.read(np.concatenate([speech, tail, np.zeros(1_000, np.int16)]), 24_000) == number


def test_no_tones_are_no_number() -> None:
    assert tones.read(np.zeros(24_000, np.int16), 24_000) is None
    assert tones.read(np.zeros(0, np.int16), 24_000) is None


def test_a_masked_frame() -> None:
    assert frame(TEXT, b"ab") == b"\x81\x82\0\0\0\0ab"
    assert frame(TEXT, bytes(300))[:4] == b"\x81\xfe\x01\x2c"
    assert frame(TEXT, b"", length=2**62)[:2] == b"\x81\xff"


QUIET = Felt(turns=8, own_p95_ms=700.0)


@pytest.mark.parametrize(
    ("felt", "late"),
    [
        (Felt(turns=8, own_p95_ms=700.0), False),
        (Felt(turns=8, own_p95_ms=2_000.0), True),
        (Felt(turns=8, p95_ms=2_000.0, own_p95_ms=700.0, held_ms=1_300.0), False),
        (Felt(turns=8, own_frames=200, own_late=1), True),
        (Felt(turns=8, own_frames=2_000, own_late=1), False),
        (Felt(turns=8, frames=200, late=1, excused=1), False),
        (Felt(turns=8, frames=200, excused=8), True),
    ],
)
def test_lateness_is_noticed(felt: Felt, late: bool) -> None:
    assert bool(_lateness(felt, QUIET)) is late


@pytest.mark.parametrize(
    ("felt", "harmed"),
    [
        (Felt(turns=8, own_p95_ms=9_000.0, own_frames=200, own_late=50), False),
        (Felt(turns=8, crossed=1), True),
        (Felt(turns=8, lost=1, wrong=["nothing came"]), True),
        (Felt(turns=0), True),
    ],
)
def test_harm_is_noticed_at_any_speed(felt: Felt, harmed: bool) -> None:
    assert bool(_harm(felt)) is harmed


def test_growth_is_noticed() -> None:
    before = {"tasks": 20, "rss_kb": 100_000, "threads": 6}
    assert _grown(before, {"tasks": 20, "rss_kb": 110_000, "threads": 8}) == []
    assert len(_grown(before, {"tasks": 21, "rss_kb": 900_000, "threads": 60})) == 3


def test_errors_in_the_log_are_noticed() -> None:
    line = "2026-01-01 00:00:00.000 {} vixio.server  it happened"
    assert _log_problems([line.format("INFO    "), line.format("WARNING ")]) == []
    assert _log_problems([line.format("ERROR   ")])
    assert _log_problems(["Traceback (most recent call last):"])


def test_the_table_names_every_problem() -> None:
    row = Row("group", "an attack", Outcome(done=3), Felt(turns=2), 5.0, ["it hurt"])
    report = Report(QUIET, [row], ["tasks grew"])
    text = render(report)
    assert "an attack: it hurt" in text
    assert "tasks grew" in text
    assert text.endswith("FAILED")
    assert render(Report(QUIET, [Row("g", "n", Outcome(), Felt(), 0.0)])).endswith("PASSED")


def test_a_share_of_values() -> None:
    assert percentile([], 0.95) == 0.0
    assert percentile([3, 1, 2], 0.5) == 2


def test_a_device_s_timeout_is_a_problem_with_its_frames() -> None:
    lines = [
        "waited 60 s for a reply; last frames:",
        *(f"  -{n} s in text 9 B" for n in range(200)),
    ]
    problem = explained(DeviceTimeout("\n".join(lines)))
    assert problem.startswith(
        "DeviceTimeout: waited 60 s for a reply; last frames: | -0 s in text 9 B | -1 s in"
    )
    assert len(problem) == MAX_EXPLAINED
