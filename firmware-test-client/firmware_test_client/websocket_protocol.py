"""The protocol over a WebSocket, which lasts as long as the conversation.

Follows main/protocols/websocket_protocol.cc.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firmware_test_client.channel import Channel, HardClose
from firmware_test_client.config import DeviceConfig
from firmware_test_client.errors import Disconnected, HelloError
from firmware_test_client.framing import AudioPacket, FramingError, pack, unpack
from firmware_test_client.protocol import DeviceProtocol, ProtocolObserver
from firmware_test_client.records import CloseInfo, Records


class WebsocketProtocol(DeviceProtocol):
    """Each `open_audio_channel` makes a new channel."""

    carrier = "websocket"
    transport = "websocket"

    def __init__(
        self,
        config: DeviceConfig,
        records: Records,
        observer: ProtocolObserver,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(config, records, observer, clock)
        self.version = config.version or 1
        self._channel: Channel | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a socket."""
        return self._channel is not None and self._channel.open

    @property
    def online(self) -> bool:
        """Whether there is a socket."""
        return self.connected

    async def start(self) -> None:
        """Nothing is opened before the first conversation."""

    async def go_online(self) -> None:
        """See `start`."""

    async def open_audio_channel(self) -> None:
        """Connect, send hello, wait for the server's hello (OpenAudioChannel)."""
        if self._channel is not None:
            old, self._channel = self._channel, None
            await old.close()
        config, faults = self._config, self._config.misbehaviour
        url, token = self._server()
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
        if not self.hello_awaited:
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

    def _server(self) -> tuple[str, str]:
        """URL and token, read at each opening of the channel."""
        config, nvs = self._config, self._config.flash.nvs
        if config.ota_url is None:
            return config.ws_url or "", config.token or ""
        stored = nvs.integer("websocket", "version")
        self.version = config.version or stored or self.version
        return nvs.string("websocket", "url"), nvs.string("websocket", "token")

    async def close(self) -> None:
        """Close the socket (CloseAudioChannel)."""
        if self._channel is not None:
            await self._channel.close()

    async def shut_down(self) -> None:
        """Close the socket."""
        await self.close()

    def send(self, data: str | bytes) -> bool:
        """Send a message unchanged; False if there is no connection."""
        return self._channel is not None and self._channel.send(data)

    def send_audio(self, packet: AudioPacket) -> bool:
        """SendAudio."""
        return self.send(pack(self.version, packet))

    async def flush(self) -> None:
        """Wait until everything is written; during a stall, do not wait."""
        await self._existing().flush()

    async def ping(self, timeout: float) -> float:
        """WebSocket ping."""
        return await self._existing().ping(timeout)

    def _existing(self) -> Channel:
        if self._channel is None:
            raise Disconnected("the device has not connected yet")
        return self._channel

    # Faults

    def abort(self, how: HardClose) -> None:
        """End without a close frame."""
        if self._channel is not None:
            self._channel.abort(how)

    def stall(self) -> None:
        """Hold back everything that is sent from now on."""
        if self._channel is not None:
            self._channel.stall()

    def release(self) -> None:
        """Send everything that was held back."""
        if self._channel is not None:
            self._channel.release()

    def stop_reading(self) -> None:
        """Leave incoming data in the socket."""
        if self._channel is not None:
            self._channel.stop_reading()

    def resume_reading(self) -> None:
        """End `stop_reading`."""
        if self._channel is not None:
            self._channel.resume_reading()

    def send_wrong_sizes(self, count: int) -> None:
        """Frames with a wrong size field, also truncated ones (versions 2 and 3)."""
        whole = {2: bytes([0, 2, 0, 0]) + bytes(8) + b"\xff\xff\xff\xff", 3: b"\x00\x00\xff\xff"}
        head = whole.get(self.version, b"")
        for at in range(count):
            self.send(head[: len(head) - at] or b"\x00")

    # ChannelObserver

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
