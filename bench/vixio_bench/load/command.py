"""The options of ``vixio bench load`` and the order of its steps."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from vixio.cluster.workers.choice import SERVER_MB, Machine, choose
from vixio.web.feed.feed import MAX_WATCHES
from vixio_bench.load import carriers, nodes, report
from vixio_bench.load.calibration import calibrate
from vixio_bench.load.conclusion import conclusion
from vixio_bench.load.control import BenchError, Hub
from vixio_bench.load.figures import Result
from vixio_bench.load.marks import SERIES, Verdict, all_reached, judge, part_of
from vixio_bench.load.mixes import MIXES, Mix
from vixio_bench.load.options import Options
from vixio_bench.load.plot import write_plot
from vixio_bench.load.processes import Cores, usable_cores
from vixio_bench.load.providers import Delays
from vixio_bench.load.registered import comparison, registry_of
from vixio_bench.load.runner import Step
from vixio_bench.load.server import TUNINGS, UVLOOP
from vixio_bench.load.services.choice import SCRIPTED, parse
from vixio_bench.load.watched import Watcher, make_watcher, watching


@dataclass(frozen=True, slots=True)
class Asked:
    """One step that was asked for."""

    mix: Mix
    devices: int
    ramp: float | None
    pinned: bool = False
    """On a core of its own whatever the others do."""
    processes: int = 1
    """Of the server, where the command line does not say."""
    providers: str = SCRIPTED
    """The same."""
    cores: int = 0
    """``devices`` is for so many cores of the reference."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Sections for this step alone."""
    watcher: Watcher | None = None
    """Reads the stream of events meanwhile."""
    nodes: int = 0
    """Of a cluster; 0: none."""
    kill: bool = False
    """One of them is killed half-way."""
    carrier: str = "websocket"


def _parser() -> argparse.ArgumentParser:
    mixes = "\n".join(f"  {mix.name:<8} {mix.about}" for mix in MIXES.values())
    parser = argparse.ArgumentParser(
        prog="vixio bench load",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Run the real server under many simulated devices, each in its own processes.",
        epilog=f"mixes:\n{mixes}\n\nMethod and figures: docs/performance.md",
    )
    add = parser.add_argument
    add("--mix", default="", metavar="NAME,…", help="what the devices do (default: talk)")
    add("--devices", default="", metavar="N,…", help="how many; several make a curve")
    add("--hold", type=float, metavar="S", help="seconds of measurement (default: the mix's)")
    add("--turns", type=int, default=0, metavar="N", help="and until N turns have ended")
    add("--ramp", type=float, metavar="S", help="seconds in which all connect")
    add("--generators", type=int, metavar="N", help="processes that play the devices")
    add("--pin", action="store_true", help="keep server and generators on cores of their own")
    add("--server-cores", type=int, default=1, metavar="N", help="with --pin: the server's cores")
    add(
        "--workers",
        default="1",
        metavar="N|auto",
        help="server processes on one port (Linux); auto: as many as vixio serve chooses",
    )
    add(
        "--providers",
        default=SCRIPTED,
        metavar="NAME,…",
        help="http: the real OpenAI-compatible ones, against stand-ins that answer at once; "
        "http,funasr-server: with a FunASR server as recogniser; http,edge: with Edge's voice; "
        "or both",
    )
    add("--asr-ms", type=float, default=0, metavar="MS", help="delay of the scripted ASR")
    add("--agent-ms", type=float, default=0, metavar="MS", help="delay of the scripted agent")
    add("--tts-ms", type=float, default=0, metavar="MS", help="delay of the scripted TTS")
    add(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="change a setting of the server, for example vad.gather_ms=20; may be repeated",
    )
    add(
        "--tune",
        default="",
        metavar="NAME,…",
        help=f"try a means on the server: uvloop, {', '.join(TUNINGS)}",
    )
    add(
        "--registered",
        type=int,
        default=0,
        metavar="N",
        help="compare: each step once more with a registry that knows N devices",
    )
    add(
        "--watched",
        type=int,
        nargs="?",
        const=1,
        default=0,
        metavar="N",
        help="compare: each step once more while N consoles read the stream of all events (1), "
        "and one asks the API",
    )
    add(
        "--nodes",
        type=int,
        default=0,
        metavar="N",
        help="compare: each step by one process, by one node of a cluster, and by N nodes that a "
        "NATS server joins (default mix: converse)",
    )
    add(
        "--kill",
        action="store_true",
        help="with --nodes: once more, and one of the N nodes is killed half-way",
    )
    add(
        "--carrier",
        choices=("websocket", "mqtt", "both"),
        default="websocket",
        help="mqtt: devices are connected over MQTT, with audio by UDP; both: each step once by "
        "each, compared",
    )
    add("--json", metavar="FILE", help="write all figures; -: to standard output")
    add("--plot", type=Path, metavar="FILE.svg", help="draw latency and CPU against devices")
    add(
        "--check",
        action="store_true",
        help="hold the figures against the marks; exit status 1 if one is missed or none measured. "
        "Without --mix: runs all that the marks need but churn, about 10 minutes",
    )
    return parser


