"""The codecs of the wire: Opus in both directions through libopus (opuslib's bindings), and PCM.

PCM is for clients that have no Opus, web browsers without WebCodecs: 16-bit little-endian mono, as
inside, so nothing is coded; frames are only checked and cut.

libopus decodes a stream of any rate to the requested rate, so the microphone comes out at
``LISTEN_RATE`` whatever the device sends. Each thread keeps the buffers that libopus writes to: a
frame costs one library call (which releases the GIL) and one copy, and a device no memory for them.

What the bindings, libopus and the resampler need is loaded by :func:`load_codec`, once, off the
event loop: importing them takes tens of milliseconds and starts a process to find the library.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from abc import abstractmethod
from types import TracebackType
from typing import Any, Final, Literal, Self

from vixio.audio.libopus import LibopusState, load_libopus
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, AudioFormat
from vixio.core.errors import ConfigError
from vixio.core.transport import AudioEncoder


@functools.cache
def load_resampler() -> None:
    """Load numpy and the resampler, which takes tens of milliseconds. Idempotent, blocking."""
    import numpy as np
    import soxr

    soxr.resample(np.zeros(160, np.int16), 16_000, 24_000)


class PacketEncoder(AudioEncoder):
    """The PCM of one reply to packets of ``output``. Subclasses encode whole frames."""

    def __init__(self, output: AudioFormat) -> None:
        self.packet_ms = output.frame_ms
        self.output = output
        self._pending = bytearray()  # PCM at the output rate, less than a packet of it
        self._resampler: _Resampler | None = None
        self._carry = b""  # half a sample, when a provider's chunk ended inside one
        self._rate = output.sample_rate

    @abstractmethod
    def encode_frame(self, pcm: bytes) -> bytes | None:
        """Return the packet of one frame of PCM at the output rate; None: it can make no more."""

    def encode(self, pcm: bytes, sample_rate: int) -> list[bytes]:
        """Take PCM at any rate (Hz) and return the packets that it completed."""
        if sample_rate != self._rate:
            self._pending += self._drain()
            self._rate = sample_rate
            if sample_rate != self.output.sample_rate:
                self._resampler = _Resampler(sample_rate, self.output.sample_rate)
        if self._carry:
            pcm = self._carry + pcm
            self._carry = b""
        if len(pcm) % BYTES_PER_SAMPLE:
            pcm, self._carry = pcm[:-1], pcm[-1:]
        self._pending += self._resampler.feed(pcm) if self._resampler is not None else pcm
        return self._whole_packets()

    def flush(self) -> list[bytes]:
        """Return the rest, padded with silence to whole packets."""
        self._pending += self._drain()
        missing = -len(self._pending) % self.output.frame_bytes
        self._pending += bytes(missing)
        return self._whole_packets()

    def _drain(self) -> bytes:
        """End the stream of the present rate and return what its resampler still held."""
        self._carry = b""
        resampler, self._resampler = self._resampler, None
        self._rate = self.output.sample_rate
        return resampler.finish() if resampler is not None else b""

    def _whole_packets(self) -> list[bytes]:
        size = self.output.frame_bytes
        whole = len(self._pending) // size * size
        if not whole:
            return []
        pcm = bytes(self._pending[:whole])
        del self._pending[:whole]
        packets = (self.encode_frame(pcm[start : start + size]) for start in range(0, whole, size))
        return [packet for packet in packets if packet is not None]


class _Resampler:
    """A stream of PCM from one rate to another (libsoxr, "HQ": flat to 0.91 of Nyquist)."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        import numpy as np
        import soxr

        self._np = np
        self._stream = soxr.ResampleStream(rate_in, rate_out, 1, dtype="int16", quality="HQ")

    def feed(self, pcm: bytes, *, last: bool = False) -> bytes:
        samples = self._np.frombuffer(pcm, "<i2")
        resampled: bytes = self._stream.resample_chunk(samples, last=last).tobytes()
        return resampled

    def finish(self) -> bytes:
        return self.feed(b"", last=True)


MAX_PACKET_MS: Final = 120
"""The longest audio that one Opus packet can hold (RFC 6716 §3.2.5)."""

MAX_PACKET_BYTES: Final = 4_000
"""Output buffer that libopus recommends (opus.h, opus_encode, ``max_data_bytes``)."""

_DECODED_SAMPLES: Final = LISTEN_RATE * MAX_PACKET_MS // 1000

_BITS_PER_SAMPLE: Final = 2
"""Of the transform coder, unless a bitrate is set."""

Application = Literal["lowdelay", "audio", "voip"]

# opus_defines.h
_APPLICATIONS: Final[dict[Application, int]] = {"voip": 2048, "audio": 2049, "lowdelay": 2051}
_SET_BITRATE: Final = 4002
_SET_COMPLEXITY: Final = 4010
_SET_SIGNAL: Final = 4024
_SIGNAL_VOICE: Final = 3001


def load_decoder() -> None:
    """Load what a decoder needs: libopus and its bindings. Idempotent, blocking, thread-safe.

    Raises ConfigError with one line that says how to install libopus if it is missing.
    """
    load_libopus()


@functools.cache
def load_codec() -> None:
    """Load what an encoder needs too: numpy and the resampler. Idempotent, blocking, thread-safe.

    Raises ConfigError with one line that says how to install libopus if it is missing.
    """
    load_decoder()
    load_resampler()
    import opuslib.api.encoder

    # A variadic function: without the types of its fixed arguments ctypes passes the rest in the
    # wrong registers on Apple silicon.
    opuslib.api.encoder.libopus_ctl.argtypes = (opuslib.api.encoder.EncoderPointer, ctypes.c_int)


