"""A device whose microphone hears its loudspeaker, in the time of the audio."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from firmware_test_client.opus import Encoder
from vixio.audio.codec import OpusDecoder, OpusEncoder
from vixio.audio.echo import EchoCanceller
from vixio.core.audio import LISTEN_RATE, AudioFormat
from vixio.testing.voices import Floats

PACKET_MS: Final = 60
HEAD_START_MS: Final = 300
SPEECH_DB: Final = -23.0
"""RMS of both voices where they sound, below full scale; the echo's is below that by its level."""
ROOM_DB: Final = -62.0
LEAD_S: Final = 0.5
_FRAME: Final = LISTEN_RATE * PACKET_MS // 1000


@dataclass(frozen=True, slots=True)
class Case:
    """One device. Levels are against the user's voice; times in milliseconds unless in seconds."""

    delay_ms: int
    echo_db: float
    opus: bool = True
    distorts: bool = True
    drift_ppm: int = 0
    """By so much its loudspeaker's clock is slow against its microphone's."""
    way_ms: int = 10
    """Of the network, each direction."""
    jitter_ms: int = 0
    """A packet of the microphone is late by up to that."""
    stamps: bool = True
    """Whether it sends timestamps back (binary version 2)."""
    jump_ms: int = 0
    """At :attr:`at_s`: it runs dry for that long, or loses so much of what it is sent (below 0)."""
    lost: int = 0
    """From :attr:`at_s`: packets of the microphone that never come, one a second."""
    stall_ms: int = 0
    """At :attr:`at_s`: packets of the microphone come later, all at once."""
    at_s: float = 8.0
    marked: bool = True

    @property
    def name(self) -> str:
        """What the table calls it."""
        words = [f"{self.delay_ms} ms, {self.echo_db:g} dB"]
        words += ["no Opus"] if not self.opus else []
        words += ["clean loudspeaker"] if not self.distorts else []
        words += [f"clocks {self.drift_ppm} ppm apart"] if self.drift_ppm else []
        words += [f"network {self.way_ms} ms each way"] if self.way_ms > 50 else []
        words += [f"jitter {self.jitter_ms} ms"] if self.jitter_ms else []
        words += [f"jump {self.jump_ms:+} ms"] if self.jump_ms else []
        words += [f"{self.lost} packets lost"] if self.lost else []
        words += [f"stall of {self.stall_ms} ms"] if self.stall_ms else []
        words += ["no timestamps"] if not self.stamps else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Sound:
    """What is said over what: at 16 kHz, full scale is 1."""

    answer: Floats
    user: Floats


@dataclass(frozen=True, slots=True)
class Heard:
    """What the server makes of the microphone; sample for sample in the microphone's time."""

    microphone: Floats
    cleaned: Floats
    cpu_s: float
    jumps: int


