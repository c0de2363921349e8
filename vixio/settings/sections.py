"""The sections of the settings without providers. Times are in seconds unless named ``_ms``."""

from __future__ import annotations

import re
from dataclasses import fields
from ipaddress import ip_network
from typing import Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from vixio.core.timeouts import Timeouts

MIN_SECRET_BYTES = 16
"""A shorter secret can be guessed from one captured token."""

MAX_WORKERS = 64

LogLevel = Literal["TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

Port = Annotated[int, Field(ge=0, le=65_535)]
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


def _check_workers(value: object) -> object:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if number == "auto" or (type(number) is int and 1 <= number <= MAX_WORKERS):
        return number
    raise ValueError(f"expected a number from 1 to {MAX_WORKERS}, or auto, found {value!r}")


Workers = Annotated[int | Literal["auto"], BeforeValidator(_check_workers)]


class Section(BaseModel):
    """A mapping of the settings file. An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


PartT = TypeVar("PartT")


def fill(part: type[PartT], section: Section) -> PartT:
    """Return the settings of a part, a dataclass, with the values of the fields that ``section``
    has too. The others keep their defaults."""
    known = type(section).model_fields
    return part(
        **{
            each.name: getattr(section, each.name)
            for each in fields(cast("Any", part))
            if each.name in known
        }
    )


class AuthSettings(Section):
    """Tokens that admit devices; OTA issues them."""

    enabled: bool = False
    """Whether devices need one; always if ``server.access`` is not ``open``."""
    secret: SecretStr = SecretStr("")
    """Signs the tokens, at least 16 bytes; empty: one is made at the first start, in the data
    folder."""
    token_lifetime_days: float = Field(default=30, gt=0, le=3_650, allow_inf_nan=False)

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        if 0 < len(self.secret.get_secret_value().encode()) < MIN_SECRET_BYTES:
            raise ValueError(
                f"expected a secret of at least {MIN_SECRET_BYTES} bytes, such as "
                "`openssl rand -hex 32` prints, or none: one is made then"
            )
        return self


def _check_networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for entry in value:
        try:
            ip_network(entry, strict=False)
        except ValueError:
            raise ValueError(
                f"expected addresses or networks such as 10.0.0.0/8, found {entry!r}"
            ) from None
    return value


Networks = Annotated[tuple[str, ...], AfterValidator(_check_networks)]
"""Addresses or networks."""

PerMinute = Annotated[int, Field(ge=0, le=1_000_000)]
Limit = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class LimitSettings(Section):
    """Limits per address, device or connection; 0: no limit. See docs/security.md."""

    connections_per_address: int = Field(default=256, ge=0, le=100_000)
    connects_per_address: PerMinute = 240
    connects_per_device: PerMinute = 30
    ota_per_address: PerMinute = 240
    activations_per_address: PerMinute = 2_400
    photos_per_device: PerMinute = 20
    handshakes: int = Field(default=1_024, ge=0, le=100_000)
    """Connections without a hello, of all addresses."""
    audio_burst: Limit = 20.0
    """Seconds of the next three that may come at once."""
    audio_rate: Limit = 1.25
    """Seconds of audio per second."""
    frames_per_second: Limit = 75.0
    audio_bytes_per_second: Limit = 32_000.0
    message_burst: Limit = 4.0
    """Seconds of the next two that may come at once."""
    messages_per_second: Limit = 50.0
    message_bytes_per_second: Limit = 400_000.0
    bad_messages: PerMinute = 300
    pending_tool_calls: int = Field(default=32, ge=0, le=10_000)
    loop_lag_ms: Limit = 3.0
    """New devices are refused while the event loop is later than this in the median of 10 s."""
    conversing: float = Field(default=1.0, ge=0, le=1, allow_inf_nan=False)
    """New devices are refused beyond as many as can converse, if this share of them does."""


_PUBLIC_URL = re.compile(
    r"https?://([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?"
    r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*/?"
)


class ServerSettings(Section):
    """Where devices connect."""

    host: str = Field(default="0.0.0.0", min_length=1)  # noqa: S104 - devices are on the network
    """Address to listen on."""
    port: Port = 8000
    """WebSocket. 0: any free port, as for ``http_port``."""
    http_port: Port = 8003
    """OTA, vision and the health page."""
    public_host: str = ""
    """Host in the URLs that devices get from OTA; empty: the one through which the device came."""
    public_url: str = ""
    """Of the whole server, as devices reach it through a proxy: https://voice.example.org:8443/path;
    in every URL that devices get, instead of ``public_host``."""
    workers: Workers = 1
    """Processes of `vixio serve` that share the ports, each with its own models, on Linux; auto: as
    many as its cores and memory allow. A program (``Server.run``) is one process."""
    max_connections: int = Field(default=1_000, ge=1, le=100_000)
    trusted_proxies: Networks = ("127.0.0.1", "::1")
    """Addresses or networks whose X-Forwarded-* headers are used."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may open a device's WebSocket, as https://console.example.org, besides those
    of the server's own origin."""
    access: Literal["open", "allow_list", "activation"] = "open"
    """Which devices may use the server: all that are not blocked; those that were added by their
    id; those that were claimed by the code that they show. See docs/devices.md."""
    auth: AuthSettings = AuthSettings()

    @property
    def tokens(self) -> bool:
        """Whether a device needs a token to connect."""
        return self.auth.enabled or self.access != "open"

    limits: LimitSettings = LimitSettings()

    @field_validator("allowed_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if entry.strip() == "*":
                raise ValueError(
                    "'*' would let every web page that a user opens talk as a device, and read its "
                    "answers: list the pages, such as https://console.example.org"
                )
            if not re.fullmatch(r"https?://[^\s/@?#]+/?", entry):
                raise ValueError(
                    f"expected origins such as https://console.example.org, found {entry!r}"
                )
        return value

    @field_validator("public_host")
    @classmethod
    def _host_alone(cls, value: str) -> str:
        port_too = value.count(":") == 1  # an IPv6 address has more
        if port_too or re.search(r"[\s/@?#]", value):
            raise ValueError(
                f"expected a host name or address alone, without http:// and port, found {value!r}"
            )
        return value

    @field_validator("public_url")
    @classmethod
    def _whole_url(cls, value: str) -> str:
        if value and not _PUBLIC_URL.fullmatch(value):
            raise ValueError(
                "expected a URL such as https://voice.example.org:8443/assistant, without user, "
                f"query and fragment, found {value!r}"
            )
        return value.rstrip("/")

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        if self.public_host and self.public_url:
            raise ValueError(
                "public_url is the whole address, public_host a part of it: leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _ports_differ(self) -> Self:
        if self.port and self.port == self.http_port:
            raise ValueError(
                f"port and http_port must differ, both are {self.port}: change one of them"
            )
        return self


class ListeningSettings(Section):
    """Voice activity, endpointing, interruption. The stations' settings explain most fields."""

    threshold: Probability = 0.5
    exit_threshold: Probability = 0.35
    min_speech_ms: int = Field(default=96, ge=0, le=2_000)
    min_pause_ms: int = Field(default=64, ge=0, le=2_000)
    background_db: float = Field(default=8.0, ge=0, le=60)
    end_silence_ms: int = Field(default=500, ge=100, le=10_000)
    end_of_turn: Literal["words", "silence"] = "words"
    """What decides about it: :mod:`vixio.core.turns.endpointing`."""
    think_ms: int = Field(default=200, ge=0, le=10_000)
    smart_turn: bool = False
    """Whether a model judges pauses by their sound as well; the extra ``smart-turn``."""
    pre_roll_ms: int = Field(default=300, ge=0, le=2_000)
    max_utterance_ms: int = Field(default=30_000, ge=1_000, le=600_000)
    jitter_ms: int = Field(default=200, ge=0, le=5_000)
    stall_ms: int = Field(default=2_000, ge=100, le=60_000)
    interruption: Literal["auto", "cut", "pause"] = "auto"
    """What the user's voice does to a speech: :mod:`vixio.core.turns.interruption`."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.exit_threshold > self.threshold:
            raise ValueError(
                f"exit_threshold ({self.exit_threshold:g}) must not be above "
                f"threshold ({self.threshold:g})"
            )
        if self.min_pause_ms > self.end_silence_ms:
            raise ValueError(
                f"min_pause_ms ({self.min_pause_ms}) must not be above "
                f"end_silence_ms ({self.end_silence_ms})"
            )
        if self.smart_turn and not self.think_ms:
            raise ValueError("smart_turn is asked after think_ms, which must not be 0")
        return self


class OutputSettings(Section):
    """The audio that devices get."""

    sample_rate: Literal[8_000, 12_000, 16_000, 24_000, 48_000] = 24_000
    """Hz."""
    frame_ms: Literal[20, 40, 60] = 60
    opus_application: Literal["lowdelay", "voip"] = "lowdelay"
    """The transform coder, or the speech coder: half of the bitrate, several times the work."""
    opus_complexity: int = Field(default=0, ge=0, le=10)
    opus_bitrate: Annotated[int, Field(ge=6_000, le=510_000)] | None = None
    """Bit/s; None: two bits a sample, for "voip" about one."""
    start_lead_ms: int = Field(default=160, ge=0, le=2_000)
    """From ``tts start`` to the first audio: what reaches a device before it can play is lost."""
    head_start_ms: int = Field(default=300, ge=0, le=2_000)
    """How far ahead of playout audio is sent; a device buffers at most 40 frames."""
    max_reply_s: float = Field(default=300.0, ge=0, le=3_600, allow_inf_nan=False)
    """Seconds of speech after which an answer ends at its next sentence; 0: no limit."""
    loudness: Annotated[float, Field(ge=-40, le=-10)] | None = -20.0
    """Level of every voice, in dB of full scale (RMS of the speech); None: unchanged."""
    normalise: bool = True
    """Whether voices get numbers, units, dates and addresses as they are read, not as written."""

    @field_validator("sample_rate", "frame_ms", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        # A Literal does not accept "24000", the value of a quoted "${RATE}".
        return int(value) if isinstance(value, str) and value.isdecimal() else value


_DEFAULT = Timeouts()


class TimeoutSettings(Section):
    """The time limits that can be set; :class:`~vixio.core.timeouts.Timeouts` explains them."""

    hello: Seconds = _DEFAULT.hello
    turn: Seconds = _DEFAULT.turn
    vad: Seconds = _DEFAULT.vad
    asr: Seconds = _DEFAULT.asr
    agent_first: Seconds = _DEFAULT.agent_first
    agent_next: Seconds = _DEFAULT.agent_next
    tts: Seconds = _DEFAULT.tts
    vision: Seconds = _DEFAULT.vision
    device_tool: Seconds = _DEFAULT.device_tool
    tool_list: float = Field(default=_DEFAULT.tool_list, ge=0, le=60, allow_inf_nan=False)
    drain: float = Field(default=_DEFAULT.drain, ge=0, le=3_600, allow_inf_nan=False)


class LoggingSettings(Section):
    """The log on standard error."""

    level: LogLevel = "INFO"
    as_json: bool = Field(default=False, alias="json")
    """One JSON object per line. (``json`` is a method of pydantic's models.)"""
    words: bool = False
    """Log what users and the assistant say. Private: see docs/security.md."""

    @field_validator("level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value
