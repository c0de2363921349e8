"""The input quota of one connection. Runs for every frame: a few additions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from websockets.frames import Frame, Opcode

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.transports.admission.limits import Bucket, Limits, share
from vixio.transports.xiaozhi.framing import Codec, Version

Packet = bytes | bytearray | memoryview

MAX_FRAGMENTS = 1_024
"""Fragments of one message; devices send none. The library bounds their bytes, not their number."""

PATIENCE = 10.0
"""How much slower than the quota itself the excess is forgiven: a sender that stays a tenth above
the limit is closed in the end."""

MAX_PACKET_S: Final = 0.12  # RFC 6716 §3.2.5

TOO_MUCH_AUDIO: Final = "too much audio"
TOO_MANY_MESSAGES: Final = "too many messages"
TOO_MANY_FRAGMENTS: Final = "too many fragments"

_HEADER_BYTES: Final[dict[Version, int]] = {1: 0, 2: 16, 3: 4}


def _frame_seconds(toc: int) -> float:
    """Return the duration of each frame of a packet that begins with ``toc`` (RFC 6716 §3.1)."""
    config = toc >> 3
    if config < 12:  # SILK
        return (0.010, 0.020, 0.040, 0.060)[config & 3]
    if config < 16:  # hybrid
        return (0.010, 0.020)[config & 1]
    return (0.0025, 0.005, 0.010, 0.020)[config & 3]


# Codes 0 to 2 of the first byte tell the number of frames; code 3 has it in the second byte.
_PACKET_SECONDS: Final = tuple(_frame_seconds(toc) * (1, 2, 2, 1)[toc & 3] for toc in range(256))


def packet_seconds(packet: Packet, start: int = 0) -> float:
    """Return how much audio the Opus packet in ``packet[start:]`` states; no more than one holds.

    A packet that is cut short states what its first byte says, an empty one nothing.
    """
    if len(packet) <= start:
        return 0.0
    toc = packet[start]
    seconds = _PACKET_SECONDS[toc]
    if toc & 3 == 3 and len(packet) > start + 1:
        seconds *= packet[start + 1] & 0x3F
    return seconds if seconds < MAX_PACKET_S else MAX_PACKET_S


def _pcm_packet_seconds(packet: Packet, start: int) -> float:
    """Return how much PCM at ``LISTEN_RATE`` stands in ``packet[start:]``, however much it is."""
    return max(0, len(packet) - start) / (BYTES_PER_SAMPLE * LISTEN_RATE)


class Verdict(Enum):
    """What is done with a frame."""

    TAKE = auto()
    DROP = auto()
    CLOSE = auto()


class InputQuota:
    """The quota of one connection. ``excess``: the limit that the last dropped frame exceeded."""

    __slots__ = (
        "_audio",
        "_audio_patience",
        "_fragments",
        "_messages",
        "_messages_patience",
        "_offset",
        "_per_audio_second",
        "_per_byte",
        "_per_frame",
        "_per_message",
        "_per_message_byte",
        "_seconds",
        "excess",
    )

    def __init__(self, limits: Limits) -> None:
        self.excess = ""
        self._offset = 0
        self._seconds: Callable[[Packet, int], float] = packet_seconds
        self._fragments = 0
        self._audio = Bucket(limits.audio_burst)
        self._audio_patience = Bucket(limits.audio_burst * PATIENCE)
        self._messages = Bucket(limits.message_burst)
        self._messages_patience = Bucket(limits.message_burst * PATIENCE)
        on = limits.audio_burst > 0
        self._per_audio_second = share(limits.audio_rate) * on
        self._per_frame = share(limits.frames_per_second) * on
        self._per_byte = share(limits.audio_bytes_per_second) * on
        on = limits.message_burst > 0
        self._per_message = share(limits.messages_per_second) * on
        self._per_message_byte = share(limits.message_bytes_per_second) * on

    def agree(self, version: Version, codec: Codec = "opus") -> None:
        """Read packets of this codec behind the header of this version from now on.

        The bytes of PCM are its seconds. The limit of bytes is one of Opus: PCM in real time
        would use up all of it.
        """
        self._offset = _HEADER_BYTES[version]
        if codec == "pcm":
            self._seconds = _pcm_packet_seconds
            self._per_byte = 0.0

    def judge(self, frame: Frame, at: float) -> Verdict:
        """Charge a frame. A dropped one is charged as well, towards closing the connection."""
        opcode = frame.opcode
        if opcode is Opcode.CLOSE:
            return Verdict.TAKE
        data = frame.data
        if opcode is Opcode.BINARY and frame.fin:
            return self.judge_packet(data, at)
        if opcode is Opcode.CONT or not frame.fin:
            return self._judge_fragment(frame, at)
        return self.judge_message(len(data), at)

    def judge_message(self, size: int, at: float) -> Verdict:
        """Charge a message of ``size`` bytes that is no audio."""
        cost = self._cost(size)
        if self._messages.take(cost, at):
            return Verdict.TAKE
        self.excess = TOO_MANY_MESSAGES
        taken = self._messages_patience.take(cost * PATIENCE, at)
        return Verdict.DROP if taken else Verdict.CLOSE

    def judge_packet(self, data: Packet, at: float) -> Verdict:
        """Charge a packet of audio, behind the header of its version."""
        cost = self._seconds(data, self._offset) * self._per_audio_second
        cost = max(cost, len(data) * self._per_byte, self._per_frame)
        if self._audio.take(cost, at):
            return Verdict.TAKE
        self.excess = TOO_MUCH_AUDIO
        taken = self._audio_patience.take(cost * PATIENCE, at)
        return Verdict.DROP if taken else Verdict.CLOSE

    def _cost(self, size: int) -> float:
        return max(self._per_message, size * self._per_message_byte)

    def _judge_fragment(self, frame: Frame, at: float) -> Verdict:
        # A dropped fragment would corrupt its message: take all of them, or close.
        self._fragments = 1 if frame.opcode is not Opcode.CONT else self._fragments + 1
        if self._fragments <= MAX_FRAGMENTS and self._messages.take(
            self._cost(len(frame.data)), at
        ):
            return Verdict.TAKE
        self.excess = TOO_MANY_FRAGMENTS
        return Verdict.CLOSE
