"""Marks are held against the step that tells, reached or missed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from vixio_bench.load.figures import NONE, Growth, Result
from vixio_bench.load.marks import MARKS, SERIES, Verdict, all_reached, judge, part_of
from vixio_bench.load.mixes import MIXES
from vixio_bench.load.services.choice import HTTP
from vixio_bench.load.usage import Spread


def spread(p50: float, p95: float, p99: float) -> Spread:
    return Spread(100, p50, p95, p99, p99)


FLAT = {name: Growth(1, 1, 50) for name in ("rss_kb", "tasks", "threads", "descriptors")}
QUICK = {"others, all quick": spread(5, 10, 12), "others, some slow": spread(5, 10, 12)}
NO_CHILDREN = {"children_rss_kb": 0}
ANSWERED = {"first_device": 1.0, "first_answer": 0.9}
HTTP_SOLO = Result("solo", 1, server_cores=1, providers=HTTP, share=spread(11, 20, 30))
HTTP_50 = Result("converse", 50, server_cores=1, providers=HTTP, share=spread(20, 55, 90))
GOOD = {
    "listening devices on": Result(
        "listen", 200, server_cores=1, decision_lag=spread(8, 13, 20), server_cpu=0.5
    ),
    "CPU of a listening": Result("listen", 200, cpu_per_device=0.0026),
    "memory of a listening": Result("listen", 200, memory_per_device=108),
    "single listening": Result("listen", 1, server_cores=1, cpu_per_device=0.006),
    "turn, one device": Result("solo", 1, share=spread(3, 8, 12)),
    "50 devices in conversation": Result("talk", 50, share=spread(8, 12, 15)),
    "one core, one device": HTTP_SOLO,
    "one core, 50 all": HTTP_50,
    "one core, 100 all": replace(HTTP_50, devices=100, share=spread(40, 140, 190)),
    "CPU of a turn over HTTP": replace(HTTP_50, turn_cpu_ms=14.0),
    "speaking for 60 s": Result("speak", 200, usable_cores=4, hold=60, counts={"frames": 200_000}),
    "ASR of 300 ms": Result("slow", 100, groups=QUICK),
    "50 connecting at once": Result(
        "storm", 50, hello=spread(40, 60, 70), seconds={"asked_ramp": 0.0}
    ),
    "1000 connecting": Result(
        "storm",
        1_000,
        usable_cores=4,
        hello=replace(spread(40, 60, 70), count=1_000),
        seconds={"asked_ramp": 5.0},
        server_counters={"ramp.refused": 0},
    ),
    "resident memory": Result(
        "start", 1, rss=150_000, counts={"children_rss_kb": 20_000}, seconds=ANSWERED
    ),
    "first device greeted": Result(
        "start", 1, rss=1, counts={"children_rss_kb": 0}, seconds=ANSWERED | {"first_device": 1.4}
    ),
    "as many processes": Result(
        "talk", 1_000, processes=4, usable_cores=4, share=spread(20, 80, 90)
    ),
    "default set: start → first answer": Result(
        "start", 1, rss=1, counts=NO_CHILDREN, seconds=ANSWERED
    ),
    "over HTTP: start → first answer": Result(
        "start",
        1,
        providers=HTTP,
        rss=1,
        counts=NO_CHILDREN,
        seconds=ANSWERED | {"first_answer": 1.9},
    ),
    "nothing grows": Result("churn", 20, hold=1_200, growth=FLAT),
}
BAD = {
    "as many processes": replace(GOOD["as many processes"], share=spread(20, 101, 190)),
    "default set: start → first answer": Result(
        "start", 1, rss=1, counts=NO_CHILDREN, seconds=ANSWERED | {"first_answer": 1.1}
    ),
    "over HTTP: start → first answer": Result(
        "start",
        1,
        providers=HTTP,
        rss=1,
        counts=NO_CHILDREN,
        seconds=ANSWERED | {"first_answer": 2.1},
    ),
    "single listening": replace(GOOD["single listening"], cpu_per_device=0.009),
    "one core, one device": replace(HTTP_SOLO, share=spread(13, 14, 15)),
    "one core, 50 all": replace(HTTP_50, counts={"turns": 100, "late_turns": 1}),
    "one core, 100 all": replace(HTTP_50, devices=100, share=spread(40, 151, 190)),
    "CPU of a turn over HTTP": replace(HTTP_50, turn_cpu_ms=15.5),
    "listening devices on": replace(GOOD["listening devices on"], decision_lag=spread(8, 130, 200)),
    "CPU of a listening": Result("listen", 200, cpu_per_device=0.0041),
    "memory of a listening": Result("listen", 200, memory_per_device=280),
    "turn, one device": Result("solo", 1, share=spread(3, 8, 31)),
    "50 devices in conversation": Result("talk", 50, share=spread(8, 41, 50)),
    "speaking for 60 s": Result(
        "speak", 200, usable_cores=4, hold=60, counts={"frames": 9, "underruns": 1}
    ),
    "ASR of 300 ms": Result("slow", 100, groups=QUICK | {"others, some slow": spread(9, 30, 40)}),
    "50 connecting at once": replace(GOOD["50 connecting at once"], hello=spread(101, 200, 300)),
    "1000 connecting": replace(GOOD["1000 connecting"], server_counters={"ramp.refused": 1}),
    "resident memory": replace(GOOD["resident memory"], rss=201 * 1024),
    "first device greeted": replace(
        GOOD["first device greeted"], seconds=ANSWERED | {"first_device": 1.6}
    ),
    "nothing grows": replace(GOOD["nothing grows"], growth=FLAT | {"tasks": Growth(40, 3, 90)}),
}


def verdict(about: str, *results: Result) -> Verdict:
    for result in results:
        result.connected = result.connected or result.devices
    found = [verdict for verdict in judge(results) if about in verdict.mark]
    assert found, about
    return found[0]


def test_every_mark_has_its_examples() -> None:
    assert len(GOOD) == len(BAD) == len(MARKS)


@pytest.mark.parametrize("about", GOOD)
def test_reached_missed_and_unknown(about: str) -> None:
    assert verdict(about, GOOD[about]).ok is True
    assert verdict(about, BAD[about]).ok is False
    assert verdict(about, Result("idle", 10)).ok is None


UNMEASURED: dict[str, Any] = {
    "decision_lag": NONE,
    "cpu_per_device": 0.0,
    "memory_per_device": 0.0,
    "share": NONE,
    "hello": NONE,
    "turn_cpu_ms": 0.0,
    "rss": 0,
    "counts": {},
    "groups": {},
    "growth": {},
}
"""What a step has that measured nothing."""


@pytest.mark.parametrize("about", GOOD)
def test_a_step_that_gave_no_figure_misses_the_mark(about: str) -> None:
    ramp = {name: value for name, value in GOOD[about].seconds.items() if name == "asked_ramp"}
    nothing = replace(GOOD[about], seconds=ramp, **UNMEASURED)
    found = verdict(about, nothing)
    assert found.ok is False
    assert "no figure" in found.found


def test_with_nothing_measured_nothing_is_reached() -> None:
    assert not all_reached(judge([]))
    assert all(found.ok is None for found in judge([]))
    assert all_reached(judge([GOOD["turn, one device"]]))
    assert not all_reached(judge([GOOD["turn, one device"], BAD["nothing grows"]]))


def test_in_the_whole_series_all_marks_but_the_long_run_are_asked_for() -> None:
    found = judge([GOOD["turn, one device"]], whole=True)
    assert not all_reached(found)
    unknown = [each.mark for each in found if each.ok is None]
    assert len(unknown) == 1
    assert "nothing grows" in unknown[0]
    assert [each.ok for each in found].count(True) == 1


def test_most_of_the_repeats_decide() -> None:
    about = "50 devices in conversation"
    good, bad = GOOD[about], BAD[about]
    assert verdict(about, good, bad).ok is False
    assert verdict(about, bad, good, bad).ok is False
    found = verdict(about, good, bad, good)
    assert found.ok is True
    assert found.found.endswith("; 2 of 3 repeats reach it")


def test_a_larger_step_does_not_hide_one_that_misses() -> None:
    about = "50 devices in conversation"
    larger = Result("talk", 200, share=spread(8, 12, 15))
    assert verdict(about, BAD[about], larger).ok is False


def test_an_uneven_run_may_not_grow_more() -> None:
    about = "nothing grows"
    uneven = FLAT | {"rss_kb": Growth(5 * 1024, 20 * 1024, 150_000)}
    assert verdict(about, replace(GOOD[about], growth=uneven)).ok is False


def test_of_several_sizes_one_that_reaches_it_is_enough() -> None:
    better = Result("talk", 1_000, usable_cores=4, share=spread(20, 60, 90))
    worse = Result("talk", 2_000, usable_cores=4, share=spread(200, 600, 900))
    found = verdict("as many processes", worse, better)
    assert (found.ok, found.found[:3]) == (True, "100")


def test_a_larger_step_can_reach_a_mark_but_not_miss_it() -> None:
    about = "50 devices in conversation"
    assert verdict(about, Result("talk", 200, share=spread(8, 12, 15))).ok is True
    assert verdict(about, Result("talk", 200, share=spread(30, 120, 140))).ok is None


def test_devices_that_were_refused_do_not_count() -> None:
    refused = replace(GOOD["as many processes"], connected=999)
    assert verdict("as many processes", refused).ok is None


def test_the_mark_of_one_core_asks_for_one_core() -> None:
    unpinned = replace(GOOD["listening devices on"], server_cores=0)
    assert verdict("listening devices on", unpinned).ok is None


def test_a_slow_machine_has_more_time_and_a_fast_one_no_less() -> None:
    about, missed = "50 devices in conversation", BAD["50 devices in conversation"]
    assert verdict(about, replace(missed, slowness=1.9)).ok is True
    assert verdict(about, replace(missed, slowness=0.5)).ok is False
    assert verdict(about, replace(GOOD[about], slowness=0.5)).ok is True


def test_a_shared_core_has_more_time_and_its_work_is_not_dearer() -> None:
    about, missed = "50 devices in conversation", BAD["50 devices in conversation"]
    assert verdict(about, replace(missed, shared=1.9)).ok is True
    assert "shared x1.90" in verdict(about, replace(missed, shared=1.9)).found
    about = "single listening"
    assert verdict(about, replace(BAD[about], shared=8.0)).ok is False
    assert verdict(about, replace(BAD[about], slowness=8.0)).ok is True


def test_a_slow_core_has_to_listen_to_its_part_and_says_so() -> None:
    about = "listening devices on"
    part = replace(GOOD[about], devices=80, connected=80, usable_cores=2, slowness=2.0, shared=1.25)
    found = verdict(about, part)
    assert found.ok is True
    assert "80 devices, core x2.00, shared x1.25" in found.found
    assert verdict(about, replace(part, devices=79, connected=79)).ok is None


def test_real_providers_do_not_answer_for_scripted_ones() -> None:
    about = "turn, one device"
    assert verdict(about, replace(GOOD[about], providers=HTTP)).ok is None


def test_a_bad_turn_or_a_tired_generator_is_a_miss() -> None:
    crossed = Result("talk", 3, counts={"turns": 10, "crossed": 1})
    assert verdict("turns lost", crossed).ok is False
    assert verdict("turns lost", replace(crossed, counts={"turns": 10})).ok is True
    tired = Result("talk", 3, generator_limits=["a generator used 99% of its core"])
    assert verdict("generators kept up", tired).ok is False


@pytest.mark.parametrize(
    ("usable", "slower", "devices"),
    [(4, 1.0, 1_000), (8, 0.5, 1_000), (2, 1.0, 500), (2, 2.5, 200)],
)
def test_fewer_or_slower_cores_have_to_serve_their_part(
    usable: int, slower: float, devices: int
) -> None:
    assert part_of(1_000, 4, usable, slower) == devices
    served = Result(
        "talk",
        devices,
        connected=devices,
        usable_cores=usable,
        slowness=slower,
        share=spread(20, 90 * max(1.0, slower), 200 * slower),
    )
    assert verdict("as many processes", served).ok is True
    fewer = replace(served, devices=devices - 1, connected=devices - 1)
    assert verdict("as many processes", fewer).ok is None
    late = replace(served, share=spread(20, 110 * max(1.0, slower), 200 * slower))
    assert verdict("as many processes", late).ok is False
    lost = replace(served, counts={"turns": 9, "lost": 1})
    assert verdict("as many processes", lost).ok is False


def test_the_series_covers_all_marks_but_the_long_run() -> None:
    for mark in MARKS:
        told = any(
            mark.mix == step.mix
            and mark.devices <= step.devices <= mark.most
            and (not mark.one_core or step.pinned)
            and mark.providers == step.providers
            and (
                mark.ramp is None
                or (step.ramp is not None and mark.ramp[0] <= step.ramp <= mark.ramp[1])
            )
            for step in SERIES
        )
        assert told or mark.mix == "churn", mark.about
    assert all(step.mix in MIXES for step in SERIES)
