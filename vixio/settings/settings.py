"""The whole of the settings, and what each part of the server gets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from vixio.core.audio import AudioFormat
from vixio.core.device import normalise_device_pattern
from vixio.core.pacer import PacerSettings
from vixio.core.session.settings import SessionSettings
from vixio.core.timeouts import Timeouts
from vixio.core.turns.interruption import (
    ByRecogniser,
    CutAtVoice,
    InterruptionFactory,
    PauseAtVoice,
)
from vixio.providers.faults import fault
from vixio.settings.a2a import A2ASection
from vixio.settings.api import ApiSection
from vixio.settings.assistant import AssistantSettings
from vixio.settings.cluster import ClusterSection
from vixio.settings.data import DataSection
from vixio.settings.devices import DeviceSection, check_ids, inherit_providers
from vixio.settings.memory import MemorySection
from vixio.settings.metrics import MetricsSection
from vixio.settings.mqtt import MqttSection
from vixio.settings.origin import Origin
from vixio.settings.papers import PapersSection
from vixio.settings.provider import (
    AgentSection,
    ASRSection,
    ProviderSection,
    TTSSection,
    VADSection,
    VisionSection,
)
from vixio.settings.reminders import RemindersSection
from vixio.settings.sections import (
    ListeningSettings,
    LoggingSettings,
    OutputSettings,
    Section,
    ServerSettings,
    TimeoutSettings,
    fill,
)
from vixio.settings.station import StationSection, check_places
from vixio.settings.tools import ToolsSettings
from vixio.stations.turn_detector import TurnSettings
from vixio.stations.vad import VADSettings
from vixio.tools.mcp.settings import McpServerSettings, ServerName


class ConversationsSection(Section):
    """What was said, with the times of each stage and the tools. See docs/data.md."""

    keep_days: float = Field(default=30, ge=0, le=36_500, allow_inf_nan=False)
    """How long a turn is kept; 0: none is."""


class Settings(Section):
    """Everything that can be configured. The defaults answer speech with no key and no network."""

    server: ServerSettings = ServerSettings()
    assistant: AssistantSettings = AssistantSettings()
    listening: ListeningSettings = ListeningSettings()
    output: OutputSettings = OutputSettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    vad: VADSection = Field(default_factory=lambda: VADSection.model_validate({}))
    asr: ASRSection = Field(
        default_factory=lambda: ASRSection.model_validate({}), validate_default=True
    )
    """A list, as for VAD, TTS and vision: where one fails, the next does its work."""
    agent: AgentSection = Field(
        default_factory=lambda: AgentSection.model_validate({}), validate_default=True
    )
    tts: TTSSection = Field(
        default_factory=lambda: TTSSection.model_validate({}), validate_default=True
    )
    data: DataSection = DataSection()
    conversations: ConversationsSection = ConversationsSection()
    vision: VisionSection | None = None
    """None: photos are not looked at."""
    devices: dict[Annotated[str, AfterValidator(normalise_device_pattern)], DeviceSection] = Field(
        default_factory=dict
    )
    """What differs for single devices, by id or pattern, or ``client:`` and a pattern of client
    ids. Of several that match, the later one applies, key by key; a whole id applies last."""
    mcp_servers: dict[ServerName, McpServerSettings] = Field(default_factory=dict)
    """Servers of tools, by the name that they have here."""
    tools: ToolsSettings = Field(default_factory=ToolsSettings)
    stations: tuple[StationSection, ...] = ()
    """Of other packages, in every pipeline beside the standard ones."""
    memory: MemorySection = MemorySection()
    reminders: RemindersSection = RemindersSection()
    papers: PapersSection = PapersSection()
    mqtt: MqttSection | None = None
    """Where devices are reached at any time; None: they come by WebSocket alone."""
    a2a: A2ASection | None = None
    """Agents that may use this server over A2A; None: none."""
    api: ApiSection = ApiSection()
    cluster: ClusterSection | None = None
    """The other nodes; None: this is the only one."""
    metrics: MetricsSection = MetricsSection()
    logging: LoggingSettings = LoggingSettings()

    _origin: Origin = PrivateAttr(default_factory=Origin)

    @property
    def origin(self) -> Origin:
        """Where the values come from, as far as that is known."""
        return self._origin

    def of_origin(self, origin: Origin) -> Self:
        """Return a copy whose values come from ``origin``."""
        copy = self.model_copy()
        copy._origin = origin  # noqa: SLF001 - of the same class
        return copy

    @model_validator(mode="after")
    def _registry_is_kept(self) -> Self:
        if self.server.access != "open" and not self.data.kept:
            raise fault(
                f"{self.server.access} needs a registry that outlives the process: leave "
                "data.database empty, for a file, or set it to the URL of a PostgreSQL database",
                "server",
                "access",
            )
        return self

    @model_validator(mode="after")
    def _mqtt_goes_with_the_rest(self) -> Self:
        if self.mqtt is not None:
            self.mqtt.check_beside(self.server, clustered=self.cluster is not None)
        return self

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, data: object) -> object:
        return inherit_providers(data) if isinstance(data, Mapping) else data

    @field_validator("devices", mode="before")
    @classmethod
    def _one_section_each(cls, devices: object) -> object:
        return check_ids(devices)

    @field_validator("devices")
    @classmethod
    def _devices_in_time(
        cls, devices: dict[str, DeviceSection], info: ValidationInfo
    ) -> dict[str, DeviceSection]:
        timeouts = info.data.get("timeouts")
        if not isinstance(timeouts, TimeoutSettings):
            return devices
        checked: dict[str, DeviceSection] = {}
        for key, device in devices.items():
            try:
                checked[key] = device.within(timeouts)
            except ValidationError as error:
                (mistake,) = error.errors()
                raise fault(mistake["msg"], key, *mistake["loc"]) from None
        return checked

    @field_validator("stations")
    @classmethod
    def _stations_in_place(cls, stations: tuple[StationSection, ...]) -> tuple[StationSection, ...]:
        check_places(stations)
        return stations

    @field_validator("asr", "agent", "tts", "vision")
    @classmethod
    def _in_time(
        cls, section: ProviderSection | None, info: ValidationInfo
    ) -> ProviderSection | None:
        timeouts = info.data.get("timeouts")
        if section is None or not isinstance(timeouts, TimeoutSettings):
            return section
        return section.within(timeouts)

    @classmethod
    def load(cls, path: Path | str | None) -> Settings:
        """Read a settings file; None: the defaults. Raises ConfigError, one line."""
        from vixio.settings.load import load_settings

        return load_settings(Path(path) if path is not None else None)

    def audio_format(self) -> AudioFormat:
        """Return the format of what devices are sent."""
        return AudioFormat(self.output.sample_rate, self.output.frame_ms)

    def session_settings(self) -> SessionSettings:
        """Return how a session behaves."""
        return SessionSettings(
            language=self.assistant.language,
            wake_reply=self.assistant.wake_reply,
            max_reply=self.output.max_reply_s,
            filler_after=self.assistant.filler_after,
            zone=self.assistant.time_zone,
            timeouts=self.time_limits(),
            pacer=fill(PacerSettings, self.output),
        )

    def time_limits(self) -> Timeouts:
        """Return the time limits of a conversation, which all parts share."""
        limits = fill(Timeouts, self.timeouts)
        return replace(limits, asr_feed=min(limits.asr_feed, limits.asr))

    def vad_settings(self) -> VADSettings:
        """Return the hysteresis of the VAD station."""
        return replace(fill(VADSettings, self.listening), timeout=self.timeouts.vad)

    def turn_settings(self) -> TurnSettings:
        """Return when a turn is over."""
        return fill(TurnSettings, self.listening)

    def interruption(self) -> InterruptionFactory:
        """Return what makes the policy for the user's voice over a speech."""
        policies: dict[str, InterruptionFactory] = {
            "auto": ByRecogniser,
            "cut": CutAtVoice,
            "pause": PauseAtVoice,
        }
        return policies[self.listening.interruption]
