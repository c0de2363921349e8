"""The configuration of a simulated device."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import Final, Literal

from firmware_test_client.flash import Flash
from firmware_test_client.glyphs import TextFont

ListeningMode = Literal["auto", "manual", "realtime"]
"""Names as sent in `listen start` (main/protocols/protocol.cc, SendStartListening)."""

Client = Literal["firmware", "py-xiaozhi"]
"""Whose OTA requests the device makes. `py-xiaozhi` (huangjunsen0406/py-xiaozhi, src/activation)
polls 60 times every 5 s with the body wrapped in `Payload`, ignores activation without a serial
number, and goes on with the stored address where the answer has none."""

Codec = Literal["opus", "pcm"]
"""What the device sends, and asks for. `pcm` (16-bit little-endian mono) is for web pages without
an Opus encoder; the firmware has Opus only."""

HelloFault = Literal["normal", "none", "twice", "wrong_text", "wrong_binary"]


def random_mac() -> str:
    """A random, locally administered MAC address, as devices use for their id."""
    octets = [0x02, *(random.randrange(256) for _ in range(5))]  # noqa: S311  an address, no secret
    return ":".join(f"{octet:02x}" for octet in octets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """An eSpeak NG voice for the user's side of the conversation."""

    name: str = "en-us"  # a voice or language name of eSpeak NG
    variant: str = ""  # "f3", "m5", …: the speaker; empty: the voice's own
    speed: int = 160  # words a minute, 80..450
    pitch: int = 50  # 0..99
    volume: int = 100  # 0..200, 100 is eSpeak's normal


@dataclass(frozen=True, slots=True, kw_only=True)
class McpFaults:
    """Faults of the device's MCP server. The default has none."""

    delay: float = 0.0  # seconds before each answer leaves
    never_answer: frozenset[str] = frozenset()  # methods ("initialize") or tool names
    string_ids: bool = False  # answers carry "1" instead of 1
    forged_ids: bool = False  # each answer is preceded by one with an unknown id
    duplicate_answers: bool = False  # each answer is sent twice
    endless_paging: bool = False  # every page has a new cursor, without end
    repeat_cursor: bool = False  # every page has the same cursor
    reverse_order: int = 0  # answers to tools/call are held until so many wait, then last first
    concurrent: bool = False  # tools run side by side instead of on the main task


@dataclass(frozen=True, slots=True, kw_only=True)
class Misbehaviour:
    """Faults from the start. Others are methods of `device.misdeeds`."""

    hello: HelloFault = "normal"
    hello_body: dict[str, object] | None = None  # replaces keys of the hello; None removes a key
    pong_delay: float | None = None  # seconds before a ping is answered; inf: never
    never_read: bool = False  # nothing is read from the socket after the hello
    mcp: McpFaults = field(default_factory=McpFaults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mqtt:
    """An MQTT server as an OTA answer states it, to be used without OTA.

    TLS is used exactly on port 8883, which is the port of an endpoint without one. SSL_CERT_FILE
    in the environment names further certificates to trust.
    """

    endpoint: str  # "host" or "host:port", IPv4 only
    client_id: str
    username: str = ""
    password: str = field(default="", repr=False)
    publish_topic: str = ""  # empty: nothing is ever sent
    keepalive: int = 240  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Faults of one direction of the UDP path, each with a chance of 0..1. The default has none."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0  # a datagram is overtaken by the one behind it
    jitter_ms: float = 0.0  # at most, evenly distributed; by itself it keeps the order
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} {getattr(self, name)} is not 0..1")
        if self.jitter_ms < 0:
            raise ValueError(f"jitter_ms {self.jitter_ms} is negative")


