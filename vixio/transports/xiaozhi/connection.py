"""One connected device, from its hello to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from vixio.audio.codec import OpusDecoder, OpusEncoder, PcmDecoder, PcmEncoder
from vixio.audio.echo import EchoCanceller
from vixio.core.chunk import AudioIn, Chunk
from vixio.core.clock import now
from vixio.core.device import Device
from vixio.core.errors import ConnectionClosed
from vixio.core.tools.device import DeviceToolClientBase
from vixio.core.tools.types import JsonObject
from vixio.core.transport import (
    GOING_AWAY,
    REPLACED,
    AudioEncoder,
    DeviceConnection,
    DeviceToolsCallback,
)
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.limits import Bucket, share
from vixio.transports.xiaozhi import messages
from vixio.transports.xiaozhi.channel import Channel
from vixio.transports.xiaozhi.framing import Codec
from vixio.transports.xiaozhi.glyphs import TextFont
from vixio.transports.xiaozhi.hello import DEFAULT_FRAME_MS, server_hello
from vixio.transports.xiaozhi.protocol import (
    AudioPacket,
    Event,
    Ignored,
    McpFrame,
    Reply,
    XiaozhiProtocol,
)
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.tool_feed import ToolFeed

POLICY_VIOLATION = 1008

READS_IN_A_ROW = 16
"""Messages taken before the loop runs other tasks: reading one that has arrived does not wait, and
a burst after a stall takes 0.1 ms a packet to decode."""

GATHERED_MS = 180
"""Of a quiet microphone's audio, taken at once: three packets as devices send them. A voice is
noticed two packets later at most, and the pre-roll holds what was said until then."""

FEW_DEVICES = 12
"""With more, there is always a packet to work on, and none is worth waiting for another."""

HARMLESS = {"goodbye", "iot", "repeated_hello", "unknown_type"}
"""Reasons of ignored input that are no mistake of a client."""

BAD_MESSAGES = "too many malformed messages"

_log = logging.getLogger(__name__)


class XiaozhiConnection(DeviceConnection):
    """A device behind a channel. It has no reader of its own: ``receive`` empties the inbox."""

    def __init__(
        self,
        channel: Channel,
        protocol: XiaozhiProtocol,
        device: Device,
        settings: XiaozhiSettings,
        admission: Admission,
        *,
        frame_ms: int = DEFAULT_FRAME_MS,
        codec: Codec = "opus",
        echo: EchoCanceller | None = None,
        text_font: TextFont | None = None,
    ) -> None:
        """``frame_ms``: the length of the packets that the device sends. ``codec``: of both
        directions. ``echo``: takes the loudspeaker out of the microphone. ``text_font``: of a
        screen that takes glyphs."""
        self.session_id = protocol.session_id
        self.device = device
        self.output = settings.output
        self._channel = channel
        self._protocol = protocol
        self._settings = settings
        self._admission = admission
        self._frame_ms = frame_ms
        self._counters = admission.counters
        self._limits = admission.limits
        self._fields = {"device": device.id, "session": self.session_id}
        self._codec: Codec = codec
        self._decoder: PcmDecoder | OpusDecoder = PcmDecoder() if codec == "pcm" else OpusDecoder()
        self._echo = echo
        self._text_font = text_font
        self._tools: ToolFeed | None = None
        self._closed = False
        self._why = ""
        self._goodbye = (1000, "")
        self._last_sent = now()
        self._reads = 0
        self._bad = Bucket(60.0)
        self._per_bad = share(self._limits.bad_messages / 60.0)
        channel.listener = self

    # ── receiving ───────────────────────────────────────────────────────────────────────────────

    async def receive(self) -> Chunk:
        """Return the next chunk. Safe to cancel, as the inbox is."""
        inbox = self._channel.inbox
        # On a core that sleeps between packets, each wake-up costs as much as its work.
        few = self.may_gather and self._admission.conversing <= FEW_DEVICES
        inbox.enough = max(1, GATHERED_MS // self._frame_ms) if few else 1
        while True:
            if self._closed:
                raise ConnectionClosed(self._why)
            if not inbox:
                self._reads = 0
            elif self._reads >= READS_IN_A_ROW:
                self._reads = 0
                await asyncio.sleep(0)
                continue
            self._reads += 1
            try:
                data = await inbox.get()
            except EOFError:
                raise ConnectionClosed(self._why) from None
            event = self._protocol.parse(data)
            if isinstance(event, AudioPacket):
                pcm = self._decoder.decode(event.payload)
                if pcm:
                    return self._heard(pcm, event)
                self._ignore(f"bad_{self._codec}")
            elif isinstance(event, Chunk):
                return event
            elif (chunk := await self._handle(event)) is not None:
                return chunk

    async def _handle(self, event: Event) -> Chunk | None:
        """Take what is no chunk; return one if it amounts to that."""
        match event:
            case Reply():
                await self._send(event.message)
            case McpFrame():
                self._take_mcp(event)
            case Ignored():
                self._ignore(event.reason)
        return None

    def intercept(self, text: str) -> bool:
        """Take an MCP message on its arrival, ahead of the audio that waits to be read."""
        # A cheap test first, so that other messages are parsed only once, when they are read.
        if '"mcp"' not in text:
            return False
        event = self._protocol.parse(text)
        if not isinstance(event, McpFrame):
            return False
        self._take_mcp(event)
        return True

    def _take_mcp(self, frame: McpFrame) -> None:
        if frame.broken:
            self._counters.add("xiaozhi.mcp.broken_json")
        if self._tools is None:
            self._ignore("unexpected_mcp")
        else:
            self._tools.take(frame.payload)

    def _ignore(self, reason: str) -> None:
        self._counters.add(f"xiaozhi.ignored.{reason}")
        _log.debug("input ignored", extra={**self._fields, "reason": reason})
        if reason not in HARMLESS and not self._bad.take(self._per_bad, now()):
            self._counters.add("xiaozhi.limited.bad_messages")
            self._channel.cut(BAD_MESSAGES)

    # ── echo ────────────────────────────────────────────────────────────────────────────────────

    @property
    def hears_itself(self) -> bool:
        """Whether the microphone hears the loudspeaker, and nothing takes that out. May change."""
        return super().hears_itself and (self._echo is None or self._echo.broken)

    def _heard(self, pcm: bytes, packet: AudioPacket) -> AudioIn:
        at = now()
        gap_ms = packet.missing * self._frame_ms if self._channel.standing else 0
        if self._echo is not None:
            try:
                pcm = self._echo.clean(pcm, at, packet.timestamp_ms)
            except Exception as error:  # noqa: BLE001  a library's defect costs what the library does
                pcm = bytes(len(pcm))
                self._give_up(self._echo, error)
        return AudioIn(pcm, at, gap_ms)

    def _give_up(self, echo: EchoCanceller, error: Exception) -> None:
        if echo.broken:
            return
        echo.give_up()
        self._counters.add("xiaozhi.echo.failed")
        _log.error(
            "echo canceller failed: the device is not heard while it speaks",
            extra={**self._fields, "error": type(error).__name__, "detail": str(error)},
        )

    # ── sending ─────────────────────────────────────────────────────────────────────────────────

    def new_encoder(self) -> AudioEncoder:
        """Return an encoder with a fresh state, as the device's decoder has after "tts start"."""
        settings = self._settings
        if self._codec == "pcm":
            return PcmEncoder(self.output)
        return OpusEncoder(
            self.output,
            settings.opus_complexity,
            settings.opus_bitrate,
            settings.opus_application,
        )

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Send packets in the binary protocol's version, by one write."""
        encode, step = self._protocol.encode_audio, self.output.frame_ms
        await self._write(
            *(encode(packet, timestamp_ms + at * step) for at, packet in enumerate(packets))
        )
        if self._echo is not None:
            try:
                self._echo.play(packets, timestamp_ms, step, now())
            except Exception as error:  # noqa: BLE001  as in _heard
                self._give_up(self._echo, error)

    async def send_transcript(self, text: str) -> None:
        """Show the user's words."""
        await self._send_words(text, messages.stt(text))

    async def send_emotion(self, name: str, emoji: str) -> None:
        """Change the face."""
        await self._send(messages.llm(name, emoji))

    async def send_speech_start(self) -> None:
        """Make the device ready to play."""
        await self._send(messages.tts_start())
        if self._echo is not None:
            self._echo.begin(now())

    async def send_sentence(self, text: str) -> None:
        """Show the sentence whose audio comes next."""
        await self._send_words(text, messages.tts_sentence_start(text))

    async def send_speech_stop(self) -> None:
        """End of the reply."""
        await self._send(messages.tts_stop())

    async def send_alert(self, status: str, message: str, emotion: str) -> None:
        """Show a notice."""
        await self._send(messages.alert(status, message, emotion))

    async def send_reboot(self) -> None:
        """Have the device restart."""
        await self._send(messages.reboot())

    async def send_custom(self, payload: JsonObject) -> None:
        """Send a JSON object to firmware built for such."""
        await self._send(messages.custom(payload))

    async def send_hello(self) -> None:
        """Answer the device's hello."""
        transport = self._channel.transport
        await self._send(server_hello(self.session_id, self.output, transport, self._codec))

    async def _send_words(self, text: str, message: JsonObject) -> None:
        """Send a text with the glyphs that the device's font lacks for it."""
        font = self._text_font
        if font is not None and (glyphs := await font.push_for(text)) is not None:
            message["glyph_push"] = glyphs
        await self._send(message)

    async def _send(self, message: JsonObject) -> None:
        await self._write(self._protocol.encode_message(message))

    async def _write(self, *messages: str | bytes) -> None:
        if self.permit is not None and not self.permit.valid and not await self.permit.confirmed():
            self.end("another process serves the device")
        if self._closed:
            raise ConnectionClosed(self._why)
        if not self._channel.send_now(*messages):
            await self._write_later(*messages)
        self._last_sent = now()

    async def _write_later(self, *messages: str | bytes) -> None:
        """Wait, for a bounded time, until the device takes more. Cancelled, it has sent nothing."""
        channel = self._channel
        try:
            async with asyncio.timeout(self._settings.send_timeout):
                while not channel.send_now(*messages):
                    await channel.writable()
        except TimeoutError:
            if not self._closed:  # only the first of several waiting senders reports it
                self._counters.add("xiaozhi.closed.not_reading")
                _log.warning("send timeout, closing the connection", extra=self._fields)
            self.end("the device does not read")
            channel.abort()
            raise ConnectionClosed(self._why) from None
        except ConnectionClosed as closed:
            self.end(str(closed))
            raise ConnectionClosed(self._why) from None

    # ── tools ───────────────────────────────────────────────────────────────────────────────────

    def start_tools(self, vision: JsonObject | None = None) -> None:
        """List the device's tools, beside the conversation; ``vision`` goes to its camera."""
        self._tools = ToolFeed(
            self.session_id,
            self.device.id,
            self._send,
            self._settings,
            vision,
            counters=self._counters,
            max_pending_calls=self._limits.pending_tool_calls,
        )
        self._tools.start()

    @property
    def tool_client(self) -> DeviceToolClientBase | None:
        """The client of the device's tools; None: it has none."""
        return self._tools.client if self._tools is not None else None

    def add_tools_callback(self, callback: DeviceToolsCallback) -> None:
        """Call ``callback`` with the device's tools; never for a device without a tool server."""
        if self._tools is not None:
            self._tools.add_callback(callback)

    # ── living and ending ───────────────────────────────────────────────────────────────────────

    async def keep_alive(self) -> None:
        """Ping, keep the device from giving up, and close when nothing is heard; until the end."""
        settings, channel = self._settings, self._channel
        next_ping = now() + settings.ping_interval
        while not self._closed:
            time = now()
            if time >= channel.last_heard + settings.dead_after:
                self._counters.add("xiaozhi.closed.silent")
                _log.warning("receive timeout, closing the connection", extra=self._fields)
                await self.close(GOING_AWAY, "nothing heard")
                return
            try:
                if time >= next_ping:
                    channel.ping()
                    next_ping = time + settings.ping_interval
                if time >= self._keepalive_at:
                    await self._send(messages.keepalive())
            except ConnectionClosed:
                return
            dead_at = channel.last_heard + settings.dead_after
            await asyncio.sleep(min(next_ping, self._keepalive_at, dead_at) - now())

    @property
    def _keepalive_at(self) -> float:
        """When something must be sent, or the device gives up."""
        return self._last_sent + self._settings.keepalive_after

    def lost(self) -> None:
        """The device is gone, or is leaving."""
        self.end("the device is gone")

    def cut_off(self, why: str) -> None:
        """The device sent too much; the carrier closes the channel."""
        _log.warning("connection cut off", extra={**self._fields, "reason": why})
        self.end(why, POLICY_VIOLATION, why)

    def end(self, why: str, code: int = 1000, reason: str = "") -> None:
        """Note that the connection is over: nothing waits for it after this. Idempotent.

        The first call decides with which ``code`` and ``reason`` :meth:`close` closes.
        """
        if self._closed:
            return
        self._closed = True
        self._why = why
        self._goodbye = (code, reason)
        if code == REPLACED:
            self._counters.add("xiaozhi.closed.replaced")
        if self._tools is not None:
            self._tools.close()
        self._channel.inbox.close()
        self._decoder.close()
        if self._echo is not None:
            self._echo.close()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a reason; all waits for the device end at once. Idempotent."""
        self.end(reason or "the server closed the connection", code, reason)
        await self._channel.close(*self._goodbye)
