"""The device's side of the protocol, whatever carries it: hello, messages, what is read.

Follows main/protocols/protocol.cc. `websocket_protocol` and `mqtt_protocol` are its two carriers.
Messages are assembled as text without escaping, as in the firmware.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar, Final, Literal, Protocol

from firmware_test_client.channel import HardClose
from firmware_test_client.config import Codec, DeviceConfig, ListeningMode
from firmware_test_client.framing import AudioPacket
from firmware_test_client.main_task import Work
from firmware_test_client.records import CloseInfo, Records, parse_object
from firmware_test_client.state import DeviceState

Carrier = Literal["websocket", "mqtt"]

WRONG_BINARY: Final = b"\x78\x00\x01"
_HELLO_NOT_AWAITED: Final = ("none", "wrong_text", "wrong_binary")


class ProtocolObserver(Protocol):
    """Handles the server's messages (the callbacks of Application::InitializeProtocol)."""

    @property
    def state(self) -> DeviceState:
        """The device's state."""

    def schedule(self, work: Work) -> None:
        """Run `work` on the main task."""

    def on_server_hello(self, rate: int, frame_ms: int, codec: Codec) -> None:
        """The audio format of the server's hello."""

    def on_audio(self, packet: AudioPacket, now: float) -> None:
        """A packet of audio."""

    def on_json(self, kind: str, body: dict[str, Any], now: float) -> None:
        """Any message except hello."""

    def on_channel_closed(self, close: CloseInfo) -> None:
        """The audio channel is closed."""

    def on_connected(self) -> None:
        """The connection that outlives conversations is there again (MQTT)."""

    def on_network_error(self, message: str) -> None:
        """Something could not be sent or opened; the message is shown."""


