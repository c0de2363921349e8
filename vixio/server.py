"""The composition root: settings → providers → sessions → servers. The only file that sees all.

Devices are accepted as soon as the ports are open; what is heavy loads behind. A device that comes
earlier is greeted at once. What it says waits in its socket for a short while: listening works in
audio time, so nothing of it is lost. If the loading takes longer, a turn is told so.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vixio import __version__
from vixio.audio.loudness import VoiceLevels
from vixio.cluster.context import ClusterContext, ServerInfo
from vixio.cluster.health import merge_health
from vixio.core.cluster import COMMAND_S
from vixio.core.commands import Command, CommandResult
from vixio.core.device import normalise_device_id
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.core.history_store import HistoryStore
from vixio.core.host import SessionHost
from vixio.core.metrics import Counters
from vixio.core.pipeline import Pipeline
from vixio.core.transport import TransportBase
from vixio.http.app import create_http_app
from vixio.http.ota import OtaSettings
from vixio.http.server import HttpServer
from vixio.http.vision_service import VisionService
from vixio.memory.create import check_installed, make_store
from vixio.memory.link import StoreLink
from vixio.memory.memory import Memory, MemorySettings
from vixio.memory.summary import model_summary
from vixio.providers.agent import AgentBackend, AgentRequest
from vixio.providers.asr import ASRProvider
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.providers.vision import VisionProvider
from vixio.senses import Senses, chains
from vixio.settings import Settings
from vixio.stations.agent import AgentStation
from vixio.stations.asr import ASRStation
from vixio.stations.sentence_aggregator import SentenceAggregatorStation
from vixio.stations.text_aggregator import TextAggregatorStation
from vixio.stations.tts import TTSStation
from vixio.stations.turn_detector import TurnDetectorStation
from vixio.stations.vad import VADStation
from vixio.tools.from_settings import make_runtime
from vixio.tools.source import ToolSource
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.admission.auth import TokenAuthenticator
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.listener import raise_descriptor_limit
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.transport import XiaozhiTransport
from vixio.transports.xiaozhi.wake_words import DEFAULT_WAKE_WORDS

_log = logging.getLogger(__name__)

Provider = VADProvider | ASRProvider | AgentBackend | TTSProvider | VisionProvider


@dataclass(frozen=True, slots=True)
class Providers:
    """What all sessions of a server share."""

    vad: VADProvider
    asr: ASRProvider
    agent: AgentBackend
    tts: TTSProvider
    vision: VisionProvider | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Providers:
        """Make those that the settings name, unstarted."""
        return cls(
            settings.vad.create(),
            settings.asr.create(),
            settings.agent.create(),
            settings.tts.create(),
            settings.vision.create() if settings.vision is not None else None,
        )

    def names(self) -> dict[str, str]:
        """Return which provider does what."""
        return {
            "vad": self.vad.name,
            "asr": self.asr.name,
            "agent": self.agent.name,
            "tts": self.tts.name,
            **({"vision": self.vision.name} if self.vision is not None else {}),
        }


class Server:
    """A configured server. ``start`` returns when devices can connect; ``stop`` leaves nothing.

    ``providers`` replaces those that the settings name, ``tool_sources`` stand beside theirs.
    ``context``: its part in a cluster of processes; by default there is only this one.
    """

    def __init__(
        self,
        settings: Settings,
        providers: Providers | None = None,
        tool_sources: Sequence[ToolSource] = (),
        context: ClusterContext | None = None,
    ) -> None:
        self.settings = settings
        self._context = context or ClusterContext()
        self._context.cluster.presence.publish(self.health)
        self.counters = Counters()
        self.providers = providers or Providers.from_settings(settings)
        self.memory = _memory(settings, self.providers.agent, self.counters)
        self.tools = make_runtime(
            settings,
            self.counters,
            facts=self.memory.facts if self.memory else None,
            more=tool_sources,
        )
        self._instructions = settings.instructions()
        self.admission = Admission(
            self._admission_settings(), counters=self.counters, cluster=self._context.cluster
        )
        self.vision = self._vision_service()
        self.transport = XiaozhiTransport(self._transport_settings(), self.admission)
        self.host = SessionHost(
            self.transport,
            self.create_pipeline,
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
        )
        self.http: HttpServer | None = None
        self._loading: asyncio.Task[None] | None = None
        self.senses = Senses(
            self.providers.vad, self.providers.asr, self.providers.tts, self.counters
        )
        self._levels = VoiceLevels()

    async def start(self) -> None:
        """Open the ports and begin to load. Raises ConfigError when a port is taken."""
        server = self.settings.server
        await self.host.start()
        try:
            app = create_http_app(
                OtaSettings(
                    websocket_port=self.transport.port,
                    websocket_url=_websocket_url(server.public_host, self.transport.port),
                    auth=self.admission.settings.auth,
                    limits=self.admission.limits,
                    trusted_proxies=server.trusted_proxies,
                    counters=self.counters,
                ),
                self.cluster_health if self._context.cluster.shared else self.health,
                self._context.cluster,
                more=self.vision.routes(self._is_live) if self.vision else (),
            )
            self.http = HttpServer(
                app,
                server.host,
                server.http_port,
                limits=self.admission.limits,
                trusted_proxies=server.trusted_proxies,
                counters=self.counters,
                cluster=self._context.cluster,
                share_port=self._context.share_ports,
            )
            await self.http.start()
        except BaseException:
            await self.host.stop()
            raise
        self._loading = asyncio.create_task(self._load())

    async def loaded(self) -> None:
        """Wait until every provider is ready. Raises what kept one from it."""
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def stop(self) -> None:
        """Close devices, ports and providers, in this order. Idempotent."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        await self.host.stop()
        if self.http is not None:
            await self.http.stop()
        await self.tools.close()
        if self.memory is not None:
            await self.memory.stop()
        providers = self.providers
        if providers.vision is not None:
            await providers.vision.close()
        for provider in (providers.tts, providers.agent, providers.asr, providers.vad):
            await provider.close()

    async def create_pipeline(self, transport: TransportBase, session_id: str) -> Pipeline:
        """Make the stations of one session; its agent follows the session's tools."""
        vad, asr, tts = await self.senses.awake()
        settings = self.settings
        providers = self.providers
        agent = providers.agent.create()
        await agent.initialize(system_prompt=self._system_prompt)
        return Pipeline(
            stations=[
                VADStation(vad, settings.vad_settings()),
                TurnDetectorStation(settings.turn_settings()),
                ASRStation(asr, settings.asr_settings()),
                TextAggregatorStation(),
                AgentStation(agent, settings.agent_settings(), follow_tools=True),
                SentenceAggregatorStation(),
                TTSStation(tts, settings.tts_settings(), self._levels),
            ]
        )

    def _system_prompt(self, request: AgentRequest) -> str:
        return self._instructions.for_turn(request.device_id, request.language, request.emotion)

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
        loading = self._loading
        ready = loading is not None and loading.done() and not loading.cancelled()
        unusable = sorted(self.senses.unusable)
        providers = self.providers
        return {
            "status": "degraded" if unusable else "ok" if ready else "loading",
            "version": __version__,
            "providers": providers.names(),
            "models": providers.agent.stats(),
            **chains(providers.vad, providers.asr, providers.tts, providers.vision),
            **({"unusable": unusable} if unusable else {}),
            **self.host.stats(),
        }

    async def cluster_health(self) -> dict[str, Any]:
        """Return the health of all processes of the cluster together."""
        return merge_health(await self._context.cluster.presence.members())

    async def _load(self) -> None:
        self.admission.loading = True
        senses = asyncio.create_task(self.senses.load())
        try:
            # The senses first: they take a second, the agent's framework takes several.
            await self.senses.over()
            await self.tools.start()
            if self.memory is not None:
                self.memory.start()
            await self.senses.start("agent", self.providers.agent)
            if self.providers.vision is not None:
                await self.senses.start("vision", self.providers.vision)
            if self.memory is not None:
                self.memory.agent_ready.set()
            await senses
        finally:
            self.admission.loading = False
            if self.memory is not None:
                self.memory.agent_ready.set()
            if not senses.cancelling():  # a second time would cut short what cleans up
                senses.cancel()
            await asyncio.wait([senses])
        for error in self.senses.unusable.values():
            raise error

    def _is_live(self, session_id: str, device_id: str) -> bool:
        """Whether a session runs; for a device of another process, whether it is connected."""
        return self.host.sessions.get(
            session_id
        ) is not None or self._context.cluster.presence.elsewhere(device_id)

    def _vision_service(self) -> VisionService | None:
        vision = self.providers.vision
        if vision is None:
            return None
        settings = self.settings
        return VisionService(
            vision,
            self.counters,
            lambda: self.http.port if self.http is not None else settings.server.http_port,
            self._context.secret,
            timeout=settings.timeouts.vision,
            language=settings.assistant.language,
            photos_per_device=settings.server.limits.photos_per_device,
            public_host=settings.server.public_host,
        )

    def _admission_settings(self) -> AdmissionSettings:
        server = self.settings.server
        return AdmissionSettings(
            auth=_authenticator(self.settings),
            max_connections=server.max_connections,
            limits=Limits(**server.limits.model_dump()),
            trusted_proxies=server.trusted_proxies,
        )

    def _transport_settings(self) -> XiaozhiSettings:
        settings = self.settings
        return XiaozhiSettings(
            host=settings.server.host,
            port=settings.server.port,
            share_port=self._context.share_ports,
            output_sample_rate=settings.output.sample_rate,
            output_frame_ms=settings.output.frame_ms,
            opus_complexity=settings.output.opus_complexity,
            wake_words=(*DEFAULT_WAKE_WORDS, *settings.assistant.wake_words),
            hello_timeout=settings.timeouts.hello,
            tool_timeout=settings.timeouts.device_tool,
            vision=self.vision.offer if self.vision is not None else None,
        )


