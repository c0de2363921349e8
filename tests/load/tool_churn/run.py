"""Starts the real server as a process of its own and lets tools change under it.

Those of devices, and those of services on a NATS server.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.request
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.e2e.processes import Running, running
from tests.load.tool_churn.device import ChangingDevice
from tests.load.tool_churn.model import ChoosingModel
from tests.load.tool_churn.notes import TOOLS, Notes, clock
from tests.load.tool_churn.offers import Offers
from tests.load.tool_churn.services import MAIN, PREFIX, Fleet
from tests.support.servers import free_ports
from vixio_bench.nats_server import nats_server

CONFIG = """\
server: {{host: 127.0.0.1, port: {port}, http_port: {http_port}}}
assistant: {{language: en, filler_after: 0}}  # on a busy machine any answer may take so long
agent: {{name: openai, base_url: "{model}", api_key: none, model: stand-in}}
data: {{folder: {data}}}
"""
BROKER = """\
tools: {{broker: {{url: "{url}", prefix: {prefix}, timeout: 40}}}}
"""


@dataclass(frozen=True)
class Services:
    """Services on a NATS server: ``count`` that change, and ``processes`` that are killed.

    ``ttl``: seconds for which one of the former is listed after it was killed.
    """

    count: int
    processes: int = 0
    ttl: float = 10.0


@dataclass(frozen=True)
class Look:
    """One look at the server's process."""

    at: float
    """Seconds since the devices began."""
    rss_kb: int
    threads: int
    descriptors: int


@dataclass
class Report:
    """What a run found."""

    devices: int
    seconds: float
    notes: Notes
    offers: Offers | None = None
    looks: list[Look] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    """Lines of the server's log that are worse than a warning, or a traceback."""

    def settled(self) -> list[Look]:
        """Return the looks of the run's second half: caches and histories are full by then."""
        return [look for look in self.looks if look.at >= self.seconds / 2]

    def growth_kb_per_minute(self) -> float:
        """Return the slope of the memory over the second half (least squares)."""
        looks = self.settled()
        if len(looks) < 3:
            return 0.0
        slope, _ = np.polyfit([look.at for look in looks], [look.rss_kb for look in looks], 1)
        return float(slope) * 60


async def run(
    directory: Path,
    *,
    devices: int,
    seconds: float,
    every: float = 1.0,
    think: float = 0.3,
    calls: int = 0,
    services: Services | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Report:
    """Let ``devices`` change all their tools each ``every`` seconds and talk, for ``seconds``.

    ``think``: the longest time (s) that the model takes for an answer. ``calls``: each device goes
    on until so many of its tools' calls were answered. ``services``: come and go beside them; each
    device goes on until it is offered exactly what is left. Raises ConfigError without nats-server.
    """
    notes = Notes()
    offers = Offers(notes)
    report = Report(devices, seconds, notes, offers if services else None)
    port, http_port = free_ports(2)
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ChoosingModel(notes, offers, think))
        text = CONFIG.format(
            port=port,
            http_port=http_port,
            model=model.base_url,
            data=directory / "data",
        )
        broker = ""
        if services:
            broker = await stack.enter_async_context(nats_server())
            text += BROKER.format(url=broker, prefix=PREFIX)
        config = directory / "vixio.yaml"
        config.write_text(text)
        serve = [sys.executable, "-c", MAIN, "serve", "--config", str(config)]
        here = {"PYTHONPATH": os.pathsep.join(sys.path)}
        server = await stack.enter_async_context(running(serve, directory, here))
        await _ready(server, http_port)
        if services:
            fleet = Fleet(
                broker,
                notes,
                offers,
                services=services.count,
                every=every,
                ttl=services.ttl,
                processes=services.processes,
                place=directory,
            )
            await stack.enter_async_context(fleet.living(seconds))
        url = f"ws://127.0.0.1:{port}/xiaozhi/v1/"
        began = clock()
        watching = asyncio.create_task(_watch(server.process.pid, began, report, progress))
        living = (
            ChangingDevice(number, url, notes, report.offers, every).live(began + seconds, calls)
            for number in range(1, devices + 1)
        )
        try:
            await asyncio.gather(*living)
        finally:
            watching.cancel()
            await asyncio.wait([watching])
        health = await asyncio.to_thread(_health, http_port)
        report.counters = health["counters"]
        await server.stop(signal.SIGTERM)
    report.errors = [
        line
        for line in server.err + server.out
        if any(word in line for word in ("Traceback", " ERROR ", " CRITICAL "))
    ]
    return report


def render(report: Report) -> str:
    """Return the report as text."""
    notes = report.notes
    lines = [
        f"{report.devices} devices for {report.seconds:.0f} s, each with {TOOLS} tools",
        *(f"  {count:8} {what}" for what, count in sorted(notes.counts.items())),
        f"  model sees the tools after their list, ms   {_spread(notes.seen_ms)}",
        f"  a turn, ms                                  {_spread(notes.turn_ms)}",
    ]
    if report.offers is not None:
        lines += [
            f"  model sees an announced list, ms            {_spread(report.offers.seen_ms)}",
            f"  offered after it had gone, ms               {_spread(report.offers.stale_ms)}",
        ]
    if report.looks:
        first, last = report.looks[0], report.looks[-1]
        lines += [
            f"  memory, MB             {first.rss_kb / 1024:.1f} → {last.rss_kb / 1024:.1f}",
            f"  in the second half     {report.growth_kb_per_minute():+.0f} KB a minute",
            f"  threads                {first.threads} → {last.threads}",
            f"  descriptors            {first.descriptors} → {last.descriptors}",
        ]
    lines += [f"  {count:8} {name}" for name, count in sorted(report.counters.items())]
    lines += [f"MISTAKE {mistake}" for mistake in notes.mistakes]
    lines += [f"LOG {line.strip()}" for line in report.errors[:20]]
    return "\n".join(lines)


def _spread(values: list[float]) -> str:
    if not values:
        return "none"
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return f"p50 {p50:.1f}  p95 {p95:.1f}  p99 {p99:.1f}  max {max(values):.1f}  (n {len(values)})"


async def _ready(server: Running, http_port: int) -> None:
    """Wait until every provider is loaded."""
    await server.line("ws://")
    async with asyncio.timeout(60):
        # Another process is waited for: its health page is asked, bounded.
        while (await asyncio.to_thread(_health, http_port))["status"] != "ok":  # noqa: ASYNC110
            await asyncio.sleep(0.1)


def _health(http_port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/healthz", timeout=60) as page:
        body = json.load(page)
    assert isinstance(body, dict)
    return body


async def _watch(pid: int, began: float, report: Report, progress: Callable[[str], None]) -> None:
    """Look at the server's process until cancelled."""
    step = max(1.0, report.seconds / 120)
    while True:
        await asyncio.sleep(step)
        look = await asyncio.to_thread(_look, pid, clock() - began)
        report.looks.append(look)
        counts = ", ".join(
            f"{report.notes.counts[what]} {what}" for what in ("turns", "changes", "mistakes")
        )
        progress(f"{look.at:6.0f} s  {counts}, {look.rss_kb / 1024:.1f} MB")


def _look(pid: int, at: float) -> Look:
    status = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Look(round(at, 1), int(fields["VmRSS"].split()[0]), int(fields["Threads"]), descriptors)