class DeviceProtocol(ABC):
    """One device's protocol. Each `open_audio_channel` begins a new conversation."""

    carrier: ClassVar[Carrier]
    transport: ClassVar[str]  # as the hello states it

    def __init__(
        self,
        config: DeviceConfig,
        records: Records,
        observer: ProtocolObserver,
        clock: Callable[[], float],
    ) -> None:
        self._config = config
        self._records = records
        self._observer = observer
        self._clock = clock
        self._hello = asyncio.Event()
        self.version: int = 1  # as the hello states it
        self.session_id = ""
        self.server_rate, self.server_frame_ms = 24_000, 60  # Protocol's initial values
        self.server_codec: Codec = "opus"
        self.last_incoming = clock()

    # The connection

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether there is a connection with a conversation's channel."""

    @property
    @abstractmethod
    def online(self) -> bool:
        """Whether messages can be exchanged, also without a conversation."""

    @property
    def channel_open(self) -> bool:
        """IsAudioChannelOpened: connected, and not silent for 120 s."""
        return self.connected and not self.timed_out

    @property
    def timed_out(self) -> bool:
        """Whether no message came for `dead_after` seconds (Protocol::IsTimeout), pings apart."""
        return self._clock() - self.last_incoming > self._config.dead_after

    @property
    def hello_awaited(self) -> bool:
        """False if a faulty hello is configured, which gets no answer."""
        return self._config.misbehaviour.hello not in _HELLO_NOT_AWAITED

    @abstractmethod
    async def start(self) -> None:
        """Connect at the end of the boot, where the carrier does that (Protocol::Start)."""

    @abstractmethod
    async def go_online(self) -> None:
        """Connect, where the carrier is connected without a conversation.

        Raises:
            ConnectError: no connection.
        """

    @abstractmethod
    async def open_audio_channel(self) -> None:
        """Send hello, wait for the server's hello (OpenAudioChannel).

        Raises:
            ConnectError: no connection.
            HelloError: no acceptable hello within `hello_timeout`, or the server closed first.
        """

    @abstractmethod
    async def close(self) -> None:
        """End the conversation (CloseAudioChannel)."""

    @abstractmethod
    async def shut_down(self) -> None:
        """End the conversation and the connection (the destructor)."""

    @abstractmethod
    async def flush(self) -> None:
        """Wait until everything is written; during a stall, do not wait.

        Raises:
            Disconnected: there is no connection.
        """

    @abstractmethod
    async def ping(self, timeout: float) -> float:
        """The carrier's own ping; the round trip in seconds. Raises Disconnected without it."""

    # Faults

    @abstractmethod
    def abort(self, how: HardClose) -> None:
        """Lose the connection: by RST, by FIN, or by permanent silence."""

    @abstractmethod
    def stall(self) -> None:
        """Hold back everything that is sent from now on."""

    @abstractmethod
    def release(self) -> None:
        """End a stall: send everything that was held back in one burst."""

    @abstractmethod
    def stop_reading(self) -> None:
        """Leave incoming data in the sockets."""

    @abstractmethod
    def resume_reading(self) -> None:
        """End `stop_reading`."""

    @abstractmethod
    def send_wrong_sizes(self, count: int) -> None:
        """Send audio with a wrong size field, also truncated."""

    # Sending

    @abstractmethod
    def send(self, data: str | bytes) -> bool:
        """Send a message, or bytes where audio goes, unchanged; False if there is no connection."""

    @abstractmethod
    def send_audio(self, packet: AudioPacket) -> bool:
        """SendAudio."""

    def hello_message(self) -> str:
        """GetHelloMessage."""
        config = self._config
        features: dict[str, Any] = {"aec": True} if config.server_aec else {}
        if config.mcp:
            features["mcp"] = True
        features["glyph_push"] = config.text_font is not None
        body: dict[str, Any] = {
            "type": "hello",
            "version": self.version,
            "features": features,
            "transport": self.transport,
            "audio_params": {
                "format": config.codec,
                "sample_rate": config.uplink_rate,
                "channels": 1,
                "frame_duration": config.uplink_frame_ms,
            },
        }
        if config.text_font is not None:
            body["text_font"] = asdict(config.text_font)
        body.update(config.misbehaviour.hello_body or {})
        return json.dumps(
            {key: value for key, value in body.items() if value is not None},
            separators=(",", ":"),
        )

    def _send_hello(self) -> None:
        fault = self._config.misbehaviour.hello
        if fault == "wrong_text":
            self.send_start_listening("auto")
        elif fault == "wrong_binary":
            self.send(WRONG_BINARY)
        elif fault != "none":
            for _ in range(2 if fault == "twice" else 1):
                self.send(self.hello_message())

    def send_start_listening(self, mode: ListeningMode) -> None:
        """SendStartListening."""
        self._send(f'"type":"listen","state":"start","mode":"{mode}"')

    def send_stop_listening(self) -> None:
        """SendStopListening."""
        self._send('"type":"listen","state":"stop"')

    def send_wake_word_detected(self, word: str) -> None:
        """SendWakeWordDetected; the word is not escaped."""
        self._send(f'"type":"listen","state":"detect","text":"{word}"')

    def send_abort(self, reason: str | None) -> None:
        """SendAbortSpeaking."""
        self._send('"type":"abort"' + (f',"reason":"{reason}"' if reason else ""))

    def send_mcp(self, payload: str) -> None:
        """SendMcpMessage."""
        self._send(f'"type":"mcp","payload":{payload}')

    def send_speak_ready(self) -> None:
        """The answer to `speak_request` (pull request 1939 of 78/xiaozhi-esp32)."""
        self._send('"type":"speak_ready","state":"ready"')

    def _send(self, fields: str) -> bool:
        return self.send(f'{{"session_id":"{self.session_id}",{fields}}}')

    def on_sent(self, data: str | bytes) -> None:
        """Record a message when it is written."""
        self._records.frame(self._clock(), "out", data)
        self._records.changed()

    # Receiving

    def _read_text(self, data: str, now: float) -> None:
        body = parse_object(data)
        kind = None if body is None else body.get("type")
        if body is None or not isinstance(kind, str):
            self._records.violations.append(f"message without a type: {data[:200]}")
        elif kind == "hello":
            if self._accept_hello(body):
                self._hello.set()
        else:
            self._on_json(kind, body, now)

    def _on_json(self, kind: str, body: dict[str, Any], now: float) -> None:
        self._observer.on_json(kind, body, now)

    def _accept_hello(self, body: dict[str, Any]) -> bool:
        """ParseServerHello; False if it is none for the firmware."""
        if body.get("transport") != self.transport:
            self._records.violations.append(f"hello with transport {body.get('transport')!r}")
            return False
        if isinstance(body.get("session_id"), str):
            self.session_id = body["session_id"]
        audio = body.get("audio_params")
        if isinstance(audio, dict):
            rate, frame_ms = audio.get("sample_rate"), audio.get("frame_duration")
            if isinstance(rate, int):
                self.server_rate = rate
            if isinstance(frame_ms, int):
                self.server_frame_ms = frame_ms
            self._read_codec(audio.get("format"))
        self._observer.on_server_hello(self.server_rate, self.server_frame_ms, self.server_codec)
        return True

    def _read_codec(self, stated: object) -> None:
        """The firmware does not read it: what it is sent is Opus."""
        self.server_codec = "pcm" if stated == "pcm" else "opus"
        if self.server_codec != self._config.codec:
            self._records.violations.append(f"hello with format {stated!r}")