def _authenticator(settings: Settings) -> TokenAuthenticator | None:
    auth = settings.server.auth
    if not auth.enabled:
        return None
    try:
        return TokenAuthenticator(
            auth.secret.get_secret_value(), auth.token_lifetime_days * 86_400.0
        )
    except ConfigError as error:
        raise ConfigError(f"server.auth.secret: {error}") from None


def _memory(settings: Settings, agent: AgentBackend, counters: Counters) -> Memory | None:
    """Return what outlives the process; nothing where the settings want it so."""
    memory = settings.memory
    if memory.store == "none":
        return None
    check_installed(memory.store)
    link = StoreLink(lambda: make_store(memory.store, memory.path, memory.url.get_secret_value()))
    # The phrase book answers what it knows, and sums nothing up.
    writes = memory.summary and settings.agent.name != "phrasebook"
    return Memory(
        link,
        counters,
        MemorySettings(keep_days=memory.keep_days),
        model_summary(agent) if writes else None,
    )


def _websocket_url(public_host: str, port: int) -> str:
    """Return the URL that OTA tells devices; empty: one on the address they came through."""
    if not public_host:
        return ""
    host = f"[{public_host}]" if ":" in public_host else public_host
    return f"ws://{host}:{port}/xiaozhi/v1/"


def settle() -> None:
    """Take what was loaded out of the garbage collector's sight: it stays for good.

    A full collection over the agent SDK's classes would stop all devices for a tenth of a second.
    """
    gc.collect()
    gc.freeze()


