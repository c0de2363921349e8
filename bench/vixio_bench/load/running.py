"""The processes of one step: server or nodes, generators, stand-ins, bus; and how far they are."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

from vixio_bench.load.bus import Bus, running_bus
from vixio_bench.load.carriers import SECTION
from vixio_bench.load.control import BenchError, Hub, Json
from vixio_bench.load.figures import Result
from vixio_bench.load.mixes import Mix
from vixio_bench.load.options import Options, Say
from vixio_bench.load.probe import MANY_NOTES
from vixio_bench.load.processes import Child, start_generators, start_services, usable_cores
from vixio_bench.load.providers import Delays
from vixio_bench.load.server import ServerPlan
from vixio_bench.load.server_group import ServerGroup, start_nodes, start_server_group
from vixio_bench.load.services.choice import EDGE, SCRIPTED, sections

CHURN_NOTES = 1_000
"""Turns whose figures the server keeps in a long run, so that they are not what grows."""
_LOOK_S = 1.0


class Running:
    """What runs while one mix with one number of devices is measured.

    ``hold``: seconds of the measurement. ``series``: what the server said of itself so far.
    """

    def __init__(self, hub: Hub, mix: Mix, devices: int, options: Options, say: Say) -> None:
        self._hub = hub
        self.mix = mix
        self.devices = devices
        self.options = options
        self.say = say
        self.hold = options.hold if options.hold is not None else mix.hold
        self.series: list[Json] = []
        self.idle_cpu = 0.0
        """Cores that the idle server takes."""
        self.generators: list[Child] = []
        self.services: Child | None = None
        self.bus: Bus | None = None
        self._server: ServerGroup | None = None
        self._stack = AsyncExitStack()
        self.result = Result(
            mix.name,
            devices,
            server_cores=len(options.cores.server),
            usable_cores=len(usable_cores()),
            processes=options.processes,
            generators=min(options.generators, devices),
            providers=options.providers,
            carrier=options.carrier,
            nodes=options.nodes,
        )

    async def start(self) -> None:
        """Start all of it. Raises BenchError."""
        cores = self.options.cores.generators
        self.generators = await start_generators(self._hub, self.result.generators, cores)
        if self.options.providers != SCRIPTED:
            self.services = await start_services(
                self._hub, self.options.providers, self.mix.tool, cores
            )
        if self.options.nodes:
            self.bus = await self._stack.enter_async_context(running_bus())
        await self.start_server()

    async def end(self) -> None:
        """End all of it."""
        for child in self.generators:
            await child.end()
        if self._server is not None:
            await self._server.end()
        if self.services is not None:
            await self.services.end()
        await self._stack.aclose()

    @property
    def server(self) -> ServerGroup:
        """The running server."""
        if self._server is None:
            raise BenchError("there is no server")
        return self._server

    async def start_server(self, port: int = 0, http_port: int = 0) -> None:
        """Start the server, or the nodes."""
        options, mix = self.options, self.mix
        delays = options.delays
        services = self.services.peer.said if self.services is not None else {}
        settings = options.settings
        if options.carrier == "mqtt":
            settings = {**settings, "mqtt": {**SECTION, **settings.get("mqtt", {})}}
        plan = ServerPlan(
            self._hub.line("server"),
            port=port,
            http_port=http_port,
            cores=options.cores.server,
            default_set=mix.default_set,
            max_connections=max(1_000, 2 * self.devices),
            delays=Delays(delays.asr, delays.agent, delays.tts),
            tool=mix.tool,
            services=sections(options.providers, services),
            edge=services.get(EDGE, ""),
            settings=settings,
            tune=options.tune,
            processes=options.processes,
            max_notes=CHURN_NOTES if mix.behaviour == "churn" else MANY_NOTES,
        )
        if self.bus is not None:
            self._server = await start_nodes(self._hub, plan, self.bus, options.nodes)
        else:
            self._server = await start_server_group(self._hub, plan)

    async def of_generators(self, do: str, timeout: float = 60.0, **arguments: Any) -> list[Json]:  # noqa: ANN401 - JSON values
        """Have all generators do something; return their answers. Raises BenchError."""
        return list(
            await asyncio.gather(
                *(child.peer.ask(do, timeout, **arguments) for child in self.generators)
            )
        )

    async def wait(self, seconds: float, what: str) -> None:
        """Let time pass and show how it goes."""
        began = time.monotonic()
        last: Json | None = None
        while (left := began + seconds - time.monotonic()) > 0:
            await asyncio.sleep(min(_LOOK_S, left))
            point, *devices = await asyncio.gather(
                self.server.ask("now"),
                *(child.peer.ask("now") for child in self.generators),
            )
            self.series.append(point)
            cpu = 0.0
            if last is not None and point["at"] > last["at"]:
                cpu = (point["cpu"] - last["cpu"]) / (point["at"] - last["at"])
            last = point
            connected = sum(device["connected"] for device in devices)
            worst = max(device["lag_p99"] for device in devices)
            self.say(
                f"{self.mix.name}: {what} {time.monotonic() - began:.0f}/{seconds:.0f} s · "
                f"{connected}/{self.devices} devices · {point['turns']} turns · server "
                f"{cpu:.0%} of a core, {point['rss_kb'] // 1024} MB, loop late "
                f"{point['lag_p99']:.0f} ms · generators {worst:.0f} ms"
            )


def packets(devices: list[Json]) -> int:
    """Return the packets of the microphones, of all generators."""
    return sum(device["packets"] for device in devices)