def level(sound: Floats) -> float:
    """Return the RMS of a voice where it sounds."""
    frames = sound[: len(sound) // 320 * 320].reshape(-1, 320)
    power = np.mean(frames**2, axis=1)
    return float(np.sqrt(np.mean(power[power > power.max() / 1000])))


def as_pcm(sound: Floats) -> bytes:
    """Return 16-bit samples."""
    return np.clip(np.round(sound * 32768), -32768, 32767).astype("<i2").tobytes()


def hear(case: Case, sound: Sound, *, canceller: EchoCanceller | None, seed: int = 1) -> Heard:
    """Play one case; without a ``canceller`` the microphone is what is heard."""
    draw = np.random.default_rng(seed)
    length = len(sound.user) // _FRAME * _FRAME
    packets, played = _downlink(sound.answer)
    sent = [
        LEAD_S + max(0, index * PACKET_MS - HEAD_START_MS) / 1000 for index in range(len(packets))
    ]
    starts = _playout(case, sent)
    echo = _echo(case, played, starts, length, draw)
    noise = draw.standard_normal(length) * 10 ** (ROOM_DB / 20)
    microphone = np.asarray(echo + sound.user[:length] + noise, np.float32)
    coded = _uplink(case, microphone)
    stamps = _timestamps(case, starts, length // _FRAME)
    way = case.way_ms / 1000
    lost = {round((case.at_s + each) * 1000 / PACKET_MS) for each in range(case.lost)}
    jitter = draw.uniform(0, case.jitter_ms / 1000, length // _FRAME)
    cleaned = np.zeros(length, np.float32)
    arrived = 0.0
    cpu = 0.0
    nth = 0
    begun = canceller is None
    for frame in range(length // _FRAME):
        end = (frame + 1) * PACKET_MS / 1000
        if frame in lost:
            continue
        arrival = end + way + jitter[frame]
        if case.at_s <= end < case.at_s + case.stall_ms / 1000:
            arrival = case.at_s + case.stall_ms / 1000 + way
        arrived = max(arrived, arrival)
        place = slice(frame * _FRAME, (frame + 1) * _FRAME)
        pcm = coded[frame]
        if canceller is not None:
            if not begun and arrived >= LEAD_S - 0.16:
                canceller.begin(LEAD_S - 0.16)
                begun = True
            while nth < len(packets) and sent[nth] <= arrived:
                canceller.play([packets[nth]], nth * PACKET_MS, PACKET_MS, sent[nth])
                nth += 1
            before = time.process_time()
            pcm = canceller.clean(pcm, arrived, stamps[frame] if case.stamps else 0)
            cpu += time.process_time() - before
        cleaned[place] = np.frombuffer(pcm, "<i2") / np.float32(32768)
    jumps = canceller.jumps if canceller is not None else 0
    return Heard(microphone, cleaned, cpu, jumps)


def _downlink(answer: Floats) -> tuple[list[bytes], Floats]:
    """Return the packets, and what a device makes of them at 16 kHz."""
    encoder = OpusEncoder(AudioFormat(24_000, PACKET_MS))
    packets = encoder.encode(as_pcm(answer), LISTEN_RATE) + encoder.flush()
    with OpusDecoder() as decoder:
        pcm = b"".join(map(decoder.decode, packets))
    return packets, np.asarray(np.frombuffer(pcm, "<i2") / 32768, np.float32)


def _playout(case: Case, sent: Sequence[float]) -> list[float | None]:
    """Return when each packet begins to play; None: it is lost."""
    free, starts, jumped = 0.0, list[float | None](), False
    step = PACKET_MS / 1000 * (1 + case.drift_ppm / 1e6)
    for at in sent:
        start = max(free, at + case.way_ms / 1000)
        if case.jump_ms and not jumped and start >= case.at_s:
            jumped = True
            if case.jump_ms < 0:
                starts.append(None)
                continue
            start += case.jump_ms / 1000
        starts.append(start)
        free = start + step
    return starts


def _echo(
    case: Case,
    played: Floats,
    starts: Sequence[float | None],
    length: int,
    draw: np.random.Generator,
) -> Floats:
    """Return what the loudspeaker makes in the microphone."""
    sounds = np.zeros(length + LISTEN_RATE, np.float32)
    for index, start in enumerate(starts):
        if start is None:
            continue
        part = played[index * _FRAME : (index + 1) * _FRAME]
        if case.drift_ppm:
            part = _stretched(played, index * _FRAME, case.drift_ppm)
        at = round((start + case.delay_ms / 1000) * LISTEN_RATE)
        if at < length:
            sounds[at : at + len(part)] = part[: len(sounds) - at]
    if case.distorts:
        sounds = np.asarray(np.tanh(4 * sounds) / 4, np.float32)
    tail = round(0.25 * LISTEN_RATE)
    room = draw.standard_normal(tail) * np.exp(-np.arange(tail) * 6.9 / tail) * 0.05
    room[0] = 1.0
    echoed = np.fft.irfft(
        np.fft.rfft(sounds, 2 * len(sounds)) * np.fft.rfft(room, 2 * len(sounds))
    )[:length]
    gain = 10 ** ((SPEECH_DB + case.echo_db) / 20) / level(np.asarray(echoed, np.float32))
    return np.asarray(echoed * gain, np.float32)


def _stretched(played: Floats, first: int, ppm: int) -> Floats:
    """Return a packet as a clock plays it that is slow by ``ppm``: some samples' thousandths."""
    count = round(_FRAME * (1 + ppm / 1e6)) + 1
    places = first + np.arange(count) / (1 + ppm / 1e6)
    return np.asarray(np.interp(places, np.arange(len(played)), played), np.float32)


def _uplink(case: Case, microphone: Floats) -> list[bytes]:
    """Return what the server decodes, frame by frame."""
    pcm = as_pcm(microphone)
    frames = [pcm[at : at + 2 * _FRAME] for at in range(0, len(pcm), 2 * _FRAME)]
    if not case.opus:
        return frames
    encoder = Encoder(LISTEN_RATE, PACKET_MS, "audio", 0)
    with OpusDecoder() as decoder:
        return [decoder.decode(encoder.encode(frame)) for frame in frames]


def _timestamps(case: Case, starts: Sequence[float | None], frames: int) -> list[int]:
    """Return the timestamp that each packet of the microphone carries (audio_service.cc)."""
    ended = [
        (start + PACKET_MS / 1000, index * PACKET_MS)
        for index, start in enumerate(starts)
        if start is not None and index
    ]
    waiting: list[int] = []
    stamps = []
    for frame in range(frames):
        while ended and ended[0][0] <= (frame + 1) * PACKET_MS / 1000:
            waiting.append(ended.pop(0)[1])
        usable = len(waiting) <= 3
        stamps.append(waiting.pop(0) if waiting else 0)
        if not usable:
            stamps[-1] = 0
    return stamps
