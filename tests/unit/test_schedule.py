"""The schedule of the tests: what runs side by side, what a failure does, if a file is missed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.schedule.jobs import Idle, Job, Outcome, run
from tests.schedule.report import closing_line, counts, failures, table, verdict
from tests.schedule.targets import ELSEWHERE, TARGETS, Group, Target, files, parts
from tests.schedule.times import Time, of_files, read, write
from tests.support.waiting import until

BY_HAND = ("tests/ray/",)
"""Not part of ``make test-all``: `make test-ray`."""


def shell(name: str, script: str = "true", **options: Any) -> Job:  # noqa: ANN401 - of Job
    return Job(name, ["sh", "-c", script], **options)


def meet(folder: Path, own: str, other: str) -> str:
    """Return a script that passes only while the other one runs, too."""
    wait = f"while [ ! -e {folder / other} ]; do sleep 0.01; done"
    return f"touch {folder / own}; timeout 60 sh -c '{wait}'"


def overlap(one: Outcome, two: Outcome) -> bool:
    return one.began_s < two.began_s + two.wall_s and two.began_s < one.began_s + one.wall_s


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its parent to ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except FileNotFoundError:
        return False


def by_name(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    return {each.job.name: each for each in outcomes}


def test_what_the_cores_bear_runs_at_the_same_time(tmp_path: Path) -> None:
    jobs = [
        shell("a", meet(tmp_path, "one", "two"), load=0.4),
        shell("b", meet(tmp_path, "two", "one"), load=0.6),
    ]
    assert [each.status for each in run(jobs, tmp_path, cores=1)] == [0, 0]


def test_what_they_do_not_bear_waits(tmp_path: Path) -> None:
    jobs = [shell(name, "sleep 0.05", load=0.6) for name in "abc"]
    found = run(jobs, tmp_path, cores=1)
    assert [each.job.name for each in found] == ["a", "b", "c"]
    assert not overlap(found[0], found[1])
    assert not overlap(found[1], found[2])


def test_where_a_core_idles_one_more_starts(tmp_path: Path) -> None:
    jobs = [
        shell("a", meet(tmp_path, "one", "two")),
        shell("b", meet(tmp_path, "two", "one")),
    ]
    found = run(jobs, tmp_path, cores=1, idle=lambda: 0.5, look_s=0.05)
    assert [each.status for each in found] == [0, 0]


def test_where_none_idles_the_next_waits(tmp_path: Path) -> None:
    looks = iter(range(1_000_000))

    def busy() -> float:
        (tmp_path / f"look-{next(looks)}").touch()
        return 0.1

    wait = f"while [ ! -e {tmp_path / 'look-3'} ]; do sleep 0.01; done"
    jobs = [shell("a", f"timeout 60 sh -c '{wait}'"), shell("b")]
    found = run(jobs, tmp_path, cores=1, idle=busy, look_s=0.02)
    assert [each.status for each in found] == [0, 0]
    assert not overlap(*found)


def test_one_that_must_be_alone_or_comes_later_is_not_started_for_an_idle_core(
    tmp_path: Path,
) -> None:
    looks = iter(range(1_000_000))

    def idle() -> float:
        (tmp_path / f"look-{next(looks)}").touch()
        return 2.0

    wait = f"while [ ! -e {tmp_path / 'look-5'} ]; do sleep 0.01; done"
    jobs = [
        shell("a", f"timeout 60 sh -c '{wait}'", lane="pip"),
        shell("alone", alone=True),
        shell("lane", lane="pip"),
        shell("after", after=frozenset({"a"})),
    ]
    first, *rest = run(jobs, tmp_path, cores=1, idle=idle, look_s=0.02)
    assert first.job.name == "a"
    assert not any(overlap(first, each) for each in rest)


def test_idle_cores_are_those_since_the_last_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    monkeypatch.setattr(Idle, "SOURCE", stat)
    stat.write_text("cpu  90 0 10 100 20 0 0\ncpu0 90 0 10 100 20 0 0\n", encoding="ascii")
    idle = Idle()
    stat.write_text("cpu  95 0 10 500 30 0 0\ncpu0 95 0 10 500 30 0 0\n", encoding="ascii")
    assert idle() > 0
    stat.write_text("cpu  990 0 10 500 30 0 0\n", encoding="ascii")
    assert idle() == 0


def test_one_that_needs_more_than_there_is_runs_by_itself(tmp_path: Path) -> None:
    found = run([shell("a", load=3), shell("b", load=3)], tmp_path, cores=2)
    assert [each.status for each in found] == [0, 0]
    assert not overlap(*found)


def test_one_that_must_be_alone_is(tmp_path: Path) -> None:
    jobs = [
        shell("a", "sleep 0.05", load=0.1),
        shell("alone", "sleep 0.05", load=0.1, alone=True),
        shell("b", "sleep 0.05", load=0.1),
    ]
    found = by_name(run(jobs, tmp_path, cores=2))
    assert not overlap(found["alone"], found["a"])
    assert not overlap(found["alone"], found["b"])


def test_a_lane_is_for_one(tmp_path: Path) -> None:
    jobs = [shell(name, "sleep 0.05", load=0.1, lane="pip") for name in "ab"]
    assert not overlap(*run(jobs, tmp_path, cores=2))


def test_a_smaller_one_goes_first_where_a_larger_one_has_no_room(tmp_path: Path) -> None:
    jobs = [
        shell("a", meet(tmp_path, "one", "two"), load=0.5),
        shell("large", load=1),
        shell("small", meet(tmp_path, "two", "one"), load=0.5),
    ]
    assert [each.status for each in run(jobs, tmp_path, cores=1)] == [0, 0, 0]


def test_what_comes_after_a_failure_does_not_run(tmp_path: Path) -> None:
    jobs = [
        shell("good"),
        shell("bad", "exit 3"),
        shell("after good", after=frozenset({"good"})),
        shell("after bad", after=frozenset({"good", "bad"})),
    ]
    found = by_name(run(jobs, tmp_path, cores=2))
    assert {name: each.status for name, each in found.items()} == {
        "good": 0,
        "bad": 3,
        "after good": 0,
    }
    good = found["good"]
    assert found["after good"].began_s >= good.began_s + good.wall_s


def test_an_order_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="comes after"):
        run([shell("a", after=frozenset({"b"})), shell("b")], tmp_path, cores=1)
    with pytest.raises(ValueError, match="two jobs"):
        run([shell("a"), shell("a")], tmp_path, cores=1)


async def test_one_without_end_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"sleep 600 & echo $! >{pid}; wait"
    (found,) = run([shell("a", script, limit_s=0.5)], tmp_path, cores=1)
    assert found.status != 0
    assert "its limit" in found.output.read_text(encoding="utf-8")
    number = int(pid.read_text(encoding="utf-8"))
    await until(lambda: not alive(number), what="the end of what it has started")


def test_processor_time_includes_that_of_children(tmp_path: Path) -> None:
    spin = "import time\nwhile time.process_time() < 0.1: pass"
    (found,) = run([shell("a", f'{sys.executable} -c "{spin}"; true')], tmp_path, cores=1)
    assert found.cpu_s >= 0.1


def test_every_test_file_is_run_by_some_target_and_once_by_each() -> None:
    there = {
        str(path)
        for folder in ("tests", "firmware-test-client/tests")
        for path in Path(folder).rglob("test_*.py")
        if not str(path).startswith(BY_HAND)
    }
    run_by_some: set[str] = set()
    for target in TARGETS:
        given = Counter(path for part in parts(target, {}) for path in part.paths)
        assert set(given.values()) == {1}, target.name
        missing = {path.partition("::")[0] for path in given} - there
        assert not missing, target.name
        if target.of_all:
            run_by_some |= set(given)
    assert there - run_by_some == set()


def test_what_make_test_leaves_out_is_another_targets() -> None:
    (test,) = (target for target in TARGETS if target.name == "test")
    own = {path for group in test.groups for path in files(group)}
    assert len(own) > 500
    for pattern in ELSEWHERE:
        assert not [path for path in own if path.startswith(pattern.rstrip("*"))]


def test_the_longest_files_are_dealt_first() -> None:
    group = Group("all", ["tests/unit/core"], parts=3)
    found = files(group)
    record = {("t", path): Time(1.0, 0.5) for path in found}
    record["t", found[0]] = Time(1_000.0, 500.0)
    first = [part for part in parts(Target("t", [group]), record) if found[0] in part.paths]
    assert [part.paths for part in first] == [(found[0],)]
    assert first[0].load == pytest.approx(0.5, abs=0.01)


def test_times_are_kept(tmp_path: Path) -> None:
    times = {("test", "tests/a.py"): Time(1.5, 0.5), ("load", "tests/b.py"): Time(2.0, 3.0)}
    path = tmp_path / "times.tsv"
    write(times, path)
    assert read(path) == times


def test_a_file_takes_what_its_tests_take() -> None:
    lines = [
        json.dumps({"file": file, "test": f"{file}::x", "wall": 1.0, "cpu": 0.25})
        for file in ("a.py", "a.py", "b.py")
    ]
    assert of_files(lines) == {"a.py": Time(2.0, 0.5), "b.py": Time(1.0, 0.25)}


def outcome(folder: Path, name: str, text: str, status: int = 0, cpu_s: float = 1.0) -> Outcome:
    path = folder / name.replace("/", "-")
    path.write_text(text, encoding="utf-8")
    return Outcome(shell(name), status, 0.0, 1.0, cpu_s, path)


def test_the_verdict_counts_all_tests_and_names_what_failed(tmp_path: Path) -> None:
    found = [
        outcome(tmp_path, "test/unit", "....\n12 passed, 3 skipped in 1.00s\n"),
        outcome(
            tmp_path,
            "test/talk",
            "F.\n>       assert 0\nE       assert 0\n\ntests/a.py:7: AssertionError\n"
            "FAILED tests/a.py::b - assert 0\n=== 1 failed, 4 passed in 2.00s (0:00:02) ===\n",
            status=1,
        ),
        outcome(tmp_path, "test/types", "Success: no issues found\n"),
        outcome(tmp_path, "setup/models", "pip: no such version\n", status=2),
    ]
    assert closing_line(found[1].output) == "1 failed, 4 passed in 2.00s (0:00:02)"
    assert counts(found) == {"passed": 16, "skipped": 3, "failed": 1}
    assert verdict(found, 9.0) == "===== 1 failed, 16 passed, 3 skipped in 9.00s ====="
    assert failures(found) == [
        "E       assert 0",
        "tests/a.py:7: AssertionError",
        "FAILED tests/a.py::b - assert 0",
        "FAILED setup/models: status 2",
    ]


def test_a_target_beyond_its_budget_is_named(tmp_path: Path) -> None:
    target = Target("a", [], cpu_s=10)
    within = [outcome(tmp_path, "a/all", "1 passed in 1.00s\n", cpu_s=9.0)]
    assert not [line for line in table([target], within, 1.0, 2) if "warning" in line]
    beyond = [outcome(tmp_path, "a/all", "1 passed in 1.00s\n", cpu_s=10_000.0)]
    (warning,) = (line for line in table([target], beyond, 1.0, 2) if "warning" in line)
    assert warning.startswith("warning: a took 10000 s of processor; its budget is 10 s")
