"""Takes the assistant's own voice out of a device's microphone: WebRTC's AEC3 (pywebrtc-audio).

For firmware that leaves echo cancellation to the server (CONFIG_USE_SERVER_AEC). What such a device
plays is known: the packets that it is sent, each from the end of the one before or from its
sending. AEC3 finds an echo 0 to 500 ms behind the reference, and nothing where the reference comes
later than its echo. So the microphone's samples, which are a clock as even as the loudspeaker's,
are laid beside the reference by the earliest of their arrivals: the echo then lies behind by the
way to the device and back. If that is too long, the timestamps that it sends back say by how much.

Pure in time: every call says when it happens, on the event loop's clock (seconds). Not thread-safe.
Between replies the microphone passes untouched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Final

from vixio.audio.codec import OpusDecoder
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pywebrtc_audio import AudioProcessor

    Samples = NDArray[np.int16]

_MS: Final = LISTEN_RATE // 1000

TAIL_MS: Final = 500
"""It works for so long behind the last sound: the longest way of an echo, and the room's."""

HELD_MS: Final = 300
"""Behind a jump AEC3 begins anew; for so long nothing is heard."""

JUMP_MS: Final = 45
"""The echo has moved by more than AEC3 follows unnoticed: most of a packet of 60 ms."""

SPARED: Final = 8
"""Packets that must all be late before some count as lost: a stall is followed by a burst."""

FRESH_S: Final = 1.0
"""What came earlier may be of the time before the microphone was switched off and on again."""

RANGE_MS: Final = (-120, 100)
"""How far the reference may be ahead of the timestamps that come back with the microphone. A
timestamp is noted up to a packet behind its sound, or before it by the loudspeaker's buffer of some
60 ms (audio_service.cc, AudioOutputTask), so the echo lies up to 150 ms further behind."""

TARGET_MS: Final = 30
"""Where it is laid if it is out of that range: AEC3 then finds an echo 400 ms behind as well."""

TIMESTAMPS: Final = 5
"""The least of so many counts: the firmware queues up to three (MAX_TIMESTAMPS_IN_QUEUE)."""

KEPT_MS: Final = 3_000
"""Of the reference behind what was read: a late microphone may jump back."""


def is_installed() -> bool:
    """Whether the extra ``aec`` is installed."""
    return find_spec("pywebrtc_audio") is not None