def _steps(options: argparse.Namespace) -> list[Asked]:
    """Return what to run. Raises ValueError for what cannot be run."""
    if options.check and not options.mix:
        several = len(usable_cores()) > 1
        return [
            Asked(
                MIXES[step.mix],
                step.devices,
                step.ramp,
                step.pinned and several,
                _processes(str(step.processes), Cores()) if sys.platform == "linux" else 1,
                step.providers,
                step.cores,
            )
            for step in SERIES
        ]
    steps: list[Asked] = []
    for name in (options.mix or ("converse" if options.nodes else "talk")).split(","):
        if name not in MIXES:
            raise ValueError(f"there is no mix {name!r}; there are {', '.join(MIXES)}")
        mix = MIXES[name]
        numbers = [int(number) for number in options.devices.split(",") if number]
        if any(number < 1 for number in numbers) or (mix.slow and any(n < 4 for n in numbers)):
            raise ValueError(f"too few devices for the mix {name}")
        steps += [Asked(mix, number, options.ramp) for number in numbers or [mix.devices]]
    return steps


def _settings(changes: Sequence[str]) -> dict[str, Any]:
    """Read ``section.key=value``, the value as YAML has it. Raises ValueError."""
    sections: dict[str, Any] = {}
    for change in changes:
        path, equals, value = change.partition("=")
        *above, key = path.split(".")
        if not equals or not above:
            raise ValueError(f"--set: expected SECTION.KEY=VALUE, not {change!r}")
        place = sections
        for name in above:
            place = place.setdefault(name, {})
        place[key] = yaml.safe_load(value)
    return sections


