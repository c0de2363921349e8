"""The microphone: room noise and the user's voice, cut into packets in real time.

The voice does not depend on the microphone's state: what is said while the microphone is off is
lost. The device's own loudspeaker can be mixed in as echo. Packets are sent by absolute deadlines;
if the event loop was busy, the missed ones follow at once.

Follows EnableVoiceProcessing and AudioInputTask in main/audio/audio_service.cc: 120 ms of warm-up
after switching on, one packet a frame for as long as the device listens, DTX included.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from firmware_test_client.live import LiveSound
from firmware_test_client.opus import Encoder
from firmware_test_client.pcm import Pcm
from firmware_test_client.pcm_codec import PcmEncoder
from firmware_test_client.speech import (
    StreamFormat,
    Utterance,
    encoded_noise,
    encoded_speech,
    noise_samples,
)

WARM_UP: Final = 0.120  # seconds, audio_input_need_warmup_ in AudioInputTask


@dataclass(frozen=True, slots=True)
class Spoken:
    """Something the user said, on the event loop's monotonic clock (seconds)."""

    text: str
    start: float  # of the sound
    end: float
    voice_start: float  # first and last audible moment
    voice_end: float
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class _Voice:
    start: float
    end: float
    samples: npt.NDArray[np.int16]
    packets: tuple[bytes, ...]  # in the room's noise; empty with an own encoder


@dataclass(frozen=True, slots=True)
class _Echo:
    start: float
    end: float
    samples: npt.NDArray[np.int32]  # at the uplink rate


class Microphone:
    """One device's microphone.

    Args:
        format: of the packets.
        emit: takes each packet.
        shared: take packets from the process-wide cache instead of an own encoder.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        format_: StreamFormat,
        emit: Callable[[bytes], None],
        *,
        shared: bool,
    ) -> None:
        self._loop = loop
        self._format = format_
        self._emit = emit
        self._shared = shared
        self._noise_packets: tuple[bytes, ...] = ()
        self._frame = format_.frame_ms / 1000
        self._encoder: Encoder | PcmEncoder | None = None
        self._noise = noise_samples(format_.rate, format_.noise_dbfs).samples
        self._voices: list[_Voice] = []
        self._echoes: list[_Echo] = []
        self._timer: asyncio.TimerHandle | None = None
        self._origin = 0.0  # start of frame 0
        self._count = 0  # frames since then
        self.live: LiveSound | None = None  # mixed in; not with packets from the cache
        self.on = False

    @property
    def records_from(self) -> float:
        """When the warm-up is over, since `start` (monotonic seconds)."""
        return self._origin

    def start(self) -> None:
        """Switch on; the first packet leaves after the warm-up and one frame."""
        self._cancel()
        self.on = True
        if self._shared:
            self._noise_packets = encoded_noise(self._format)
        if self.live is not None:
            self.live.clear()  # what was recorded while it was off
        self._origin, self._count = self._loop.time() + WARM_UP, 0
        self._schedule()

    def stop(self) -> None:
        """Switch off; the frame that has begun is lost."""
        self._cancel()
        self.on = False

    def catch_up(self) -> None:
        """Emit what is due: the event loop may be late, the microphone is not."""
        now = self._loop.time()
        while self.on and self._origin + (self._count + 1) * self._frame <= now:
            self._cancel()
            self._tick()

    def speak(self, utterance: Utterance) -> Spoken:
        """Start an utterance, on a frame boundary if the microphone is on."""
        now = self._loop.time()
        start = now
        if self.on:
            frames = max(0, math.ceil((now - self._origin) / self._frame))
            start = self._origin + frames * self._frame
        spoken = Spoken(
            utterance.text,
            start,
            start + utterance.pcm.duration,
            start + utterance.voice_start,
            start + utterance.voice_end,
            utterance,
        )
        packets = encoded_speech(utterance, self._format) if self._shared else ()
        self._voices.append(_Voice(start, spoken.end, utterance.pcm.samples, packets))
        return spoken

    def hush(self) -> None:
        """Break off what is being said."""
        self._voices.clear()

    def overhear(self, pcm: Pcm, start: float, gain_db: float) -> None:
        """Mix in a sound of the loudspeaker that reaches the microphone from `start` on."""
        sound = pcm.resampled(self._format.rate)
        samples = np.round(sound.samples * 10 ** (gain_db / 20)).astype(np.int32)
        self._echoes.append(_Echo(start, start + sound.duration, samples))

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        deadline = self._origin + (self._count + 1) * self._frame
        self._timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        start = self._origin + self._count * self._frame
        index = self._count
        self._count += 1
        self._schedule()
        heard: list[_Voice] = []
        if self._voices:
            self._voices = [voice for voice in self._voices if voice.end > start]
            heard = [voice for voice in self._voices if voice.start < start + self._frame]
        if self._echoes:
            self._echoes = [echo for echo in self._echoes if echo.end > start]
        if self._shared:
            self._emit(self._cached_packet(start, index, heard))
        else:
            self._emit(self._encoded_packet(start, index, heard))

    def _cached_packet(self, start: float, index: int, heard: list[_Voice]) -> bytes:
        for voice in heard:
            at = round((start - voice.start) / self._frame)
            if 0 <= at < len(voice.packets):
                return voice.packets[at]
        return self._noise_packets[index % len(self._noise_packets)]

    def _encoded_packet(self, start: float, index: int, heard: list[_Voice]) -> bytes:
        count = self._format.frame_samples
        at = index * count % len(self._noise)
        frame = self._noise[at : at + count].astype(np.int32)
        for voice in heard:
            self._mix(frame, voice.samples, start - voice.start)
        for echo in self._echoes:
            self._mix(frame, echo.samples, start - echo.start)
        if self.live is not None:
            self._mix(frame, self.live.take(count), 0.0)
        if self._encoder is None:
            self._encoder = self._format.encoder()
        return self._encoder.encode(np.clip(frame, -32768, 32767).astype("<i2").tobytes())

    def _mix(
        self, frame: npt.NDArray[np.int32], sound: npt.NDArray[np.integer], offset: float
    ) -> None:
        """Add the part of `sound` that falls into `frame`, which begins `offset` seconds in."""
        first = round(offset * self._format.rate)
        part = sound[max(0, first) : max(0, first + len(frame))]
        into = max(0, -first)
        frame[into : into + len(part)] += part
