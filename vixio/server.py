"""The composition root: settings → providers → sessions → servers. The only file that sees all.

Devices are accepted as soon as the ports are open; what is heavy loads behind. A device that comes
earlier gets its hello at once. Its audio waits in its socket for a short while: listening works in
audio time, so nothing of it is lost. If the loading takes longer, a turn fails with an apology.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from vixio import __version__
from vixio.cluster.context import ClusterContext
from vixio.cluster.health import merge_health
from vixio.composition.a2a import make_a2a
from vixio.composition.added_tools import AddedTools
from vixio.composition.api import make_api
from vixio.composition.choices import Providers
from vixio.composition.cluster import make_context
from vixio.composition.conversations import Conversations
from vixio.composition.device_services import DeviceServices
from vixio.composition.engine import EngineBuilder
from vixio.composition.info import about
from vixio.composition.languages import log_gaps
from vixio.composition.operations import Operations
from vixio.composition.ports import (
    admission_settings,
    broker_routes,
    make_access,
    make_mqtt,
    xiaozhi_settings,
)
from vixio.composition.registry import data_folder
from vixio.composition.reload import ReadSettings, Reloader, on_hangup, reloaded
from vixio.composition.run import ServerLog, StopRequest, run, stop_on_signals, warn_of_workers
from vixio.composition.server_providers import ServerProviders
from vixio.composition.shared import SharedServices, make_daily_turns, make_memory, make_vision
from vixio.composition.web import make_http
from vixio.core.cluster import COMMAND_S
from vixio.core.commands import Command, CommandResult
from vixio.core.device import DeviceProfile, ProfileResolver, normalise_device_id
from vixio.core.history_store import HistoryStore
from vixio.core.host import SessionHost
from vixio.core.session.commands import CustomHandler
from vixio.core.session.conversation import Conversation
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.events import EventBus
from vixio.core.session.settings import SharedParts
from vixio.core.tools.source import ToolSource
from vixio.core.transport import TransportBase
from vixio.core.turns.endpointing import EndpointingFactory
from vixio.core.turns.interruption import InterruptionFactory
from vixio.settings import Settings
from vixio.telemetry.logging.setup import configure_logging, flush_logs
from vixio.tools.from_settings import changed_sources, make_runtime
from vixio.tools.local import LocalTool, app_source
from vixio.transports.admission.admission import Admission
from vixio.transports.xiaozhi.transport import XiaozhiTransport
from vixio.transports.xiaozhi.websocket.carrier import WebSocketCarrier
from vixio.web.http.server import HttpServer
from vixio.web.http.upgrade import Upgrades

TransportFactory = Callable[[Admission], TransportBase]
"""Makes a transport that shares the server's limits."""

__all__ = ["Providers", "Server", "about", "run", "serve"]


