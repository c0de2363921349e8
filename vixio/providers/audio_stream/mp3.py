"""Streaming MP3 by miniaudio's decoder (dr_mp3), frame by frame.

That decoder pulls its input and treats the end of data as final, so streaming into it would need a
thread per stream. However, a frame depends only on the few frames before it (the bit reservoir, the
overlap of the transform, the state of the filters). Therefore each batch of new frames is decoded
together with those before it, and their output is cut off. The result equals that of the whole
stream sample by sample. It takes about 50 µs per frame of 24 ms.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from vixio.providers.audio_stream.formats import AudioError, FormatDecoder
from vixio.providers.audio_stream.mixing import to_mono
from vixio.providers.audio_stream.mp3_frames import (
    HEADER_BYTES,
    FrameHeader,
    begins_with_frames,
    parse_header,
    same_stream,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RESERVOIR: Final = 511
"""Bytes of earlier frames that a frame may refer to (``main_data_begin`` has nine bits)."""
_OVERHEAD: Final = 38
"""Maximum bytes of a frame besides main data: header, checksum, side information."""
_PRIMING: Final = 3
"""Frames after which the state of transform and filters equals that of the whole stream."""
_MAX_PAST: Final = 40

_MAX_GARBAGE: Final = 65_536
"""Bytes without a frame after which the stream is rejected."""

_ID3_HEADER: Final = 10
_MAX_TAG: Final = 4_194_304


def load() -> None:
    """Import the decoder, which takes a tenth of a second. Raises ImportError."""
    import miniaudio  # noqa: F401 - loaded for later


class MP3Decoder(FormatDecoder):
    """Decodes frames of one version and rate; tags and other bytes are skipped.

    ``rest``: what follows frames of another one; it is for another decoder.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.rest = b""
        self._first: FrameHeader | None = None
        self._past: deque[bytes] = deque(maxlen=_MAX_PAST)
        self._skip = 0
        self._garbage = 0
        self._synced = False
        self._decoded = False

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        return self._decode(self._frames(final=False))

    def finish(self) -> bytes:
        pcm = self._decode(self._frames(final=True))
        self._buffer.clear()
        if not self._decoded:
            raise AudioError("the MP3 holds no sound that can be decoded")
        return pcm

    def _frames(self, *, final: bool) -> list[bytes]:
        """Remove and return the complete frames in the buffer."""
        found: list[bytes] = []
        buffer = self._buffer
        while True:
            if self._skip:
                skipped = min(self._skip, len(buffer))
                del buffer[:skipped]
                self._skip -= skipped
            if len(buffer) < (HEADER_BYTES if final else _ID3_HEADER):
                return found
            if self._is_tag():
                continue
            header = self._header(final=final)
            if header is None:
                likely = parse_header(buffer)
                if self._changes(likely):
                    self.rest = bytes(buffer)
                    buffer.clear()
                    return found
                if likely is not None and not final and len(buffer) < likely.size + HEADER_BYTES:
                    return found  # the next header confirms this one
                if not self._resync(final=final):
                    return found
                continue
            if len(buffer) < header.size:
                return found
            frame = bytes(buffer[: header.size])
            del buffer[: header.size]
            self._synced, self._garbage = True, 0
            if self._first is None:
                self._first, self.sample_rate = header, header.sample_rate
                if b"Xing" in frame[:44] or b"Info" in frame[:44]:
                    continue  # a table of contents in a frame without sound
            found.append(frame)

    def _changes(self, likely: FrameHeader | None) -> bool:
        """Whether the stream goes on at another rate, as at the change of a station's programme."""
        if likely is None or self._first is None or same_stream(self._first, likely):
            return False
        return begins_with_frames(self._buffer)

    def _header(self, *, final: bool) -> FrameHeader | None:
        header = parse_header(self._buffer)
        if header is None or (self._first is not None and not same_stream(self._first, header)):
            return None
        if not self._synced and not begins_with_frames(self._buffer, final=final):
            return None
        return header

    def _is_tag(self) -> bool:
        """Return whether an ID3v2 tag starts here, and skip it. Tags may occur between frames."""
        head = self._buffer[:_ID3_HEADER]
        if len(head) < _ID3_HEADER or head[:3] != b"ID3" or any(byte > 127 for byte in head[6:10]):
            return False
        size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
        if size > _MAX_TAG:
            raise AudioError("the MP3 carries a tag of more than 4 MB")
        self._skip = size + _ID3_HEADER + (_ID3_HEADER if head[5] & 0x10 else 0)
        return True

    def _resync(self, *, final: bool) -> bool:
        """Skip to the next possible start of a frame or tag; return whether there is one."""
        self._synced = False
        buffer = self._buffer
        places = [at for at in (buffer.find(b"\xff", 1), buffer.find(b"ID3", 1)) if at > 0]
        at = min(places) if places else len(buffer) - (0 if final else 2)
        del buffer[:at]
        self._garbage += at
        if self._garbage > _MAX_GARBAGE:
            raise AudioError("the service sent what is no MP3")
        return bool(places)

    def _decode(self, frames: list[bytes]) -> bytes:
        if not frames or self._first is None:
            return b""
        past = b"".join(self._past)
        samples = _read(past + b"".join(frames))
        new = len(frames) * self._first.samples
        if len(samples) < (len(self._past) + len(frames)) * self._first.samples:
            # Some frames have no output: past ones without their own past, or broken new ones.
            new = len(samples) - len(_read(past))
        self._remember(frames)
        if new <= 0:
            return b""
        self._decoded = True
        return to_mono(samples[-new:])

    def _remember(self, frames: list[bytes]) -> None:
        self._past.extend(frames)
        enough, kept = 0, 0
        for frame in reversed(self._past):
            kept += 1
            if kept > _PRIMING:
                enough += max(0, len(frame) - _OVERHEAD)
            if enough >= _RESERVOIR:
                break
        while len(self._past) > kept:
            self._past.popleft()


def _read(frames: bytes) -> NDArray:  # type: ignore[type-arg]  # int16, of shape (samples, channels)
    import miniaudio
    import numpy as np

    try:
        sound = miniaudio.mp3_read_s16(frames) if frames else None
    except miniaudio.DecodeError:  # none of these frames can be decoded
        sound = None
    if sound is None:
        return np.zeros((0, 1), np.int16)
    return np.frombuffer(sound.samples, np.int16).reshape(-1, sound.nchannels)