SPEAKING_DELAY_MS: Final = 30.0
"""From `tts start` to the Speaking state with a reset decoder. The firmware does both on its main
task (OnIncomingJson, HandleStateChangedEvent), which may be redrawing the display: 10 to 150 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConfig:
    """One device. Set `ota_url`, as on a real device, or `ws_url` or `mqtt` to skip OTA."""

    ota_url: str | None = None
    ws_url: str | None = None
    mqtt: Mqtt | None = None
    token: str | None = None  # with ws_url; OTA issues its own
    device_id: str = field(default_factory=random_mac)  # MAC address
    client_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    serial_number: str | None = None  # 32 characters from the chip's fuses: activation version 2
    hmac_key: bytes = b"firmware-test-client"  # key 0 of the chip, signs the challenge
    board: str = "simulated-board"
    chip: str = "esp32s3"  # a name in `chips.CHIPS`
    firmware_version: str = "2.0.3"  # until a firmware is installed in `flash`
    flash: Flash = field(default_factory=Flash, compare=False, repr=False)  # survives a restart
    rollback: bool = True  # CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE, as in sdkconfig.defaults
    language: str = "en-US"
    client: Client = "firmware"
    http_timeout: float = 10.0  # seconds
    ota_tries: int = 1  # of the OTA request; the firmware makes 10 (Application::CheckNewVersion)
    ota_retry: float = 10.0  # seconds before the second; doubled before each further one
    activation_retry: float | None = None  # seconds after a 202; None: the client's own, 3 or 5
    activation_error_retry: float | None = None  # after any other refusal; None: 10 or 5
    activation_rounds: int | None = 2  # OTA requests that ask for activation; None: no end, as real
    pause_scale: float = 1.0  # factor on pauses around an upgrade, a restart, an MQTT connection
    max_boots: int = 5  # restarts in a row, by firmware that is offered again each time

    mode: ListeningMode = "auto"
    version: Literal[1, 2, 3] | None = None  # binary framing; None: as OTA states, else 1
    codec: Codec = "opus"
    uplink_rate: int = 16_000  # Hz; 8000, 12000, 16000, 24000 or 48000
    uplink_frame_ms: int = 60  # 20, 40 or 60
    text_font: TextFont | None = None  # of the screen: hello has `glyph_push`; None: it takes none
    server_aec: bool = False  # hello has `aec`; timestamps of played frames are echoed
    mcp: bool = True
    camera: bool = False
    listen_on_connect: bool = True  # auto and realtime: as if the chat button had been pressed
    hello_timeout: float = 10.0  # seconds, for the socket and for the hello (OpenAudioChannel)
    mqtt_retry: float | None = 10.0  # seconds; ESP-MQTT's own, in any state; None: a 4G modem
    speak_request: bool = False  # answer it; firmware up to 2.4 does not know the message
    tells_address: bool = False  # by UDP at each hello; the firmware does not until it has audio
    nat_payload: bytes = b""  # of the packet that opens the way for the server's audio
    udp_uplink: Network = field(default_factory=Network)
    udp_downlink: Network = field(default_factory=Network)
    speaking_delay_ms: float = SPEAKING_DELAY_MS  # audio that comes earlier is lost
    dead_after: float = 120.0  # seconds without anything incoming (Protocol::IsTimeout)
    flush_on_stop: bool = False  # drop unplayed audio on `tts stop`, as some other clients do

    voice: Voice = field(default_factory=Voice)
    noise_dbfs: float | None = -75.0  # RMS of the room, relative to full scale; None: zeros
    echo_db: float | None = None  # the loudspeaker in the microphone, gain in dB; None: none
    echo_delay_ms: float = 0.0  # until it is there: the codec's buffers and the room
    opus_application: Literal["audio", "voip"] = "audio"  # AS_OPUS_ENC_CONFIG: AUDIO
    opus_complexity: int = 0  # 0..10 (AS_OPUS_ENC_CONFIG: 0)

    decode: bool = True  # False: downlink packets are counted and timed, not decoded
    share_speech: bool = False  # True: uplink packets come from a cache shared by all devices
    keep_frames: bool = True  # False: counters only, for load tests
    misbehaviour: Misbehaviour = field(default_factory=Misbehaviour)

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.ota_url, self.ws_url, self.mqtt)) != 1:
            raise ValueError("give exactly one of ota_url, ws_url and mqtt")
        if self.mqtt is not None and self.codec != "opus":
            raise ValueError("audio by UDP is Opus: codec='pcm' needs a WebSocket")
        if self.uplink_rate not in (8_000, 12_000, 16_000, 24_000, 48_000):
            raise ValueError(f"uplink_rate {self.uplink_rate} Hz is not an Opus rate")
        if self.uplink_frame_ms not in (20, 40, 60):
            raise ValueError(f"uplink_frame_ms {self.uplink_frame_ms} is not 20, 40 or 60")
        if self.echo_db is not None and (self.share_speech or not self.decode):
            raise ValueError("echo_db needs decode=True and share_speech=False")
        if not 0 <= self.echo_delay_ms <= 2_000:
            raise ValueError(f"echo_delay_ms {self.echo_delay_ms} is not 0..2000")
        if not 0 <= self.speaking_delay_ms <= 10_000:
            raise ValueError(f"speaking_delay_ms {self.speaking_delay_ms} is not 0..10000")
        if self.mode not in ("auto", "manual", "realtime"):
            raise ValueError(f"mode {self.mode!r} is not auto, manual or realtime")
        if self.version not in (None, 1, 2, 3):
            raise ValueError(f"version {self.version} is not 1, 2 or 3")