class Server:
    """A configured server. ``start`` returns when devices can connect; ``stop`` leaves nothing.

    :meth:`run` blocks until a signal. In an event loop use ``async with``, which stops it at the
    end. It opens no port before :meth:`start`, so typed conversations (:meth:`conversation`) can be
    held without one.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        providers: Providers | None = None,
        tool_sources: Sequence[ToolSource] = (),
        *,
        tools: Sequence[LocalTool] = (),
        transports: Sequence[TransportFactory] = (),
        endpointing: EndpointingFactory | None = None,
        interruption: InterruptionFactory | None = None,
        context: ClusterContext | None = None,
    ) -> None:
        """Raises ConfigError, ProviderUnavailable; TypeError for a tool that cannot be described.

        ``settings``: the defaults if None. ``providers`` replaces those that the settings name.
        ``tools`` (functions, toolboxes, definitions; the source ``app``) and ``tool_sources`` are
        added to the tools of the settings. ``transports`` make further transports, beside the
        WebSocket of the settings. ``endpointing`` and ``interruption`` make the policies of each
        session; None: those of the section ``listening``. ``context`` (internal): its part in a
        cluster of processes; by default there is only this one.
        """
        settings = settings or Settings()
        self.settings = settings
        self.reloader: Reloader | None = None
        """Reads the settings again; None: a program gave them."""
        self._context = context or make_context(settings)
        self.counters = self._context.cluster.counters
        self._lines = ServerLog()
        self.providers = ServerProviders(settings, providers or Providers(), self.counters)
        cluster = self._context.cluster
        self._device_services = DeviceServices(
            settings,
            self.providers.defaults,
            self._context,
            self.counters,
            self._http_port,
        )
        self.registry = self._device_services.registry
        self.profiles = self._device_services.profiles
        self.reminders = self._device_services.reminders
        self.feed = self._device_services.feed
        self.create_engine = EngineBuilder(
            settings,
            self.providers,
            self.profiles,
            endpointing,
            self._device_services.keep_sound,
            self._device_services.moments,
        )
        self.memory = make_memory(settings, self.registry.link, self.providers.agent, self.counters)
        self.tools = make_runtime(
            settings,
            self.counters,
            facts=self.memory.facts if self.memory else None,
            more=[
                *self._device_services.sources,
                *([app_source(tools)] if tools else []),
                *tool_sources,
            ],
        )
        self.added_tools = AddedTools(
            lambda: self.settings, self.tools, self.registry, data_folder(settings)
        )
        self._device_services.on_changed = self.added_tools.look_again
        self._shared = SharedServices(self.tools, self.memory)
        self.admission = Admission(
            admission_settings(settings, self.registry),
            counters=self.counters,
            cluster=cluster,
        )
        self.vision = make_vision(
            settings, self.providers.vision, self.counters, self._context.secret
        )
        wire = xiaozhi_settings(
            settings, self.vision, self._http_port, share_port=self._context.share_ports
        )
        carrier = WebSocketCarrier(wire, self.admission)
        self.transport = XiaozhiTransport(wire, self.admission, carrier)
        self.mqtt = make_mqtt(settings, wire, self.admission, self._context.worker)
        own = (self.transport, self.mqtt)
        self.host = SessionHost(
            (*filter(None, own), *(make(self.admission) for make in transports)),
            create_engine=self.create_engine,
            profile_of=self.profiles,
            settings=settings.session_settings(),
            counters=self.counters,
            histories=HistoryStore(
                settings.assistant.max_devices_remembered,
                settings.assistant.history_turns,
                settings.assistant.history_tokens,
                self.memory,
            ),
            tool_host=self.tools,
            cluster=self._context.cluster,
            shared=SharedParts(
                interruption=interruption or settings.interruption(),
                daily_turns=make_daily_turns(
                    lambda: self.settings, self.registry.link, self._context.cluster, self.counters
                ),
            ),
        )
        self.access = make_access(self.tools, self.registry, self.admission, self.host)
        self._upgrades = Upgrades({wire.path: carrier.take_over, **self.access.paths})
        self._conversations = Conversations(
            settings,
            self.providers.pool,
            self.create_engine,
            self.tools,
            self.host,
            self.profiles,
            self._shared.start,
        )
        self.a2a = make_a2a(
            settings,
            self.host,
            self._conversations,
            self.admission,
            self._context.cluster,
            self.command,
            self._http_port,
        )
        self._operations = Operations(settings, self.host, self.providers, self.admission)
        self.readiness = self._operations.readiness
        self.readiness.add("database", self.registry.problem)
        self.readiness.add("cluster", cluster.problem)
        if self.mqtt is not None and settings.mqtt is not None and settings.mqtt.broker is not None:
            self.readiness.add("mqtt", self.mqtt.carrier.problem)
        self.readiness.add("memory", self._shared.memory_opening)
        apis = make_api(
            self, self._device_services, self._conversations, self._operations, self._context.secret
        )
        self._mounts = [*([self.a2a] if self.a2a else []), *apis]
        self._updates = self._device_services.attach(self.host, self._prepare, self.tools)
        self.http: HttpServer | None = None
        cluster.presence.publish(self.health)

    @property
    def sessions(self) -> SessionDirectory:
        """The sessions of this process: of which devices, and the commands to them."""
        return self.host.sessions

    @property
    def events(self) -> EventBus:
        """What happens in all sessions of this process."""
        return self.host.events

    def run(self) -> None:
        """Serve devices until SIGINT, or SIGTERM and a drain. Blocks; for a program's main thread.

        In this one process: ``server.workers`` applies to ``vixio serve``. Logs as the settings
        say, unless the program has configured logging itself. Raises ConfigError.
        """
        own_logging = not logging.getLogger().handlers
        if own_logging:
            configure_logging(self.settings.logging.level, json=self.settings.logging.as_json)
        warn_of_workers(self.settings)
        try:
            asyncio.run(_serve(self, "given by the program"))
        finally:
            if own_logging:
                flush_logs()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def conversation(self, key: str, profile: DeviceProfile | None = None) -> Conversation:
        """Open a typed conversation, without a device. The server need not be started.

        ``key`` takes the place of a device's id: history, facts and tool policy belong to it.
        ``profile`` None: that of the settings for such an id. One conversation per key at a time.
        Raises ProviderError if the agent cannot be used, ConfigError if the profile is invalid,
        VixioError if the key is in use.
        """
        conversation = await self._conversations.open(key, profile)
        self._shared.agent_ready()
        return conversation

    async def start(self) -> None:
        """Begin to load, and open the ports. Raises ConfigError when a port is taken."""
        await self._context.cluster.start()
        self.providers.begin()
        self._device_services.begin(self.host)
        try:
            await self.host.start()
            self.http = make_http(
                lambda: self.settings,
                self.transport.port,
                self.cluster_health if self._context.cluster.shared else self.health,
                self.admission,
                self._device_services.firmware.offers,
                [
                    *self._operations.routes(),
                    *self._device_services.firmware.routes(),
                    *(self.vision.routes(self._is_live) if self.vision else ()),
                    *(route for mount in self._mounts for route in mount.routes()),
                    *broker_routes(self.settings, self.mqtt),
                ],
                self._context,
                self._upgrades,
                (lambda: mqtt.port) if (mqtt := self.mqtt) else None,
            )
            await self.http.start()
            self.access.begin()
            if self.mqtt is not None:
                await self.mqtt.carrier.begin()
        except BaseException:
            await self.stop()
            raise
        self._lines.started(self.events, words=self.settings.logging.words)
        self._operations.begin(asyncio.create_task(self._load()))
        for mount in self._mounts:
            mount.begin()

    async def loaded(self) -> None:
        """Wait until the default profile's providers have started.

        Raises ProviderError when one of them cannot serve.
        """
        if (loading := self.readiness.loading) is not None:
            await asyncio.shield(loading)

    async def drain(self) -> None:
        """Refuse new devices, and let those that speak finish, within ``timeouts.drain`` seconds.

        For the end of a service: :meth:`stop` follows, and closes whoever is left.
        """
        await self._operations.drain(self.settings.timeouts.drain)

    async def stop(self) -> None:
        """Close devices, ports and providers, in this order. Idempotent."""
        with self._lines.stopping(self.admission.devices):
            await self._operations.close()
            for mount in self._mounts:
                await mount.close()
            await self._device_services.settle()
            await self._conversations.close()
            await self.access.close()
            await self.host.stop()
            await self._operations.ended()
            if self.http is not None:
                await self.http.stop()
            await self.added_tools.close()
            await self._shared.close()
            await self._device_services.close()
            await self._context.cluster.close()
            await self.providers.close()

    def update_profiles(self, resolver: ProfileResolver) -> None:
        """Serve devices by the profiles of ``resolver``; connected ones from their next turn on.

        Call it with the same resolver after its profiles have changed. A resolver that raises, or
        an invalid profile, is a line in the log: a connected device keeps its old profile, and one
        that connects is served by defaults (docs/api.md).
        """
        self._updates.change(lambda live: live.use_resolver(resolver))

    def reload(self, settings: Settings) -> None:
        """Apply other settings from the next turn of each device.

        Of all sections those in :data:`~vixio.composition.reload.RELOADED`.
        Raises ConfigError, ProviderUnavailable when a provider cannot be made; nothing has changed
        then.
        """
        merged = reloaded(self.settings, settings)
        gone, added = changed_sources(self.settings, merged, self.tools)
        self.providers.replace(merged)
        self.tools.exchange(gone, added)
        self.settings = self.create_engine.settings = merged
        self._updates.change(lambda live: live.use_settings(merged, self.providers.defaults))
        self._updates.spawn(self.providers.warm_up())

    def on_command(self, name: str, handler: CustomHandler) -> None:
        """Have ``handler`` carry out the custom commands of this name, in this process."""
        self.host.commands.register(name, handler)

    async def command(
        self, device_id: str, command: Command, *, timeout: float = COMMAND_S
    ) -> CommandResult:
        """Have a command carried out by the session of a device, in any process of the cluster.

        ``device_id`` in any spelling. The result comes within ``timeout`` seconds.
        """
        commands = self._context.cluster.commands
        return await commands.send(normalise_device_id(device_id), command, timeout=timeout)

    def health(self) -> dict[str, Any]:
        """Return what the health page shows."""
        return {
            "status": self.readiness.status,
            "version": __version__,
            "ports": [
                self.transport.port,
                self._http_port(),
                *(self.mqtt.ports if self.mqtt else ()),
            ],
            **self.providers.stats(),
            **self.host.stats(),
            **self.registry.stats(),
            **(self.a2a.stats() if self.a2a else {}),
            **self._context.cluster.stats(),
        }

    async def cluster_health(self) -> dict[str, Any]:
        """Return the health of all processes of the cluster together."""
        return merge_health(await self._context.cluster.presence.members())

    async def _load(self) -> None:
        self.admission.loading = True
        try:
            await self.providers.load(self._shared.start, self._shared.agent_ready)
        finally:
            self.admission.loading = False
            self._shared.agent_ready()

    async def _prepare(self, profile: DeviceProfile) -> None:
        await self.providers.prepare(self.profiles.defaults.over(profile))

    def _is_live(self, session_id: str, device_id: str) -> bool:
        """Whether a session runs; for a device of another process, whether it is connected."""
        elsewhere = self._context.cluster.presence.elsewhere
        return self.host.serves(session_id) or elsewhere(device_id)

    def _http_port(self) -> int:
        return self.http.port if self.http is not None else self.settings.server.http_port


async def serve(
    settings: Settings, source: str, stop: StopRequest, read: ReadSettings | None = None
) -> None:
    """Run a server until ``stop`` asks for its end. ``source`` says where the settings come from.

    ``read`` reads them again, on SIGHUP. Raises ConfigError when the server cannot run at all.
    """
    app = Server(settings)
    if read is not None:
        app.reloader = Reloader(app, read, log_gaps)
        on_hangup(app.reloader, stop.now)
    await _serve(app, source, stop)


async def _serve(app: Server, source: str, stop: StopRequest | None = None) -> None:
    from vixio.cli.banner import introduce

    await run(app, stop or stop_on_signals(), lambda: introduce(app, source))
