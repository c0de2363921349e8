"""The last lines say what the figures mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vixio_bench.load.conclusion import conclusion
from vixio_bench.load.figures import Result
from vixio_bench.load.marks import Verdict


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            Result("talk", 50, connected=50, counts={"turns": 90, "frames": 4_000}),
            "talk, 50 devices: all turns on time",
        ),
        (Result("listen", 1, connected=1), "listen, 1 device: all served"),
        (
            Result(
                "talk",
                200,
                connected=190,
                counts={"turns": 90, "late_turns": 3, "lost": 1, "frames": 9, "underruns": 2},
            ),
            (
                "talk, 200 devices: too many for this server: 10 not connected at the end; of 90 "
                "turns 1 without an answer, 3 late; 2 of 9 frames of speech late or lost"
            ),
        ),
        (
            Result("talk", 9, connected=1, generator_limits=["busy"]),
            "talk, 9 devices: no verdict, the simulated devices had too few cores",
        ),
    ],
)
def test_a_step(result: Result, words: str) -> None:
    assert conclusion([result], []) == words


def test_marks() -> None:
    step = Result("talk", 2, connected=2, counts={"turns": 1})
    marks = [Verdict("a", "1", "1", ok=True), Verdict("b", "1", "-", ok=None)]
    assert conclusion([step], marks).splitlines()[-1] == "all 1 marks reached, 1 not measured"
    marks.append(Verdict("c", "1", "2", ok=False))
    assert conclusion([step], marks).splitlines()[-1] == "1 of 2 marks missed, 1 not measured"


def test_with_nothing_measured_nothing_is_reached() -> None:
    marks = [Verdict("a", "1", "not measured", ok=None)] * 20
    assert conclusion([], marks).splitlines() == ["no mark reached: none was measured"]


def test_wider_limits_are_said() -> None:
    step = Result("talk", 2, connected=2, counts={"turns": 1}, slowness=1.5, shared=2.0)
    marks = [Verdict("a", "1", "1", ok=True)]
    said = conclusion([step], marks).splitlines()
    assert said[-1].startswith("limits that are times were up to x3.00 as wide")
    assert len(conclusion([replace(step, slowness=1.0, shared=1.0)], marks).splitlines()) == 2
