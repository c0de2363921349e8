"""From the decode queue to the loudspeaker, in real time, without a thread or a task.

Follows main/audio/audio_service.cc: PushPacketToDecodeQueue (40 packets, the newest is dropped),
OpusCodecTask (decodes ahead into a playback queue of 2), AudioOutputTask (one frame at a time, each
as long as it sounds), ResetDecoder (empties both queues, not the frame that sounds) and
MarkPlaybackDrainedLocked. The loudspeaker's own buffer (I2S DMA) is not simulated: it would
hide gaps of up to 60 ms, which are counted here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from firmware_test_client.config import Codec
from firmware_test_client.framing import AudioPacket
from firmware_test_client.opus import Decoder, OpusError, packet_duration_ms
from firmware_test_client.pcm_codec import PcmDecoder
from firmware_test_client.replies import Reply

DECODE_QUEUE_PACKETS: Final = 40  # MAX_DECODE_PACKETS_IN_QUEUE, whatever a packet's duration
PLAYBACK_QUEUE_FRAMES: Final = 2  # MAX_PLAYBACK_TASKS_IN_QUEUE


@dataclass(frozen=True, slots=True)
class Heard:
    """One frame that came out of the loudspeaker."""

    time: float  # monotonic seconds of its first sample
    duration: float  # seconds
    pcm: bytes  # empty when the device does not decode
    rate: int  # Hz
    reply: int  # Reply.index


@dataclass(frozen=True, slots=True)
class _Queued:
    packet: AudioPacket
    reply: Reply
    arrived: float
    duration: float


@dataclass(frozen=True, slots=True)
class _Ready:
    pcm: bytes
    source: _Queued
    duration: float


class PlayoutObserver(Protocol):
    """Receives the events of a playout."""

    def on_sound(self, pcm: bytes, rate: int, start: float) -> None:
        """A frame begins to play at `start`; `pcm` is empty without decoding."""

    def on_heard(self, heard: Heard, timestamp: int) -> None:
        """A frame was played to its end; `timestamp` is its packet's."""

    def on_decode_error(self, reply: Reply, error: str) -> None:
        """A packet was refused by the decoder and dropped."""

    def on_drained(self) -> None:
        """Nothing is queued and nothing plays."""


