"""Main of the server's process: the real application, with providers that take no time."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vixio.core.cores import share_cores
from vixio.core.garbage import collect_rarely, freeze_memory
from vixio.core.tasks import cancel_and_wait
from vixio_bench.load.control import Line, attend
from vixio_bench.load.providers import CannedTTS, Delays, EchoBackend, MarkerASR
from vixio_bench.load.services.edge import redirect
from vixio_bench.load.usage import look, pin

if TYPE_CHECKING:
    from vixio.cluster.context import ClusterContext
    from vixio.settings import Settings
    from vixio.settings.provider import ProviderSection

_Section = TypeVar("_Section", bound="ProviderSection")

UVLOOP: Final = "uvloop"


TUNINGS: Final[Mapping[str, Callable[[], None]]] = {
    "gc-unfrozen": gc.unfreeze,
    "gc-off": gc.disable,
    "gc-rare": lambda: gc.set_threshold(50_000, 50, 50),
    "switch-1ms": lambda: sys.setswitchinterval(0.001),
    "switch-20ms": lambda: sys.setswitchinterval(0.02),
}
"""Means that ``--tune`` tries, applied when the server runs."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """What the process is to be. ``default_set``: the product's own providers, unwatched.

    ``port`` 0: any. ``tool``: name of the device's tool that is called in every turn.
    """

    line: Line
    port: int = 0
    http_port: int = 0
    cores: tuple[int, ...] = ()
    default_set: bool = False
    max_connections: int = 5_000
    delays: Delays = field(default_factory=Delays)
    tool: str = ""
    services: dict[str, Any] = field(default_factory=dict)
    """Sections of real providers, with the addresses of their stand-ins; empty: scripted ones."""
    edge: str = ""
    """Address of the stand-in for Edge's voices, for which there is no setting; empty: there is
    none."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Sections of the settings file that differ from the defaults."""
    tune: tuple[str, ...] = ()
    """Names of :data:`TUNINGS`, or ``uvloop``."""
    max_notes: int = 1_000_000
    """Of turns and lags: few where memory is what is measured."""
    processes: int = 1
    """How many share the port, this one among them."""
    link: int = -1
    """Descriptor of the line to the others, where there are any."""

    def to_json(self) -> str:
        """Return the plan as the argument of the process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ServerPlan:
        """Read :meth:`to_json`'s text."""
        body = json.loads(text)
        body["line"] = Line(**body["line"])
        body["delays"] = Delays(**body["delays"])
        body["cores"] = tuple(body["cores"])
        body["tune"] = tuple(body["tune"])
        return cls(**body)


async def serve(plan: ServerPlan) -> None:
    """Run the server until the bench hangs up."""
    share_cores(plan.processes)  # before anything asks how many threads it may have
    from vixio.server import Providers, Server
    from vixio_bench.load.probe import Probe, TimedVAD

    if plan.edge:
        redirect(plan.edge)
    settings = _settings(plan)
    context, listening = await _context(plan)
    vad: TimedVAD | None = None
    if plan.default_set:
        app = Server(settings, context=context)
    else:
        vad = TimedVAD(settings.vad.create())
        providers = Providers(vad)
        if not plan.services:
            providers = Providers(
                vad,
                MarkerASR(plan.delays),
                EchoBackend(plan.delays, plan.tool),
                CannedTTS(plan.delays),
            )
        app = Server(settings, providers, context=context)
    await app.start()
    probe = Probe(app, vad, plan.delays, plan.max_notes)
    try:
        if not plan.default_set:
            await app.loaded()
            freeze_memory()
        for name in plan.tune:
            if name in TUNINGS:
                TUNINGS[name]()
        probe.start()
        http_port = app.http.port if app.http is not None else 0
        url = f"ws://127.0.0.1:{app.transport.port}/xiaozhi/v1/"
        if app.mqtt is not None:
            url = f"mqtt://127.0.0.1:{app.mqtt.port}"
        ports = {"port": app.transport.port, "http_port": http_port}
        said = {**ports, "url": url, "idle": asdict(look())}
        await attend(plan.line, probe.handlers(), said)
    finally:
        await probe.stop()
        await app.stop()
        await cancel_and_wait(listening)


async def _context(plan: ServerPlan) -> tuple[ClusterContext | None, asyncio.Task[None] | None]:
    """Return the part in a cluster, and the task that reads from the coordinator."""
    if plan.link < 0:
        return None, None
    from vixio.cluster.context import ClusterContext
    from vixio.cluster.workers.channel import Channel
    from vixio.cluster.workers.cluster import WorkerCluster

    line = socket.socket(fileno=plan.link)
    cluster = WorkerCluster(plan.line.index + 1, await Channel.open(line))
    return ClusterContext(cluster, share_ports=True), asyncio.create_task(cluster.run())


def _settings(plan: ServerPlan) -> Settings:
    """Return the product's settings on a port of this machine, with what the plan changes.

    With scripted providers they name no recogniser, agent or voice: Providers brings them.
    """
    from vixio.settings import Settings
    from vixio.settings.provider import AgentSection, ASRSection, TTSSection
    from vixio.settings.sections import Section

    def brought(section: type[_Section]) -> _Section:
        # Not validated, because that imports the provider, which then counts as the server's.
        return section.model_construct(name="bench", options=Section())

    server = dict(plan.settings.get("server", {}))
    # All devices come from one address here; every other limit holds as in the product.
    lifted = {"connections_per_address": 0, "connects_per_address": 0}
    server["limits"] = {**lifted, **server.get("limits", {})}
    where = {
        "host": "127.0.0.1",
        "port": plan.port,
        "http_port": plan.http_port,
        "max_connections": plan.max_connections,
    }
    server = {**where, **server}
    sections: dict[str, Any] = {
        "memory": {"store": "none"},
        "data": {"database": "none"},
        **plan.services,
        **plan.settings,
        # What is measured is the answer, which a filler would precede, and listening without end.
        "assistant": {"filler_after": 0, "idle_timeout": 0, **plan.settings.get("assistant", {})},
        # The server's share of a turn begins where the turn ends, and so has its answer to.
        "listening": {"think_ms": 0, **plan.settings.get("listening", {})},
        "server": server,
    }
    if not (plan.default_set or plan.services):
        sections["asr"] = brought(ASRSection)
        sections["agent"] = brought(AgentSection)
        sections["tts"] = brought(TTSSection)
    return Settings.model_validate(sections)


def main(argv: list[str]) -> None:
    """Run the process; the one argument is a :class:`ServerPlan` as JSON."""
    plan = ServerPlan.from_json(argv[0])
    pin(plan.cores)  # before any thread is started
    collect_rarely()
    from vixio.telemetry.logging.setup import configure_logging

    configure_logging("WARNING")
    factory = None
    if UVLOOP in plan.tune:
        factory = importlib.import_module(UVLOOP).new_event_loop
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(serve(plan))
    except KeyboardInterrupt:
        pass  # Ctrl-C reaches every process of the terminal; the bench says what there is to say


if __name__ == "__main__":
    main(sys.argv[1:])
