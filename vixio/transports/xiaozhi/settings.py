"""Settings of the xiaozhi transport. Times are seconds unless the name says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from vixio.core.audio import AudioFormat
from vixio.core.errors import ConfigError
from vixio.core.timeouts import Timeouts
from vixio.core.tools.types import JsonObject
from vixio.transports.xiaozhi.hello import FRAME_DURATIONS_MS, SAMPLE_RATES
from vixio.transports.xiaozhi.remembered_tools import RememberedTools
from vixio.transports.xiaozhi.wake_words import DEFAULT_WAKE_WORDS

CameraOffer = Callable[[str, str, str], JsonObject]
"""Makes the ``vision`` capability of a session: where its camera posts photos, with which token.
Takes the ids of session and device, and the URL of the server as the device reaches it."""


class ServerAddress(Protocol):
    """Tells where a device reaches the server's HTTP port."""

    def __call__(self, headers: Mapping[str, str], own_host: str, *, trust_forwarded: bool) -> str:
        """Return the URL without a path. ``headers``: those that the channel keeps."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class XiaozhiSettings:
    """Settings of one transport; ConfigError if a value is invalid."""

    host: str = "0.0.0.0"  # noqa: S104  devices come from the local network
    port: int = 8000
    """0 takes any free port: see the transport's ``port``."""
    path: str = "/xiaozhi/v1/"
    share_port: bool = False
    """Let other processes listen on the same port."""

    allowed_origins: Sequence[str] = ()
    """Web pages that may connect besides those of the server's own origin; ``*``: every page."""

    hosts: Sequence[str] = ()
    """Names of this server, besides its addresses and those of the machine, under which web pages
    of its own origin may connect."""

    output_sample_rate: int = 24_000
    """Rate (Hz) of the speech sent; most devices' loudspeakers run at 24 kHz."""
    output_frame_ms: int = 60
    opus_application: Literal["lowdelay", "voip"] = "lowdelay"
    opus_complexity: int = 0
    opus_bitrate: int | None = None
    """Bit/s; None: the encoder's choice."""
    wake_words: Sequence[str] = DEFAULT_WAKE_WORDS

    tool_initialize_timeout: float = 10.0
    """For each step of greeting a device's tool server."""
    remembered_tools: RememberedTools = field(default_factory=RememberedTools)
    """The last tool list of each device."""
    vision: CameraOffer | None = None
    """Where cameras post their photos; None: there is no vision service."""
    http_address: ServerAddress | None = None
    """Where a device reaches the HTTP port; None: there is none."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    """Of these ``hello`` and ``device_tool``."""
    ping_interval: float = 25.0
    """Below the 30–60 s after which routers forget a silent connection."""
    keepalive_after: float = 60.0
    """Send a text without effect when nothing was sent for so long: half of the 120 s after which
    the firmware gives up (protocol.cc, IsTimeout)."""
    dead_after: float = 180.0
    """Close when nothing at all was heard, neither frames nor pongs, for so long."""
    send_timeout: float = 10.0
    """A device that takes nothing for so long is given up."""
    close_timeout: float = 1.0
    """How long a device may take to answer our close frame."""

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise ConfigError(f"path must begin with /, not {self.path!r}")
        if self.output_sample_rate not in SAMPLE_RATES:
            raise ConfigError(f"output_sample_rate must be one of {SAMPLE_RATES}")
        if self.output_frame_ms not in FRAME_DURATIONS_MS:
            raise ConfigError(f"output_frame_ms must be one of {FRAME_DURATIONS_MS}")
        if not 0 <= self.opus_complexity <= 10:
            raise ConfigError("opus_complexity must lie between 0 and 10")
        if self.opus_bitrate is not None and not 6_000 <= self.opus_bitrate <= 510_000:
            raise ConfigError("opus_bitrate must lie between 6000 and 510000")

    @property
    def output(self) -> AudioFormat:
        """The audio that the server sends."""
        return AudioFormat(self.output_sample_rate, self.output_frame_ms)
