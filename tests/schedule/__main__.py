"""``python -m tests.schedule TARGET…``: runs the targets; with pytest's arguments behind ``--``,
one target as a single run of pytest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp

from tests.schedule import report, times
from tests.schedule.jobs import Idle, Job, run
from tests.schedule.targets import TARGETS, Part, Target, files, parts
from tests.support import warm

VENV = Path(sys.prefix)
SETUP = "setup"
SETUP_LOAD = 0.7
OVERLAP = 0.5
"""Cores beyond those that there are: a part that computes waits now and then, too."""
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")


def environment(target: Target | None = None, record: Path | None = None) -> dict[str, str]:
    """Return the environment of a job."""
    found = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    # What pytest rewrites is kept for the next process that imports it.
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    if record is not None:
        found[times.VARIABLE] = str(record)
    if target is None:
        return found
    folders = [str(VENV.resolve() / each) for each in target.packages]
    if folders:
        found["PYTHONPATH"] = os.pathsep.join(folders)
        programs = [f"{each}/bin" for each in folders]
        found["PATH"] = os.pathsep.join([*programs, found["PATH"]])
    for name, value in target.environment.items():
        found[name] = value.format(venv=VENV.resolve())
    return found


def pytest_command(*words: str) -> list[str]:
    """Return the command of one process of pytest."""
    return [sys.executable, "-m", "pytest", *words]


def part_job(target: Target, part: Part, folder: Path) -> Job:
    """Return the job of one part."""
    words = ["-p", "no:cacheprovider", "-p", times.__name__, "--quiet", *part.group.options]
    return Job(
        part.name,
        pytest_command(*words, *part.paths),
        environment(target, folder / f"{part.name.replace('/', '-')}.times"),
        load=part.load,
        after=frozenset(f"{SETUP}/{need}" for need in target.needs),
        alone=part.group.alone,
        warm=True,
    )


def command_jobs(target: Target) -> Iterator[Job]:
    """Return the jobs of a target that are not pytest's."""
    for name, words in target.commands.items():
        command = [word.format(bin=VENV / "bin") for word in words]
        yield Job(f"{target.name}/{name}", command, environment(target))


def setup_jobs(targets: Sequence[Target], length: dict[str, float]) -> list[Job]:
    """Return the jobs that set up, first what most waits for."""
    needs: dict[str, float] = {}
    for target in targets:
        for need in target.needs:
            needs[need] = max(needs.get(need, 0.0), length[target.name])
    return [
        Job(
            f"{SETUP}/{need}",
            ["make", "--no-print-directory", f"setup-for-{need}", f"VENV={VENV}"],
            environment(),
            load=SETUP_LOAD,
            lane=SETUP,
        )
        for need in sorted(needs, key=lambda need: -needs[need])
    ]


def all_jobs(targets: Sequence[Target], folder: Path) -> list[Job]:
    """Return the jobs of all targets: what is long or waits first, what must be alone last."""
    record = times.read()
    cut = [(target, part) for target in targets for part in parts(target, record)]
    cut.sort(key=lambda each: (each[1].group.alone, each[1].time.cpu - 2 * each[1].time.wall))
    length = {target.name: 0.0 for target in targets}
    for target, part in cut:
        length[target.name] += part.time.wall
    jobs = setup_jobs(targets, length)
    jobs += [job for target in targets for job in command_jobs(target)]
    return jobs + [part_job(target, part, folder) for target, part in cut]


def schedule(targets: Sequence[Target], *, cores: float | None, record: bool) -> int:
    """Run the targets; return the exit status.

    ``cores``: how many jobs' worth of work goes on at a time; None: what this machine bears.
    """
    folder = Path(mkdtemp(prefix="vixio-tests-"))
    began = time.monotonic()
    # Once, and not in each process.
    subprocess.run(
        [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "-j",
            "0",
            "vixio",
            "firmware-test-client",
            "bench",
            "tests",
        ],
        check=False,
    )
    with warm.share(folder / "warm"):
        outcomes = run(
            all_jobs(targets, folder),
            folder,
            cores=(os.cpu_count() or 1) + OVERLAP if cores is None else cores,
            idle=Idle() if not record and Idle.SOURCE.exists() else None,
            started=report.started,
            ended=report.ended,
        )
    wall_s = time.monotonic() - began
    took: dict[tuple[str, str], times.Time] = defaultdict(lambda: times.NOTHING)
    for target in targets:
        for path in folder.glob(f"{target.name}-*.times"):
            of_part = times.of_files(path.read_text(encoding="utf-8").splitlines())
            for file, each in of_part.items():  # a file may be in two parts
                took[target.name, file] += each
    failed = [each for each in outcomes if each.status != 0]
    report.say()
    report.say(
        "\n".join(report.slowest({f"{file} ({name})": t for (name, file), t in took.items()}))
    )
    report.say()
    report.say("\n".join(report.table(targets, outcomes, wall_s, os.cpu_count() or 1)))
    report.say()
    for line in report.failures(outcomes):
        report.say(line)
    report.say(report.verdict(outcomes, wall_s))
    if record and not failed:
        known = {key: each for key, each in times.read().items() if Path(key[1]).exists()}
        times.write({**known, **took})
    shutil.rmtree(folder)
    return failed[0].status if failed else 0


def plain(target: Target, words: Sequence[str]) -> int:
    """Run a target as one process of pytest, with arguments of its user; return the exit status."""
    for need in target.needs:
        subprocess.run(
            ["make", "--no-print-directory", f"setup-for-{need}", f"VENV={VENV}"], check=True
        )
    for job in command_jobs(target):
        status = subprocess.run(job.command, env=dict(job.environment), check=False).returncode
        if status:
            return status
    paths = [] if target.commands else [path for group in target.groups for path in files(group)]
    options = [word for group in target.groups for word in group.options]
    command = pytest_command(*options, *paths, *words)
    return subprocess.run(command, env=environment(target), check=False).returncode


def main() -> int:
    """Read the command line, and run."""
    known = {target.name: target for target in TARGETS}
    parser = argparse.ArgumentParser(prog="python -m tests.schedule", description=__doc__)
    parser.add_argument("targets", nargs="+", choices=["all", *known])
    parser.add_argument(
        "--cores",
        type=float,
        help="how many jobs' worth of work goes on at a time (default: what this machine bears)",
    )
    parser.add_argument(
        "--record", action="store_true", help=f"keep the times in {times.RECORD.name}"
    )
    words = sys.argv[1:]
    passed_on = words[words.index("--") + 1 :] if "--" in words else []
    options = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    of_all = [name for name, target in known.items() if target.of_all]
    names = of_all if "all" in options.targets else options.targets
    # Whatever ends this ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if passed_on:
        return plain(known[names[0]], passed_on)
    return schedule([known[name] for name in names], cores=options.cores, record=options.record)


if __name__ == "__main__":
    sys.exit(main())
