"""Any format in any pieces decodes to the same sound; anything else is an error."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.sounds import MP3_24K_MONO, MP3_44K_STEREO, chirp, ogg_opus, wav
from tests.unit.providers.audio_stream.support import RATE, cut, decode, likeness
from vixio.core.errors import ProviderError
from vixio.providers.audio_stream import AudioStreamDecoder, decoded, load

SOUND = chirp(RATE, 1.2)
PCM = SOUND.tobytes()
FORMATS = {
    "pcm": PCM,
    "wav": wav(PCM, RATE),
    "mp3": MP3_24K_MONO,
    "opus": ogg_opus(SOUND, RATE),
    "wav-44k": wav(chirp(44_100, 1.2).tobytes(), 44_100),
    "mp3-44k": MP3_44K_STEREO,
}


def asked(name: str) -> str:
    return name.partition("-")[0]


def same(name: str, one: NDArray[np.int16], other: NDArray[np.int16]) -> bool:
    """Return whether both are equal, except for the dither of a resampler."""
    if len(one) != len(other):
        return False
    most = 2 if name.endswith("44k") else 0
    return int(np.abs(one.astype(int) - other).max()) <= most


@pytest.mark.parametrize("name", FORMATS)
def test_the_sound_is_the_one_that_went_in(name: str) -> None:
    heard = decode(FORMATS[name], asked=asked(name))  # type: ignore[arg-type]  # names of formats
    seconds = 0.8 if name == "mp3-44k" else 1.2
    assert abs(len(heard) / RATE - seconds) < 0.12  # MP3 pads its last frames
    assert likeness(heard, chirp(RATE, seconds)) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 143, 144, 145, 4_096, 1_000_000])
def test_the_borders_of_the_pieces_change_no_sample(name: str, size: int) -> None:
    kind = asked(name)
    whole = decode(FORMATS[name], 1_000_000, asked=kind)  # type: ignore[arg-type]  # see above
    pieces = decode(FORMATS[name], size, asked=kind)  # type: ignore[arg-type]  # see above
    assert same(name, whole, pieces)


@pytest.mark.parametrize("name", FORMATS)
def test_random_borders_change_no_sample(name: str) -> None:
    data, chance = FORMATS[name], random.Random(7)
    decoder = AudioStreamDecoder("test", RATE, asked="pcm" if name == "pcm" else "auto")
    pcm, at = b"", 0
    while at < len(data):
        size = chance.choice([0, 1, 5, 333, 2_000])
        piece = decoder.feed(data[at : at + size])
        assert len(piece) % 2 == 0
        pcm, at = pcm + piece, at + size
    pcm += decoder.finish()
    whole = decode(data, asked="pcm" if name == "pcm" else "auto")
    assert same(name, np.frombuffer(pcm, "<i2"), whole)
    assert decoder.kind == asked(name)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rate", [16_000, 22_050, 48_000])
def test_any_rate_comes_out(name: str, rate: int) -> None:
    heard = decode(FORMATS[name], asked=asked(name), rate=rate)  # type: ignore[arg-type]  # see above
    seconds = 0.8 if name == "mp3-44k" else 1.2
    assert likeness(heard, chirp(rate, seconds)) > 0.97


@pytest.mark.parametrize("name", ["wav", "mp3", "opus"])
def test_what_arrives_counts_not_what_was_asked_for(name: str) -> None:
    for other in ("pcm", "wav", "mp3", "opus"):
        assert np.array_equal(
            decode(FORMATS[name], asked=other),
            decode(FORMATS[name]),
        )


@pytest.mark.parametrize("name", FORMATS)
def test_the_first_sound_needs_little_of_the_stream(name: str) -> None:
    decoder = AudioStreamDecoder("test", RATE, asked="pcm" if name == "pcm" else "auto")
    taken = 0
    for piece in cut(FORMATS[name], 64):
        taken += len(piece)
        if decoder.feed(piece):
            break
    # MP3 needs its second frame; at 44.1 kHz the resampler's filter fills first.
    most = {"pcm": 64, "wav": 64, "mp3": 320, "mp3-44k": 1_100, "opus": 448, "wav-44k": 3_600}
    assert taken <= most[name]
    decoder.close()


def _feed_all(decoder: AudioStreamDecoder, data: bytes) -> None:
    for piece in cut(data, 4_000):
        decoder.feed(piece)


NO_AUDIO = {
    "json": b'{"error": {"message": "no such voice", "type": "invalid_request_error"}}',
    "html": b"<html><body>502 Bad Gateway</body></html>" * 3,
    "flac": b"fLaC" + bytes(100),
    "vorbis": b"OggS\0\2" + bytes(20) + b"\1\x1e\1vorbis" + bytes(23),
    "mp4": b"\0\0\0\x20ftypM4A " + bytes(100),
    "webm": b"\x1aE\xdf\xa3" + bytes(100),
    "empty": b"",
}


@pytest.mark.parametrize("name", NO_AUDIO)
@pytest.mark.parametrize("wanted", ["pcm", "mp3", "auto"])
def test_what_is_no_audio_is_refused_in_one_line(name: str, wanted: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decode(NO_AUDIO[name], asked=wanted)  # type: ignore[arg-type]  # names of formats
    assert "\n" not in str(caught.value)
    assert caught.value.reason == "service"


@pytest.mark.parametrize("wanted", ["wav", "mp3", "opus", "auto"])
def test_noise_is_refused_and_the_memory_it_takes_is_bounded(wanted: str) -> None:
    noise = random.Random(3).randbytes(400_000)
    decoder = AudioStreamDecoder("test", RATE, asked=wanted)  # type: ignore[arg-type]  # as above
    with pytest.raises(ProviderError):  # long before its end
        _feed_all(decoder, noise)
    assert decoder.feed(b"more") == b""


@pytest.mark.parametrize("name", FORMATS)
def test_a_stream_that_breaks_off_gives_what_came(name: str) -> None:
    data = FORMATS[name]
    heard = decode(data[: len(data) * 2 // 3], asked="pcm" if name == "pcm" else "auto")
    assert likeness(heard, chirp(RATE, 0.4)) > 0.6
    assert 0.3 < len(heard) / RATE < 1.0


async def test_it_leaves_the_loop_to_others() -> None:
    load("test", "mp3")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def whole() -> AsyncIterator[bytes]:
        yield FORMATS["opus"] + b""

    beside = asyncio.create_task(other())
    stream = decoded(whole(), AudioStreamDecoder("test", RATE))
    pieces = [piece async for piece in stream]
    beside.cancel()
    await asyncio.gather(beside, return_exceptions=True)
    assert turns >= len(FORMATS["opus"]) // 2_048
    assert len(pieces) > 2
    assert all(pieces)


async def test_closing_it_closes_the_source() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield PCM
        finally:
            closed.set()

    stream = decoded(endless(), AudioStreamDecoder("test", RATE, asked="pcm"))
    assert await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert closed.is_set()
