"""The channel of one device over MQTT, with its audio over UDP.

It stands for as long as the device is connected to MQTT: from its start, day and night. A hello
opens a conversation in it, with a UDP key of its own; a goodbye ends that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vixio.core.tools.types import JsonObject
from vixio.transports.admission.identity import Identity
from vixio.transports.xiaozhi.channel import Channel, ChannelListener
from vixio.transports.xiaozhi.framing import Codec, Version, build_frame, parse_frame
from vixio.transports.xiaozhi.inbox import HIGH_WATER, Inbox
from vixio.transports.xiaozhi.mqtt.link import Link
from vixio.transports.xiaozhi.mqtt.udp import UdpAudio, UdpPort

if TYPE_CHECKING:
    from vixio.transports.xiaozhi.mqtt.carrier import MqttCarrier

MOST_WAITING: Final = 4 * HIGH_WATER
"""Messages that wait for a session that does not read: 15 s of audio. UDP itself cannot be made to
wait."""

VERSION: Final[Version] = 2
"""Inside: its header has the timestamp, and room for what was lost."""


class MqttChannel(Channel):
    """One device. ``udp_host``: the address that it gets for its audio."""

    transport: ClassVar[str] = "udp"
    standing: ClassVar[bool] = True

    def __init__(
        self,
        owner: MqttCarrier,
        link: Link,
        identity: Identity,
        udp: UdpPort,
        udp_host: str,
    ) -> None:
        self.identity = identity
        self.version = str(VERSION)
        self.headers: Mapping[str, str] = {}
        self.own_host = udp_host
        self.behind_proxy = False
        self.listener: ChannelListener | None = None
        self.tracked = link.tracked
        self.inbox = Inbox(link.pause_reading, link.resume_reading)
        self._owner = owner
        self._link = link
        self._udp = udp
        self._audio: UdpAudio | None = None
        self._cut = False

    @property
    def address(self) -> str:  # type: ignore[override]  # read only, where the base has a variable
        """The client's address."""
        return self.tracked.address

    @property
    def last_heard(self) -> float:  # type: ignore[override]  # likewise
        """When a packet of MQTT or of audio came."""
        heard = self._link.last_heard
        return heard if self._audio is None else max(heard, self._audio.last_heard)

    def agree(self, version: Version, codec: Codec) -> None:
        """Each conversation has its own hello."""

    def begin(self, frame_ms: int) -> JsonObject:
        """Open the audio of a conversation, with a new key: return the hello's section ``udp``."""
        self.end()
        audio = self._audio = self._udp.open(frame_ms, self._heard)
        return {
            "udp": {
                "server": self.own_host,
                "port": self._udp.port,
                "key": audio.key.hex(),
                "nonce": audio.nonce.hex(),
            }
        }

    def end(self) -> None:
        """Close the audio."""
        audio, self._audio = self._audio, None
        if audio is not None:
            audio.close()

    async def playable(self, timeout: float) -> bool:
        """Wait for the device's first packet: it says where it is."""
        return self._audio is not None and await self._audio.found(timeout)

    def send_now(self, *messages: str | bytes) -> bool:
        """Publish texts and send audio; false, and nothing is sent, if MQTT would have to wait.

        Audio outside a conversation is dropped, as the device would.
        """
        texts = [message.encode() for message in messages if isinstance(message, str)]
        if texts and not self._link.publish(*texts):
            return False
        for message in messages:
            if isinstance(message, str) or self._audio is None:
                continue
            if (frame := parse_frame(VERSION, message)) is not None:
                self._audio.send(frame.payload, frame.timestamp_ms)
        return True

    async def writable(self) -> None:
        """Wait until MQTT takes more. Raises ConnectionClosed if it never will."""
        await self._link.writable()

    def ping(self) -> None:
        """Do nothing: the device pings, and MQTT has no ping of a server."""

    def cut(self, why: str) -> None:
        """Take nothing more from the device: ``why`` was too much. Idempotent."""
        if self._cut:
            return
        self._cut = True
        if self.listener is not None:
            self.listener.cut_off(why)
        self._owner.cut_off(self, why)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close, within a bounded time. MQTT 3.1.1 has no way to say why. Idempotent."""
        self.end()
        await self._link.close()

    def abort(self) -> None:
        """End it at once."""
        self.end()
        self._link.abort()

    # ── what the carrier calls ───────────────────────────────────────────────────────────────

    def received(self, payload: bytes) -> None:
        """Take a message of the device."""
        if self._cut:
            return
        text = payload.decode("utf-8", "replace")
        if self.listener is None or not self.listener.intercept(text):
            self.inbox.put(text)

    def ended(self) -> None:
        """The device is gone."""
        self.end()
        if self.listener is not None:
            self.listener.lost()
        self.inbox.close()

    def _heard(self, packet: bytes, stamp: int, missing: int) -> None:
        if self._cut:
            return
        if len(self.inbox) < MOST_WAITING:
            self.inbox.put(build_frame(VERSION, packet, stamp, missing))
        else:
            self._udp.counters.add("udp.dropped.unread")