class EchoCanceller:
    """The canceller of one connection."""

    def __init__(self) -> None:
        self._processor: AudioProcessor | None = None
        self.broken = False
        """Whether it was given up."""
        self._reference = _Reference()
        self._active_until = float("-inf")
        self._position = 0
        """Samples of the microphone so far."""
        self._arrivals: deque[tuple[float, float]] = deque(maxlen=SPARED)
        """When packets came, and how far their end was behind the microphone's clock (samples)."""
        self._usual: float | None = None
        """How far the end of a packet is behind it that comes without delay; None: not known."""
        self._later = 0
        """By so much the reference is laid later than by the arrivals, in samples."""
        self._ahead: deque[int] = deque(maxlen=TIMESTAMPS)
        """How far the reference was ahead of the last timestamps, in samples."""
        self._silent = False
        """Whether the last packet had no timestamp."""
        self._held = 0
        self.jumps = 0
        """How often the echo has moved at once."""

    def begin(self, at: float) -> None:
        """``tts start`` was sent: the device drops what it was sent before, but for one packet."""
        self._reference.begin(at)
        self._ahead.clear()
        self._active_until = max(self._active_until, at + TAIL_MS / 1000)

    def play(self, packets: Sequence[bytes], timestamp_ms: int, packet_ms: int, at: float) -> None:
        """Opus packets were sent; ``timestamp_ms``: of the first one."""
        for number, packet in enumerate(packets):
            self._reference.add(packet, timestamp_ms + number * packet_ms, packet_ms, at)
        self._active_until = self._reference.end / LISTEN_RATE + TAIL_MS / 1000

    def clean(self, pcm: bytes, at: float, timestamp_ms: int = 0) -> bytes:
        """Return what came from the microphone at ``at``, without the echo; of the same length.

        ``timestamp_ms``: of the packet that the device had played then; 0: none. The first call
        beside a reply loads the library, in 2 ms, and takes 0.3 MB. After a failure
        (:meth:`give_up`) it is silence for as long as the device plays. Raises ImportError without
        the extra ``aec``, and whatever the library raises.
        """
        count = len(pcm) // BYTES_PER_SAMPLE
        self._position += count
        behind = at * LISTEN_RATE - self._position
        self._arrivals.append((at, behind))
        if self._usual is None and at > self._active_until:
            return pcm
        if self.broken:
            return bytes(len(pcm))
        start = self._aligned(behind) - count
        if start > self._active_until * LISTEN_RATE:
            self._usual = None
            return pcm
        start += self._follow(start, timestamp_ms, behind)
        cleaned = self._process(pcm, start)
        if self._held > 0:
            self._held -= count
            return bytes(len(pcm))
        return cleaned

    def give_up(self) -> None:
        """It has failed: from now on the microphone is silent while the device plays."""
        self.broken = True
        self._usual = self._processor = None

    def close(self) -> None:
        """Free what the libraries hold."""
        self._processor = None
        self._reference.close()

    def _process(self, pcm: bytes, start: int) -> bytes:
        import numpy as np

        if self._processor is None:
            from pywebrtc_audio import AudioProcessor

            self._processor = AudioProcessor(sample_rate=LISTEN_RATE, echo_cancellation=True)
        near = np.frombuffer(pcm, "<i2")
        cleaned: bytes = self._processor.process(
            near, self._reference.read(start, len(near))
        ).tobytes()
        return cleaned

    # ── laying one beside the other ──────────────────────────────────────────────────────────

    def _aligned(self, behind: float) -> int:
        """Return where the reference is at the end of the packet that came last."""
        usual = self._usual
        if usual is None:
            at = self._arrivals[-1][0]
            usual = min(each for came, each in self._arrivals if came > at - FRESH_S)
        elif behind < usual - JUMP_MS * _MS:  # it cannot come before it was recorded
            usual = behind
            self._jump()
        elif (late := self._late()) > usual + JUMP_MS * _MS:
            usual = late
            self._jump()
        self._usual = usual
        return round(self._position + usual) - self._later

    def _late(self) -> float:
        """Return how far all of the last packets were behind; -inf if they came in a burst."""
        arrivals = self._arrivals
        if len(arrivals) < SPARED:
            return float("-inf")
        lasted = (arrivals[0][1] - arrivals[-1][1]) / LISTEN_RATE + arrivals[-1][0] - arrivals[0][0]
        spread = arrivals[-1][0] - arrivals[0][0]
        return min(each for _, each in arrivals) if spread > 0.75 * lasted else float("-inf")

    def _follow(self, start: int, timestamp_ms: int, behind: float) -> int:
        """Compare with what the device says that it plays; return by how much to go on."""
        silent, self._silent = self._silent, not timestamp_ms
        played = self._reference.place_of(timestamp_ms) if timestamp_ms else None
        if played is None:
            return 0
        ahead, known = start - played, self._ahead
        moved = known[-1] - ahead if known else 0
        if moved > JUMP_MS * _MS:
            # Packets are missing; the reference goes on with them.
            assert self._usual is not None  # noqa: S101  _aligned sets it
            if behind > self._usual + JUMP_MS * _MS:  # of the microphone: silence in their place
                self._usual += moved
                self._process(bytes(moved * BYTES_PER_SAMPLE), start)
            else:
                self._later -= moved
        elif moved < -JUMP_MS * _MS and silent and len(known) == TIMESTAMPS:
            # The device had run dry. Not with what it gets at first: a timestamp came too late for
            # its packet there.
            self._later -= moved
        else:
            moved = 0
        known.append(ahead + moved)
        return moved + self._brought_back()

    def _brought_back(self) -> int:
        """Return by how much the reference was laid anew, because it is out of the range."""
        known = self._ahead
        ahead = min(known)
        early = ahead > RANGE_MS[1] * _MS
        late = ahead < RANGE_MS[0] * _MS and len(known) == TIMESTAMPS
        if not (early or late):
            return 0
        correction = TARGET_MS * _MS - ahead
        self._later -= correction
        for index, each in enumerate(known):
            known[index] = each + correction
        self._jump()
        return correction

    def _jump(self) -> None:
        self.jumps += 1
        self._held = HELD_MS * _MS
        if self._processor is not None:
            self._processor.reset()


class _Reference:
    """What the loudspeaker plays, by the event loop's clock in samples."""

    def __init__(self) -> None:
        self._decoder: OpusDecoder | None = None
        self._pieces: deque[tuple[int, Samples]] = deque()
        """In order, without overlaps; where each begins."""
        self._places: dict[int, int] = {}
        """Of this reply, by timestamp: where the packet begins."""
        self.end = 0

    def begin(self, at: float) -> None:
        """Go on as the device does at ``tts start``: with a new decoder, and an empty queue."""
        self.close()
        self._places.clear()
        now = round(at * LISTEN_RATE)
        while self._pieces and self._pieces[-1][0] > now:
            self._pieces.pop()
        self.end = min(self.end, now)

    def add(self, packet: bytes, timestamp_ms: int, packet_ms: int, at: float) -> None:
        """Decode a packet that is sent at ``at``."""
        import numpy as np

        if self._decoder is None:
            self._decoder = OpusDecoder()
        start = max(self.end, round(at * LISTEN_RATE))
        samples = np.frombuffer(self._decoder.decode(packet), "<i2")
        self._pieces.append((start, samples))
        self._places[timestamp_ms] = start
        self.end = start + packet_ms * _MS
        while self._pieces[0][0] < start - 2 * KEPT_MS * _MS:
            self._pieces.popleft()
        for old in list(islice(self._places, max(0, len(self._places) - 100))):
            del self._places[old]

    def place_of(self, timestamp_ms: int) -> int | None:
        """Return where a packet of this reply begins; None for one that is not known."""
        return self._places.get(timestamp_ms)

    def read(self, start: int, count: int) -> Samples:
        """Return what is played from ``start`` on: silence where there is nothing."""
        import numpy as np

        out = np.zeros(count, np.int16)
        for begin, samples in self._pieces:
            first, last = max(begin, start), min(begin + len(samples), start + count)
            if first < last:
                out[first - start : last - start] = samples[first - begin : last - begin]
        while self._pieces and self._pieces[0][0] < start - KEPT_MS * _MS:
            self._pieces.popleft()
        return out

    def close(self) -> None:
        """Free the decoder."""
        if self._decoder is not None:
            self._decoder.close()
            self._decoder = None
