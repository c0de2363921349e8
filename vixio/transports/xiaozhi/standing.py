"""A device that is always connected: conversations begin and end within its connection.

Between them it is idle, and can be reached: its tools are called, its screen shows notices, and a
firmware that knows ``speak_request`` is made to speak.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from vixio.audio.codec import OpusDecoder
from vixio.audio.echo import EchoCanceller
from vixio.core.chunk import Chunk, DeviceAsleep, DeviceAwake
from vixio.core.device import Device
from vixio.core.errors import ConnectionClosed
from vixio.core.waiters import Waiters
from vixio.transports.admission.admission import Admission
from vixio.transports.xiaozhi import messages
from vixio.transports.xiaozhi.channel import Channel
from vixio.transports.xiaozhi.connection import XiaozhiConnection
from vixio.transports.xiaozhi.hello import Hello, HelloRefused, parse_hello, server_hello
from vixio.transports.xiaozhi.protocol import (
    Event,
    Goodbye,
    HelloAgain,
    SpeakReady,
    XiaozhiProtocol,
)
from vixio.transports.xiaozhi.settings import XiaozhiSettings

ROUSE_S: Final = 5.0
"""In which an idle device that knows ``speak_request`` says hello."""

READY_S: Final = 3.0
"""From there to its ``speak_ready``. Where none comes the user has begun a conversation."""

FOUND_S: Final = 2.0
"""In which an awake device sends its first audio, which tells where it is."""

MISSES: Final = 2
"""Requests in a row without an answer after which a firmware does not know them: once, the network
may have been at fault."""

MAX_KNOWN: Final = 10_000
"""Devices that are remembered."""

_log = logging.getLogger(__name__)


class SpeakRequests:
    """Which devices answer ``speak_request``: learned by asking, and anew for another firmware."""

    def __init__(self) -> None:
        self._misses: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def worth_asking(self, device: Device) -> bool:
        """Whether the device may know it."""
        firmware, misses = self._misses.get(device.id, ("", 0))
        return misses < MISSES or firmware != device.firmware

    def note(self, device: Device, *, answered: bool) -> None:
        """Note what came of a request."""
        firmware, misses = self._misses.pop(device.id, ("", 0))
        if answered:
            return
        before = misses if firmware == device.firmware else 0
        self._misses[device.id] = (device.firmware, before + 1)
        if len(self._misses) > MAX_KNOWN:
            self._misses.popitem(last=False)


class StandingConnection(XiaozhiConnection):
    """A device behind a standing channel. Its ``device.features`` are those of the last hello."""

    def __init__(
        self,
        channel: Channel,
        protocol: XiaozhiProtocol,
        device: Device,
        settings: XiaozhiSettings,
        admission: Admission,
        requests: SpeakRequests,
        make_canceller: Callable[[Hello], EchoCanceller | None],
    ) -> None:
        super().__init__(channel, protocol, device, settings, admission)
        self._requests = requests
        self._make_canceller = make_canceller
        self._awake = self._ready = self._waking = False
        self._ended = ""
        """The session of an earlier connection that was ended."""
        self._changed = Waiters()
        protocol.on_other_session = self._end_other

    @property
    def awake(self) -> bool:
        """Whether a conversation is open."""
        return self._awake

    async def rouse(self, text: str = "") -> bool:
        """Have the device ready to play; false: it cannot be made to speak now."""
        if not self._awake and not await self._wake(text):
            return False
        if await self._channel.playable(FOUND_S):
            return True
        if self.roused:
            self._counters.add("udp.unreached")
            _log.warning(
                "a device that is ready to speak sends nothing over UDP: is mqtt.udp_port open?",
                extra=self._fields,
            )
        return False

    async def hang_up(self, reason: str) -> None:
        """End the conversation, and stay connected."""
        if self._awake:
            with suppress(ConnectionClosed):
                goodbye = self._protocol.encode_message(messages.goodbye())
                await self._write(goodbye)
                # The session hears it as if the device had said it.
                self._channel.inbox.put(goodbye)

    def end(self, why: str, code: int = 1000, reason: str = "") -> None:
        """Note that the connection is over. A device would stay in its conversation otherwise, and
        talk to nobody."""
        if self._awake and not self._closed:
            self._channel.send_now(self._protocol.encode_message(messages.goodbye()))
        super().end(why, code, reason)

    def _end_other(self, session_id: str) -> None:
        """End a conversation of an earlier connection, which the device may believe to go on."""
        if session_id != self._ended and not self._awake:
            self._ended = session_id
            goodbye = {**messages.goodbye(), "session_id": session_id}
            self._channel.send_now(self._protocol.encode_message(goodbye))

    async def _wake(self, text: str) -> bool:
        device = self.device
        if not self._requests.worth_asking(device):
            return False
        self._counters.add("xiaozhi.speak_requests")
        self._ready, self._waking = False, True
        try:
            await self._send(messages.speak_request(text))
            awake = await self._until(lambda: self._awake, ROUSE_S)
            self._requests.note(device, answered=awake)
            if not awake:
                self._counters.add("xiaozhi.speak_requests_unanswered")
                return False
            self.roused = await self._until(lambda: self._ready, READY_S)
            return self._awake
        finally:
            self._waking = False

    async def _until(self, happened: Callable[[], bool], timeout: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not (happened() or self._closed):
                    await self._changed.wait()
        return happened()

    # ── what the device sends ────────────────────────────────────────────────────────────────

    async def _handle(self, event: Event) -> Chunk | None:
        match event:
            case HelloAgain():
                return await self._begin(event)
            case Goodbye() if self._awake:
                self._awake = False
                self._channel.end()
                self._forget_audio()
                return DeviceAsleep()
            case SpeakReady() if self._waking:
                self._ready = True
                self._changed.wake()
            case SpeakReady():
                await self.hang_up("too late")  # it would wait in Speaking for what nobody says
            case _:
                return await super()._handle(event)
        return None

    async def _begin(self, event: HelloAgain) -> Chunk | None:
        hello = parse_hello(event.message, self._channel.version)
        if not isinstance(hello, HelloRefused) and hello.codec != "opus":
            hello = HelloRefused("audio_format", "audio over UDP is Opus")
        if isinstance(hello, HelloRefused):
            # There is no answer that says so: the device gives up after ten seconds.
            self._counters.add(f"xiaozhi.refused.hello.{hello.reason}")
            self._admission.refused(f"hello.{hello.reason}", self._channel.address, self.device.id)
            return None
        if not self._awake and (refusal := self._admission.check_conversation()) is not None:
            self._admission.refused(refusal.reason, self._channel.address, self.device.id)
            return None
        anew, self._awake = self._awake, True
        self.roused = False
        self.device = replace(self.device, features=hello.features)
        self._listen_to(hello)
        if "mcp" not in hello.features and self._tools is not None:
            self._tools.client.cancel_all()  # it was asked before it could say that it has none
        section = self._channel.begin(hello.audio.frame_ms)
        transport = self._channel.transport
        await self._send({**server_hello(self.session_id, self.output, transport), **section})
        self._counters.add("xiaozhi.conversations")
        self._changed.wake()
        return DeviceAwake(anew)

    def _forget_audio(self) -> None:
        """Free what belongs to one conversation: a device is idle for most of the day."""
        self._decoder.close()
        if self._echo is not None:
            self._echo.close()
            self._echo = None

    def _ignore(self, reason: str) -> None:
        if self._awake or reason != "bad_opus":  # else audio that was read behind the goodbye
            super()._ignore(reason)

    def _listen_to(self, hello: Hello) -> None:
        self._forget_audio()
        self._decoder = OpusDecoder()
        self._echo = self._make_canceller(hello)
        self._frame_ms = hello.audio.frame_ms
        self._text_font = hello.text_font

    @property
    def _keepalive_at(self) -> float:
        # An idle device counts nothing; it looks when a conversation begins (protocol.cc,
        # IsTimeout), with the hello just behind.
        return super()._keepalive_at if self._awake else math.inf
