"""Sounds in the formats that voice services send, made here; the MP3s lie in ``audio/``.

Both MP3s hold :func:`chirp`, encoded once with LAME: 1.2 s at 24 kHz, mono, 48 kbit/s (the shape
that Edge TTS sends), and 0.8 s at 44.1 kHz, joint stereo, 96 kbit/s.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MP3_24K_MONO = Path(__file__).parent.joinpath("audio", "chirp-24k-mono.mp3").read_bytes()
MP3_44K_STEREO = Path(__file__).parent.joinpath("audio", "chirp-44k-stereo.mp3").read_bytes()


def chirp(rate: int, seconds: float) -> NDArray[np.int16]:
    """Return a tone that rises from 300 Hz to 1500 Hz in a second, in mono."""
    time = np.arange(round(rate * seconds)) / rate
    wave = 9_000 * np.sin(2 * np.pi * (300 + 600 * time) * time)
    return wave.round().astype("<i2")


def wav(
    data: bytes,
    rate: int,
    *,
    channels: int = 1,
    bits: int = 16,
    code: int = 1,
    data_size: int | None = None,
    before_data: bytes = b"",
) -> bytes:
    """Return a WAV of raw samples; ``data_size``: what the header says instead of the truth."""
    size = len(data) if data_size is None else data_size
    frame = channels * bits // 8
    fields = struct.pack("<HHIIHH", code, channels, rate, rate * frame, frame, bits)
    chunks = b"fmt " + struct.pack("<I", len(fields)) + fields + before_data
    chunks += b"data" + struct.pack("<I", size) + data
    whole = min(len(chunks) + 4, 0xFFFFFFFF) if data_size is None else data_size
    return b"RIFF" + struct.pack("<I", whole) + b"WAVE" + chunks


def opus_packets(samples: NDArray[np.int16], rate: int, channels: int = 1) -> list[bytes]:
    """Encode 20 ms packets with libopus."""
    from vixio.audio.libopus import load_libopus

    load_libopus()
    import opuslib

    encoder = opuslib.Encoder(rate, channels, opuslib.APPLICATION_AUDIO)
    frame = rate // 50
    padded = np.concatenate([samples, np.zeros((-len(samples)) % frame, np.int16)])
    if channels == 2:
        padded = np.repeat(padded, 2)
    size = frame * channels
    return [
        bytes(encoder.encode(padded[at : at + size].tobytes(), frame))
        for at in range(0, len(padded), size)
    ]


def ogg_opus(
    samples: NDArray[np.int16],
    rate: int,
    *,
    channels: int = 1,
    pre_skip: int = 312,
    gain_db: float = 0.0,
    packets_a_page: int = 10,
    tags: bytes = b"",
    serial: int = 77,
) -> bytes:
    """Return an Ogg Opus file (RFC 7845), its end trimmed to the samples that went in.

    The sound comes ``pre_skip`` samples (48 kHz) early, as libopus needs 312 to get going.
    """
    gain = round(gain_db * 256)
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, channels, pre_skip, rate, gain, 0)
    comment = b"OpusTags" + struct.pack("<I", 5) + b"tests" + struct.pack("<I", 0) + tags
    packets = opus_packets(samples, rate, channels)
    pages = [ogg_page([head], serial, 0, 0, flags=2), *_pages_of(comment, serial)]
    end = len(samples) * 48_000 // rate
    for at in range(0, len(packets), packets_a_page):
        part = packets[at : at + packets_a_page]
        last = at + len(part) == len(packets)
        granule = end if last else (at + len(part)) * 960
        pages.append(ogg_page(part, serial, len(pages), granule, flags=4 if last else 0))
    return b"".join(pages)


def ogg_page(packets: list[bytes], serial: int, number: int, granule: int, *, flags: int) -> bytes:
    """Return one page with whole packets (RFC 3533 §6); the checksum is left out."""
    lacing = b"".join(b"\xff" * (len(it) // 255) + bytes([len(it) % 255]) for it in packets)
    return _page(lacing, b"".join(packets), serial, number, granule, flags)


def _pages_of(packet: bytes, serial: int) -> list[bytes]:
    """One packet over as many pages as it takes."""
    pages: list[bytes] = []
    most = 255 * 255
    for at in range(0, len(packet) + 1, most):
        part = packet[at : at + most]
        full = len(part) == most
        lacing = b"\xff" * (len(part) // 255) + (b"" if full else bytes([len(part) % 255]))
        number = len(pages) + 1
        pages.append(_page(lacing, part, serial, number, -1 if full else 0, 1 if at else 0))
    return pages


def _page(lacing: bytes, body: bytes, serial: int, number: int, granule: int, flags: int) -> bytes:
    header = struct.pack("<4sBBqiIIB", b"OggS", 0, flags, granule, serial, number, 0, len(lacing))
    return header + lacing + body