class Playout:
    """The downlink half of AudioService."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, observer: PlayoutObserver, *, decode: bool
    ) -> None:
        self._loop = loop
        self._observer = observer
        self._decode = decode
        self._decoder: Decoder | PcmDecoder | None = None
        self._rate, self._frame_ms = 24_000, 60
        self._configured: tuple[int, int, Codec] | None = None
        self._measure: Callable[[bytes], float] = packet_duration_ms
        self._queue: deque[_Queued] = deque()
        self._playback: deque[_Ready] = deque()
        self._sounding: _Ready | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._free_at = 0.0  # when the last decoded frame ends
        self._last_reply: Reply | None = None
        self._drained_notified = True
        self._held_up = 0.0  # seconds that the event loop was late, until all was played
        self.max_queue = 0

    @property
    def idle(self) -> bool:
        """AudioService::IsPlaybackIdle."""
        return not self._queue and not self._playback and self._sounding is None

    @property
    def queued(self) -> int:
        """Packets in the decode queue."""
        return len(self._queue)

    def configure(self, rate: int, frame_ms: int, codec: Codec = "opus") -> None:
        """Use the format that the server's hello announced (SetDecodeSampleRate).

        Raises:
            OpusError: no decoder can be made; every packet is then refused, as on the firmware.
        """
        if self._configured == (rate, frame_ms, codec):
            return
        self._configured, self._decoder = None, None
        decoder: Decoder | PcmDecoder
        if codec == "pcm":
            decoder = pcm = PcmDecoder(rate, frame_ms)
            self._measure = pcm.duration_ms
        else:
            decoder, self._measure = Decoder(rate, frame_ms), packet_duration_ms
        self._configured = (rate, frame_ms, codec)
        self._rate, self._frame_ms = rate, frame_ms
        if self._decode:
            self._decoder = decoder

    def duration_ms(self, payload: bytes) -> float:
        """How long a packet plays.

        Raises:
            OpusError: the decoder will refuse it.
        """
        return self._measure(payload)

    def push(self, packet: AudioPacket, reply: Reply, now: float) -> bool:
        """Queue an arriving packet; False if the queue is full and the packet is lost."""
        try:
            duration = self.duration_ms(packet.payload) / 1000
        except OpusError:
            duration = 0.0  # the decoder will report the error
        self._catch_up(now)
        reply.arrived(now, duration, self._lead(now))
        # What waited in the socket meanwhile comes at once; a device would have played it.
        waited = int(self._held_up / duration) if duration else 0
        if len(self._queue) >= DECODE_QUEUE_PACKETS + waited:
            reply.overflows += 1
            reply.clipped_ms += duration * 1000
            return False
        self._drained_notified = False
        self._queue.append(_Queued(packet, reply, now, duration))
        self.max_queue = max(self.max_queue, len(self._queue))
        reply.max_queue = max(reply.max_queue, len(self._queue))
        self._pump()
        return True

    def reset(self) -> None:
        """Empty the queues; the frame that plays continues (AudioService::ResetDecoder)."""
        for queued in [*self._queue, *(ready.source for ready in self._playback)]:
            queued.reply.clipped_ms += queued.duration * 1000
        self._queue.clear()
        self._playback.clear()
        if self._decoder is not None:
            self._decoder.reset()
        self._notify_drained()

    def close(self) -> None:
        """Stop playing at once."""
        self._queue.clear()
        self._playback.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._sounding = None

    @property
    def silent_since(self) -> float:
        """When the last decoded frame ended, or will end."""
        return self._free_at

    def _lead(self, now: float) -> float:
        waiting = sum(queued.duration for queued in self._queue)
        waiting += sum(ready.duration for ready in self._playback)
        return waiting + (max(0.0, self._free_at - now) if self._sounding is not None else 0.0)

    def _pump(self) -> None:
        while self._queue and len(self._playback) < PLAYBACK_QUEUE_FRAMES:
            self._decode_one(self._queue.popleft())
            if self._sounding is None and self._playback:
                self._begin()
        if self._sounding is None and self._playback:
            self._begin()

    def _decode_one(self, queued: _Queued) -> None:
        try:
            if self._configured is None:
                raise OpusError("the decoder is not configured")
            if self._decoder is not None:
                pcm = self._decoder.decode(queued.packet.payload)
                duration = len(pcm) / 2 / self._rate
            else:
                pcm, duration = b"", self.duration_ms(queued.packet.payload) / 1000
                if duration * 1000 > self._frame_ms:
                    raise OpusError(f"{duration * 1000} ms where {self._frame_ms} were announced")
        except OpusError as error:
            queued.reply.decode_errors += 1
            self._observer.on_decode_error(queued.reply, str(error))
            if self.idle:
                self._loop.call_soon(self._notify_drained)
            return
        self._playback.append(_Ready(pcm, queued, duration))

    def _begin(self) -> None:
        frame = self._playback.popleft()
        reply, arrived = frame.source.reply, frame.source.arrived
        # A frame starts at the end of the last one, even if the event loop is late: no drift.
        start = max(self._free_at, arrived)
        if reply is self._last_reply and start > self._free_at:
            reply.underruns += 1
            reply.gap_ms += (start - self._free_at) * 1000
        if reply.first_played is None:
            reply.first_played = start
            reply.heard_rate = self._rate
        self._last_reply = reply
        self._sounding = frame
        self._free_at = start + frame.duration
        self._observer.on_sound(frame.pcm, self._rate, start)
        self._timer = self._loop.call_at(self._free_at, self._finish)

    def _catch_up(self, now: float) -> None:
        """Play what is due: the event loop may be late, the device is not."""
        late = now - self._free_at if self._sounding is not None else 0.0
        while self._sounding is not None and self._free_at <= now:
            if self._timer is not None:
                self._timer.cancel()
            self._finish()
        self._held_up = max(self._held_up, late)

    def _finish(self) -> None:
        frame = self._sounding
        if frame is None:
            return
        reply = frame.source.reply
        reply.played += 1
        reply.played_ms += frame.duration * 1000
        reply.playout_end = self._free_at
        self._sounding = None
        start = self._free_at - frame.duration
        heard = Heard(start, frame.duration, frame.pcm, self._rate, reply.index)
        self._observer.on_heard(heard, frame.source.packet.timestamp)
        self._pump()
        self._notify_drained()

    def _notify_drained(self) -> None:
        if self.idle and not self._drained_notified:
            self._drained_notified = True
            self._held_up = 0.0
            self._observer.on_drained()
