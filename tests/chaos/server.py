"""Main of the server's process: the real application, its faults and its clock at our command."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.chaos import plan as faults
from tests.chaos.hearing import FaultyVAD, NumberASR
from tests.chaos.rpc import serve_commands
from tests.chaos.seeing import NumberVision
from tests.chaos.speaking import NumberBackend, TonedTTS, broken_tools
from tests.support.held_up import waited_ns
from vixio.core.host import SessionHost
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolOptions
from vixio.core.transport import DeviceConnection, TransportBase
from vixio.providers.pocketsphinx.provider import PocketSphinxASRProvider
from vixio.server import Providers, Server
from vixio.settings import Settings
from vixio.telemetry.logging.setup import configure_logging, flush_logs

TIMEOUT = 2.0
"""Seconds that a provider or a tool gets; the product's own bounds are ten times as long."""

LAG_STEP_S = 0.01

_SELF = Path("/proc/thread-self")

COMMANDS = (
    "loaded",
    "order",
    "met",
    "gauges",
    "lag",
    "counters",
    "step_clock",
    "limit_files",
    "start_words",
    "kill_workers",
    "stop_words",
    "flush",
)


class ChaosServer:
    """The application, and what the chaos run asks of it. Each command is a method below."""

    def __init__(self, settings: Settings) -> None:
        self.plan = faults.Plan()
        self.vad = FaultyVAD(settings.vad.create(), self.plan)
        self.asr = NumberASR(self.plan)
        self.agent = NumberBackend(self.plan)
        self.tts = TonedTTS(settings.tts.create(), self.plan)
        # As a deployment would set it: a local tool's own default is 30 s.
        options = ToolOptions(timeout=TIMEOUT)
        broken = [
            func_to_tool_definition(tool, options=options) for tool in broken_tools(self.plan)
        ]
        providers = Providers(self.vad, self.asr, self.agent, self.tts, NumberVision(self.plan))
        self.app = Server(settings, providers, [FixedSource("broken", broken)])
        self.plan.counters = self.app.counters
        _tell_tasks_their_device(self.app.host)
        self.lag_ms = 0.0
        self.words: PocketSphinxASRProvider | None = None
        self._clock = time.time
        self._files = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def watch_lag(self) -> None:
        """Note how late the event loop runs, for ever, less what the machine held it up."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        held = waited_ns(_SELF)
        while True:
            due = max(due + LAG_STEP_S, loop.time())
            await asyncio.sleep(due - loop.time())
            lag = (loop.time() - due) * 1000
            before, held = held, waited_ns(_SELF)
            if before is not None and held is not None:  # None: unknown without a descriptor
                lag -= (held - before) / 1e6
            self.lag_ms = max(self.lag_ms, lag)

    async def loaded(self) -> None:
        """Return when all providers and tool sources are loaded: what they hold is no growth."""
        await self.app.loaded()
        await self.app.tools.ready(60.0)

    async def order(self, device: str, stage: str, kind: str, times: int = 1) -> None:
        """Order a fault."""
        self.plan.order(device, stage, kind, times)

    async def met(self) -> dict[str, int]:
        """Return how often each fault was met."""
        return dict(self.plan.met)

    async def gauges(self, *, collect: bool = False) -> dict[str, int]:
        """Return everything that could grow."""
        if collect:
            gc.collect()
        host, transport = self.app.host, self.app.transport
        clients = [
            connection._tools.client
            for connection in transport._connections.values()
            if connection._tools is not None
        ]
        silero: Any = self.vad.inner
        return {
            "tasks": len(asyncio.all_tasks()),
            "threads": threading.active_count(),
            "descriptors": len(_descriptors()),
            "rss_kb": _rss_kb(),
            "sessions": len(host.sessions),
            "tool_sets": len(host._toolsets),
            "connections": len(transport._connections),
            "identities": self.app.admission.admitted,
            "vad_streams": self.vad.open_streams,
            "vad_slots": silero._slots - len(silero._free),
            "vad_windows": len(silero._pending),
            "asr_streams": self.asr.open_streams,
            "agents": self.agent.open_agents,
            "agents_running": self.agent.running,
            "voices_running": self.tts.running,
            "stubborn": self.plan.stubborn,
            "tool_calls": sum(len(client._pending) for client in clients),
        }

    async def lag(self) -> float:
        """Return the event loop's worst lateness (ms) since the last call."""
        worst, self.lag_ms = self.lag_ms, 0.0
        return round(worst, 1)

    async def counters(self) -> dict[str, int]:
        """Return the server's counters."""
        return self.app.counters.snapshot()

    async def step_clock(self, seconds: float) -> None:
        """Set the wall clock forward or back, for every reader of time.time."""
        clock = self._clock
        time.time = (lambda: clock() + seconds) if seconds else clock

    async def start_words(self) -> None:
        """Start real speech recognition, in processes of its own."""
        self.words = PocketSphinxASRProvider()
        await self.words.start()
        self.asr.words = self.words

    async def kill_workers(self) -> int:
        """Kill the recogniser's processes; return how many there were."""
        pids = [worker.pid for worker in self.words.workers] if self.words else []
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)

    async def stop_words(self) -> None:
        """Give the recogniser back."""
        self.asr.words = None
        if self.words is not None:
            await self.words.close()

    async def limit_files(self, spare: int) -> int:
        """Leave the process ``spare`` further descriptors; a negative number lifts the limit."""
        limit = self._files[0]
        if spare >= 0:
            # The limit is one of numbers, not of how many there are.
            limit = max(_descriptors()) + 1 + spare
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, self._files[1]))
        return limit

    async def flush(self) -> None:
        """Have everything logged so far written."""
        await asyncio.to_thread(flush_logs)

    async def run(self) -> None:
        """Serve until the run hangs up."""
        await self.app.start()
        lag = asyncio.create_task(self.watch_lag())
        try:
            await self.app.loaded()
            assert self.app.http is not None
            commands = {name: getattr(self, name) for name in COMMANDS}
            await serve_commands(
                commands, {"port": self.app.transport.port, "http_port": self.app.http.port}
            )
        finally:
            lag.cancel()
            await self.app.stop()


def _tell_tasks_their_device(host: SessionHost) -> None:
    """Let each task of a session know for whom it works, so that a fault meets one device."""
    handle = host.handle

    async def handle_known(transport: TransportBase, connection: DeviceConnection) -> None:
        faults.device.set(connection.device.id)
        await handle(transport, connection)

    host.handle = handle_known  # type: ignore[method-assign]  # the only hook before the pipeline


def _descriptors() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/fd").iterdir()]


def _rss_kb() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def main() -> None:
    """Run the process; its argument: settings as JSON."""
    options = json.loads(sys.argv[1])
    configure_logging("INFO")
    asyncio.run(ChaosServer(Settings.model_validate(options["settings"])).run())


if __name__ == "__main__":
    main()