class OpusDecoder:
    """A device's microphone stream to PCM at ``LISTEN_RATE``. State of one connection.

    libopus's state (18 KB) begins with the first packet: most connected devices are silent.
    """

    def __init__(self) -> None:
        load_decoder()
        from opuslib.api import decoder

        self._api = decoder
        self._state: LibopusState | None = None
        self._closed = False

    def decode(self, packet: bytes) -> bytes:
        """Return the packet's PCM; none if libopus refuses it, which leaves the state usable.

        DTX packets of 1 or 2 bytes give comfort noise of their full duration.
        """
        # libopus treats an empty packet as a lost one and conceals it.
        if not packet or self._closed:
            return b""
        if self._state is None:
            api = self._api
            self._state = LibopusState(api.create_state(LISTEN_RATE, 1), api.destroy)
        out = _buffers.pcm
        count: int = self._api.libopus_decode(
            self._state.pointer, packet, len(packet), out, _DECODED_SAMPLES, 0
        )
        return ctypes.string_at(out, count * BYTES_PER_SAMPLE) if count > 0 else b""

    def close(self) -> None:
        """Free libopus's state; whatever is decoded later gives nothing. Idempotent."""
        self._closed = True
        if self._state is not None:
            self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class OpusEncoder(PacketEncoder):
    """The PCM of one reply to packets of ``output``.

    ``application``: "lowdelay" is the transform coder alone (CELT), "voip" the speech coder (SILK,
    with CELT above 8 kHz), "audio" one of the two, as libopus sees fit. ``complexity`` 0…10;
    ``bitrate`` in bit/s; None is two bits a sample for "lowdelay" (48 kbit/s at 24 kHz), else what
    libopus chooses (25 kbit/s). ``scripts/measure_opus.py`` compares cost and quality.
    """

    def __init__(
        self,
        output: AudioFormat,
        complexity: int = 0,
        bitrate: int | None = None,
        application: Application = "lowdelay",
    ) -> None:
        load_codec()
        from opuslib.api import c_int16_pointer, encoder

        super().__init__(output)
        self._encode = encoder.libopus_encode
        state = encoder.create_state(output.sample_rate, 1, _APPLICATIONS[application])
        self._state = LibopusState(state, encoder.destroy)
        self._set(encoder.libopus_ctl, _SET_COMPLEXITY, complexity)
        if application == "voip":
            self._set(encoder.libopus_ctl, _SET_SIGNAL, _SIGNAL_VOICE)
        if bitrate is None and application == "lowdelay":
            bitrate = _BITS_PER_SAMPLE * output.sample_rate
        if bitrate is not None:
            self._set(encoder.libopus_ctl, _SET_BITRATE, bitrate)
        self._pointer_type = c_int16_pointer

    def _set(self, ctl: Any, request: int, value: int) -> None:  # noqa: ANN401  a ctypes function
        if ctl(self._state.pointer, request, ctypes.c_int(value)) != 0:
            raise ConfigError(f"libopus refuses the value {value} for its option {request}")

    def close(self) -> None:
        """Free libopus's state; whatever is encoded later gives nothing."""
        self._state.close()

    def encode_frame(self, pcm: bytes) -> bytes | None:
        """Return the packet of one frame; None once the state is freed."""
        if self._state.pointer is None:
            return None
        out = _buffers.packet
        count: int = self._encode(
            self._state.pointer,
            ctypes.cast(ctypes.c_char_p(pcm), self._pointer_type),
            self.output.frame_samples,
            out,
            MAX_PACKET_BYTES,
        )
        if count <= 0:  # the format was checked when the state was made: cannot be bad input
            raise RuntimeError(f"libopus failed to encode: {count}")
        return ctypes.string_at(out, count)


class _Buffers(threading.local):
    """What libopus writes to: read before the thread does anything else."""

    def __init__(self) -> None:
        self.pcm = (ctypes.c_int16 * _DECODED_SAMPLES)()
        self.packet = ctypes.create_string_buffer(MAX_PACKET_BYTES)


_buffers: Final = _Buffers()


MIN_FRAME_MS: Final = 20
MAX_FRAME_MS: Final = 120
"""The longest that an Opus packet holds, too (RFC 6716 §3.2.5)."""

_MIN_BYTES: Final = LISTEN_RATE * MIN_FRAME_MS // 1000 * BYTES_PER_SAMPLE
_MAX_BYTES: Final = LISTEN_RATE * MAX_FRAME_MS // 1000 * BYTES_PER_SAMPLE


class PcmDecoder:
    """A microphone's stream of PCM at ``LISTEN_RATE``, in frames of 20 to 120 ms."""

    def __init__(self) -> None:
        self._closed = False

    def decode(self, packet: bytes) -> bytes:
        """Return the packet's PCM; none if it is no frame: half a sample, too short or too long."""
        size = len(packet)
        if self._closed or size % BYTES_PER_SAMPLE or not _MIN_BYTES <= size <= _MAX_BYTES:
            return b""
        return packet

    def close(self) -> None:
        """Whatever is decoded later gives nothing."""
        self._closed = True


class PcmEncoder(PacketEncoder):
    """The PCM of one reply, resampled and cut into frames of ``output``."""

    def encode_frame(self, pcm: bytes) -> bytes:
        """Return the frame itself."""
        return pcm