async def serve(settings: Settings, source: str, stop: asyncio.Event) -> None:
    """Run a server until ``stop`` is set. ``source`` says where the settings come from.

    Raises ConfigError when it cannot run at all.
    """
    from vixio.cli.banner import banner

    app = Server(settings)
    await run(app, stop, lambda: print(banner(about(app), source), flush=True))


def about(app: Server) -> ServerInfo:
    """Return what there is to say of a server that listens."""
    server = app.settings.server
    return ServerInfo(
        host=server.public_host or server.host,
        port=app.transport.port,
        http_port=app.http.port if app.http is not None else server.http_port,
        providers=app.providers.names(),
        language=app.settings.assistant.language,
        tokens=server.auth.enabled,
    )


async def run(app: Server, stop: asyncio.Event, listening: Callable[[], None]) -> None:
    """Run ``app`` until ``stop`` is set; ``listening`` is called when devices can connect.

    Raises ConfigError when it cannot run at all. A provider that cannot be used is a line in the
    log; devices are told by the turns that need it.
    """
    raise_descriptor_limit()
    await app.start()
    try:
        listening()
        stopping = asyncio.create_task(stop.wait())
        loading = asyncio.create_task(app.loaded())
        await asyncio.wait([stopping, loading], return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            error = loading.exception()
            if error is None:
                _log.info("all providers are ready")
            elif not isinstance(error, ProviderUnavailable):
                raise error
            settle()
        else:
            loading.cancel()
        await stopping
    finally:
        await app.stop()