def _processes(workers: str, cores: Cores) -> int:
    """Return the number of the server's processes. Raises ValueError."""
    if workers == "auto":
        machine = Machine.find()
        if cores.server:
            machine = replace(machine, cores=len(cores.server))
        return choose(machine, SERVER_MB).processes
    if not workers.isdecimal() or int(workers) < 1:
        raise ValueError(f"--workers: expected a number of at least 1, or auto, not {workers!r}")
    return int(workers)


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status: 1 if a mark is missed, 2 for a wrong request."""
    options = _parser().parse_args(list(argv))
    try:
        steps = _steps(options)
        providers = parse(options.providers)
        cores = Cores.split(options.pin, options.server_cores)
        settings = _settings(options.set)
        tune = tuple(name for name in options.tune.split(",") if name)
        if unknown := set(tune) - {UVLOOP, *TUNINGS}:
            raise ValueError(
                f"--tune: expected {UVLOOP}, {', '.join(TUNINGS)}, not {unknown.pop()!r}"
            )
        processes = _processes(options.workers, cores)
        if options.nodes:
            _alone(options, processes)
        if options.carrier == "both" and (options.registered or options.watched or options.nodes):
            raise ValueError("--carrier both: one comparison at a time")
        if not 0 <= options.watched <= MAX_WATCHES:
            raise ValueError(f"--watched: a server has {MAX_WATCHES} streams at most")
        nodes.check(options.nodes, kill=options.kill, mixes=[step.mix for step in steps])
        if options.plot is not None and options.plot.suffix != ".svg":
            raise ValueError("--plot writes SVG: name the file *.svg")
    except ValueError as error:
        sys.stderr.write(f"vixio bench load: {error}\n")
        return 2
    free = len(cores.generators) or max(1, len(usable_cores()) - 1)
    run = Options(
        cores,
        options.generators or free,
        options.hold,
        options.turns,
        delays=Delays(options.asr_ms / 1000, options.agent_ms / 1000, options.tts_ms / 1000),
        settings=settings,
        tune=tune,
        processes=processes,
        providers=providers,
    )
    with tempfile.TemporaryDirectory() as folder:
        watcher = None
        if options.registered or options.watched:
            data = {"data": registry_of(Path(folder), options.registered or 1)}
            if options.watched:
                watcher = asyncio.run(make_watcher(Path(folder), options.watched))
            steps = _twice(steps, {} if options.registered else data, data, watcher)
        ways = ("websocket", "mqtt") if options.carrier == "both" else (options.carrier,)
        steps = [replace(step, carrier=carrier) for step in steps for carrier in ways]
        if options.nodes:
            run = replace(run, idle=nodes.IDLE_S)
            steps = _by_nodes(steps, nodes.variants(options.nodes, kill=options.kill))
        try:
            results = asyncio.run(_run(steps, run))
        except BenchError as error:
            sys.stderr.write(f"\nvixio bench load: {error}\n")
            return 1
    found = judge(results, whole=not options.mix) if options.check else []
    found += carriers.judge(results) if options.check else []
    _tell(results, found, options, list(argv), watcher)
    return int(options.check and not all_reached(found))


def _twice(
    steps: Sequence[Asked],
    without: dict[str, Any],
    with_it: dict[str, Any],
    watcher: Watcher | None,
) -> list[Asked]:
    """Return each step twice, with different sections, the second one watched."""
    if watcher is not None:
        with_it = {**with_it, "server": {"http_port": watcher.port}}
    return [
        each
        for step in steps
        for each in (
            replace(step, settings=without),
            replace(step, settings=with_it, watcher=watcher),
        )
    ]


def _alone(options: argparse.Namespace, processes: int) -> None:
    """Raise ValueError for what --nodes cannot be combined with."""
    others = {
        "--check": options.check,
        "--registered": options.registered,
        "--watched": options.watched,
        "--workers": processes > 1,
    }
    for name, given in others.items():
        if given:
            raise ValueError(f"--nodes: not together with {name}")


def _by_nodes(steps: Sequence[Asked], ways: Sequence[nodes.Variant]) -> list[Asked]:
    """Return each step in all ``ways``."""
    return [
        replace(step, mix=nodes.listening_first(step.mix), nodes=way.nodes, kill=way.kill)
        for step in steps
        for way in ways
    ]


async def _run(steps: Sequence[Asked], options: Options) -> list[Result]:
    say = _Progress()
    async with Hub() as hub:
        results: list[Result] = []
        for step in steps:
            devices, its = step.devices, _for_step(options, step)
            if step.cores:
                cores = len(usable_cores())
                speed = await calibrate(cores)
                its = replace(its, speed=speed)
                devices = part_of(devices, step.cores, cores, speed.slowness * speed.shared)
            async with watching(step.watcher):
                results.append(await Step(hub, step.mix, devices, its, say, step.ramp).run())
    say.done()
    return results


def _for_step(options: Options, step: Asked) -> Options:
    options = replace(
        options,
        processes=max(options.processes, step.processes, step.nodes),
        nodes=step.nodes,
        kill=step.kill,
        carrier=step.carrier,
        providers=options.providers if options.providers != SCRIPTED else step.providers,
        settings={**options.settings, **step.settings},
    )
    if not step.pinned or options.cores.server:
        return options
    cores = Cores.split(pinned=True, server=1)
    return replace(options, cores=cores, generators=min(options.generators, len(cores.generators)))


def _tell(
    results: Sequence[Result],
    found: Sequence[Verdict],
    options: argparse.Namespace,
    argv: Sequence[str],
    watcher: Watcher | None = None,
) -> None:
    out = sys.stderr if options.json == "-" else sys.stdout
    about = report.machine()
    out.write(", ".join(f"{name} {value}" for name, value in about.items()) + "\n\n")
    out.write(report.table(results) + "\n")
    for line in report.warnings(results):
        out.write(f"! {line}\n")
    if found:
        out.write("\n" + report.verdicts(found) + "\n")
    out.write("\n" + conclusion(results, found) + "\n")
    if options.carrier != "websocket":
        out.write(carriers.said(results) + "\n")
    if options.registered or options.watched:
        what = ["the registry"] if options.registered else []
        what += [_readers(options.watched)] if watcher is not None else []
        out.write(comparison(results, f"with {' and '.join(what)}") + "\n")
    if options.nodes:
        ways = nodes.variants(options.nodes, kill=options.kill)
        out.write(nodes.said(results, ways) + "\n")
    if watcher is not None:
        out.write(f"{watcher.said()}\n")
    out.flush()
    if options.json:
        report.write_json(report.as_json(results, found, argv), options.json)
    if options.plot is not None:
        write_plot(results, options.plot, f"vixio bench load on {about['cpu']}")


def _readers(number: int) -> str:
    return "a reader of all events" if number == 1 else f"{number} readers of all events"


class _Progress:
    """One line on a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._count = 0

    def __call__(self, line: str) -> None:
        self._count += 1
        if self._terminal:
            sys.stderr.write(f"\r\033[K{line}")
        elif self._count % 10 == 1 or "connect" in line:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def done(self) -> None:
        """Leave the line empty for what follows."""
        if self._terminal:
            sys.stderr.write("\r\033[K")
