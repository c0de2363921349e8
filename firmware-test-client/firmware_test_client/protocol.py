"""The device's side of the protocol: hello, messages and frames.

Follows main/protocols/protocol.cc and main/protocols/websocket_protocol.cc. Messages are
assembled as text without escaping, as in the firmware.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Protocol

from firmware_test_client.channel import Channel
from firmware_test_client.config import Codec, DeviceConfig, ListeningMode
from firmware_test_client.errors import HelloError
from firmware_test_client.framing import AudioPacket, FramingError, pack, unpack
from firmware_test_client.records import CloseInfo, Records, parse_object

_WRONG_BINARY: Final = b"\x78\x00\x01"
_HELLO_NOT_AWAITED: Final = ("none", "wrong_text", "wrong_binary")


class ProtocolObserver(Protocol):
    """Handles the server's messages (the callbacks of Application::InitializeProtocol)."""

    def on_server_hello(self, rate: int, frame_ms: int, codec: Codec) -> None:
        """The audio format of the server's hello."""

    def on_audio(self, packet: AudioPacket, now: float) -> None:
        """A packet of audio."""

    def on_json(self, kind: str, body: dict[str, Any], now: float) -> None:
        """Any message except hello."""

    def on_channel_closed(self, close: CloseInfo) -> None:
        """The connection is gone."""


class WebsocketProtocol:
    """One device's protocol. Each `open_audio_channel` makes a new channel."""

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
        self._channel: Channel | None = None
        self._hello = asyncio.Event()
        self.version: int = config.version or 1
        self.session_id = ""
        self.server_rate, self.server_frame_ms = 24_000, 60  # Protocol's initial values
        self.server_codec: Codec = "opus"
        self.last_incoming = clock()

    @property
    def channel(self) -> Channel | None:
        """The newest connection."""
        return self._channel

    @property
    def connected(self) -> bool:
        """Whether there is a socket."""
        return self._channel is not None and self._channel.open

    @property
    def timed_out(self) -> bool:
        """Whether no message came for `dead_after` seconds (Protocol::IsTimeout), pings apart."""
        return self._clock() - self.last_incoming > self._config.dead_after

    @property
    def channel_open(self) -> bool:
        """IsAudioChannelOpened: connected, and not silent for 120 s."""
        return self.connected and not self.timed_out

    async def open_audio_channel(self, url: str, token: str) -> None:
        """Connect, send hello, wait for the server's hello (OpenAudioChannel).

        Raises:
            ConnectError: no socket.
            HelloError: no acceptable hello within `hello_timeout`, or the server closed first.
        """
        if self._channel is not None:
            old, self._channel = self._channel, None
            await old.close()
        config, faults = self._config, self._config.misbehaviour
        headers = {
            "Protocol-Version": str(self.version),
            "Device-Id": config.device_id,
            "Client-Id": config.client_id,
        }
        if token:
            headers["Authorization"] = token if " " in token else f"Bearer {token}"
        self._hello.clear()
        channel = Channel(self, faults.pong_delay)
        await channel.connect(url, headers, config.hello_timeout)
        self._channel = channel
        self.last_incoming = self._clock()
        self._send_hello()
        if faults.hello in _HELLO_NOT_AWAITED:
            return
        try:
            async with asyncio.timeout(config.hello_timeout):
                await self._hello.wait()
        except TimeoutError:
            await channel.close()
            raise HelloError(f"no server hello within {config.hello_timeout:g} s") from None
        if not channel.open:
            close = self._records.closes[-1]
            raise HelloError(f"closed before the hello: {close.code} {close.reason}".rstrip())
        if faults.never_read:
            channel.stop_reading()

    @property
    def hello_awaited(self) -> bool:
        """False if a faulty hello is configured, which gets no answer."""
        return self._config.misbehaviour.hello not in _HELLO_NOT_AWAITED

    async def close(self) -> None:
        """Close the socket (CloseAudioChannel)."""
        if self._channel is not None:
            await self._channel.close()

    def hello_message(self) -> str:
        """GetHelloMessage."""
        config = self._config
        features: dict[str, Any] = {"aec": True} if config.server_aec else {}
        if config.mcp:
            features["mcp"] = True
        features["glyph_push"] = False
        body: dict[str, Any] = {
            "type": "hello",
            "version": self.version,
            "features": features,
            "transport": "websocket",
            "audio_params": {
                "format": config.codec,
                "sample_rate": config.uplink_rate,
                "channels": 1,
                "frame_duration": config.uplink_frame_ms,
            },
        }
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
            self.send(_WRONG_BINARY)
        elif fault != "none":
            for _ in range(2 if fault == "twice" else 1):
                self.send(self.hello_message())

    def send(self, data: str | bytes) -> bool:
        """Send a message unchanged; False if there is no connection."""
        return self._channel is not None and self._channel.send(data)

    def send_audio(self, packet: AudioPacket) -> bool:
        """SendAudio."""
        return self.send(pack(self.version, packet))

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

    def _send(self, fields: str) -> None:
        self.send(f'{{"session_id":"{self.session_id}",{fields}}}')

    # ChannelObserver

    def on_sent(self, data: str | bytes) -> None:
        """Record a message when it is written."""
        self._records.frame(self._clock(), "out", data)
        self._records.changed()

    def on_message(self, data: str | bytes) -> None:
        """The OnData callback of OpenAudioChannel."""
        now = self._clock()
        self._records.frame(now, "in", data)
        if isinstance(data, bytes):
            self._read_audio(data, now)
        else:
            self._read_text(data, now)
        self.last_incoming = now
        self._records.changed()

    def on_closed(self, close: CloseInfo) -> None:
        """The OnDisconnected callback of OpenAudioChannel."""
        self._records.closes.append(close)
        self._hello.set()  # ends the wait for it
        if self._channel is not None:  # None: a dead connection is being replaced
            self._observer.on_channel_closed(close)
        self._records.changed()

    def _read_audio(self, data: bytes, now: float) -> None:
        try:
            packet = unpack(self.version, data)
        except FramingError as error:
            self._records.counters.framing_errors += 1
            self._records.violations.append(str(error))
            return
        self._observer.on_audio(packet, now)

    def _read_text(self, data: str, now: float) -> None:
        body = parse_object(data)
        kind = None if body is None else body.get("type")
        if body is None or not isinstance(kind, str):
            self._records.violations.append(f"message without a type: {data[:200]}")
        elif kind == "hello":
            self._read_server_hello(body)
        else:
            self._observer.on_json(kind, body, now)

    def _read_server_hello(self, body: dict[str, Any]) -> None:
        """ParseServerHello. Without `transport` the firmware reads a null pointer and restarts."""
        if body.get("transport") != "websocket":
            self._records.violations.append(f"hello with transport {body.get('transport')!r}")
            return
        if isinstance(body.get("session_id"), str):
            self.session_id = body["session_id"]
        audio = body.get("audio_params")
        if isinstance(audio, dict):
            rate, frame_ms = audio.get("sample_rate"), audio.get("frame_duration")
            if isinstance(rate, int):
                self.server_rate = rate
            if isinstance(frame_ms, int):
                self.server_frame_ms = frame_ms
            # The firmware does not read it: what it is sent is Opus.
            self.server_codec = "pcm" if audio.get("format") == "pcm" else "opus"
            if self.server_codec != self._config.codec:
                self._records.violations.append(f"hello with format {audio.get('format')!r}")
        self._observer.on_server_hello(self.server_rate, self.server_frame_ms, self.server_codec)
        self._hello.set()
