"""One reply of the server as the device received it: text, times, audio flow.

All times are seconds of the event loop's monotonic clock; all durations ending in `_ms` are
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from firmware_test_client.pcm import Pcm

_HEAD_START: Final = 0.3  # seconds after the first packet, in which a sender may run ahead


@dataclass(frozen=True, slots=True)
class Sentence:
    """A subtitle (`tts sentence_start`) and when it came."""

    text: str
    time: float


@dataclass(slots=True)
class Reply:
    """From `tts start` to the end of playout after `tts stop`."""

    index: int  # 0 for the first of this device
    tts_start: float
    asked: str | None = None  # what the device said or typed before
    speech_end: float | None = None  # end of the voice (not of the file), or of typing
    stt: str | None = None
    stt_at: float | None = None  # arrival of it
    sentences: list[Sentence] = field(default_factory=list)
    emotions: list[str] = field(default_factory=list)
    tool_calls: list[str] = field(default_factory=list)
    first_audio: float | None = None  # arrival of the first packet
    first_played: float | None = None
    tts_stop: float | None = None
    playout_end: float | None = None  # end of the last frame that sounded
    ended: bool = False  # stopped and played out, or cut off
    cut: bool = False  # ended because the connection closed
    aborted: bool = False  # the device sent `abort`

    too_early: int = 0  # packets after `tts start` that arrived before the device could play
    too_early_ms: float = 0.0  # their duration
    frames: int = 0  # packets that arrived in Speaking
    played: int = 0
    played_ms: float = 0.0  # what the user heard of the reply
    late: int = 0  # arrived after their slot in the schedule that the first played frame set
    underruns: int = 0  # silences between two frames because no packet was there
    gap_ms: float = 0.0  # all underruns together
    overflows: int = 0  # dropped by the full decode queue
    decode_errors: int = 0
    clipped_ms: float = 0.0  # arrived and never heard: too early, flushed, or after `tts stop`
    jitter_ms: float = 0.0  # RFC 3550 section 6.4.1, after the head start
    max_queue: int = 0  # packets, decode queue
    min_lead_ms: float | None = None  # least unplayed audio when a packet arrived, after head start
    audio_ms: float = 0.0  # duration of all packets

    heard_chunks: list[bytes] = field(default_factory=list, repr=False)
    heard_rate: int = 24_000
    _last_arrival: float = 0.0
    _last_duration: float = 0.0

    @property
    def text(self) -> str:
        """All subtitles, joined by spaces."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def heard(self) -> Pcm:
        """What came out of the loudspeaker."""
        return Pcm(b"".join(self.heard_chunks), self.heard_rate)

    @property
    def response_ms(self) -> float | None:
        """End of the own speech → first audio packet."""
        if self.first_audio is None or self.speech_end is None:
            return None
        return (self.first_audio - self.speech_end) * 1000

    @property
    def stop_lag_ms(self) -> float | None:
        """End of playout → `tts stop`. Negative: the stop arrived before the end of playout."""
        if self.tts_stop is None or self.playout_end is None:
            return None
        return (self.tts_stop - self.playout_end) * 1000

    def arrived(self, now: float, duration: float, lead: float) -> None:
        """Count a packet of `duration` seconds; `lead` seconds are not played yet."""
        self.frames += 1
        if self.first_audio is None:
            self.first_audio = now
        elif now - self.first_audio >= _HEAD_START:
            difference = now - self._last_arrival - self._last_duration
            self.jitter_ms += (abs(difference) * 1000 - self.jitter_ms) / 16
            if self.min_lead_ms is None or lead * 1000 < self.min_lead_ms:
                self.min_lead_ms = lead * 1000
        if self.first_played is not None and now > self.first_played + self.audio_ms / 1000:
            self.late += 1
        self._last_arrival, self._last_duration = now, duration
        self.audio_ms += duration * 1000

    def as_dict(self) -> dict[str, object]:
        """The figures of this reply, ready for JSON; times relative to the end of speech."""
        origin = self.speech_end if self.speech_end is not None else self.tts_start

        def after(time: float | None) -> float | None:
            return None if time is None else round((time - origin) * 1000, 1)

        return {
            "index": self.index,
            "asked": self.asked,
            "stt": self.stt,
            "text": self.text,
            "emotions": self.emotions,
            "tool_calls": self.tool_calls,
            "tts_start_ms": after(self.tts_start),
            "first_audio_ms": after(self.first_audio),
            "sentences_ms": [after(sentence.time) for sentence in self.sentences],
            "tts_stop_ms": after(self.tts_stop),
            "playout_end_ms": after(self.playout_end),
            "stop_lag_ms": None if self.stop_lag_ms is None else round(self.stop_lag_ms, 1),
            "audio_ms": round(self.audio_ms, 1),
            "too_early": self.too_early,
            "too_early_ms": round(self.too_early_ms, 1),
            "frames": self.frames,
            "played": self.played,
            "played_ms": round(self.played_ms, 1),
            "late": self.late,
            "underruns": self.underruns,
            "gap_ms": round(self.gap_ms, 1),
            "overflows": self.overflows,
            "decode_errors": self.decode_errors,
            "clipped_ms": round(self.clipped_ms, 1),
            "jitter_ms": round(self.jitter_ms, 2),
            "max_queue": self.max_queue,
            "min_lead_ms": None if self.min_lead_ms is None else round(self.min_lead_ms, 1),
            "aborted": self.aborted,
            "cut": self.cut,
        }
