"""Damaged, mixed and random streams: one class of error, whole samples, bounded memory."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.sounds import MP3_24K_MONO, MP3_44K_STEREO, chirp, ogg_opus, wav
from vixio.core.errors import ProviderError
from vixio.providers.audio_stream import AudioFormatName, AudioStreamDecoder

_SOUND: Final = chirp(24_000, 0.3)
STREAMS: Final = (
    _SOUND.tobytes(),
    wav(_SOUND.tobytes(), 24_000),
    wav(_SOUND.tobytes(), 44_100, data_size=0),
    MP3_24K_MONO[:3_000],
    MP3_44K_STEREO[:3_000],
    ogg_opus(_SOUND, 24_000),
)
ASKED: Final[tuple[AudioFormatName, ...]] = ("auto", "pcm", "wav", "mp3", "opus")

damaged = st.builds(
    lambda stream, at, more, drop: stream[:at] + more + stream[at + drop :],
    st.sampled_from(STREAMS),
    st.integers(0, 4_000),
    st.binary(max_size=200),
    st.integers(0, 400),
)
flipped = st.builds(
    lambda stream, places: bytes(
        byte ^ places.get(number, 0) for number, byte in enumerate(stream)
    ),
    st.sampled_from(STREAMS),
    st.dictionaries(st.integers(0, 3_000), st.integers(1, 255), max_size=20),
)
beginnings = st.builds(
    lambda head, rest: head + rest,
    st.sampled_from([b"RIFF", b"OggS\0\2", b"ID3\4\0\0", b"\xff\xfb\x90", b"\xff\xf3\x64\xc4"]),
    st.binary(max_size=600),
)
anything = st.one_of(damaged, flipped, beginnings, st.binary(max_size=600))


@given(anything, st.sampled_from(ASKED), st.lists(st.integers(1, 1_500), max_size=8))
def test_whatever_comes_it_is_sound_or_a_provider_error(
    data: bytes, asked: AudioFormatName, sizes: list[int]
) -> None:
    decoder = AudioStreamDecoder("fuzz", 24_000, asked=asked)
    given_out, at, message = 0, 0, ""
    try:
        for size in [*sizes, len(data) + 1]:
            pcm = decoder.feed(data[at : at + size])
            assert len(pcm) % 2 == 0
            given_out, at = given_out + len(pcm), at + size
        given_out += len(decoder.finish())
    except ProviderError as error:
        message = str(error)
    assert "\n" not in message
    # The densest stream, Opus at its lowest rate, has at most 120 ms in two bytes.
    assert given_out <= 2 * 24_000 * (1 + 0.06 * len(data))
    assert decoder.feed(data) == b""  # input after the end is ignored
    decoder.close()


@given(anything, st.sampled_from(ASKED), st.integers(1, 700))
def test_the_pieces_make_no_difference(data: bytes, asked: AudioFormatName, size: int) -> None:
    assert _all(data, asked, size) == _all(data, asked, len(data) + 1)


def _all(data: bytes, asked: AudioFormatName, size: int) -> int | None:
    """Return the number of bytes of PCM at the stream's rate, None for an error."""
    decoder = AudioStreamDecoder("fuzz", 24_000, asked=asked)
    try:
        pcm = b"".join(decoder.feed(data[at : at + size]) for at in range(0, len(data), size))
        return len(pcm + decoder.finish())
    except ProviderError:
        return None
    finally:
        decoder.close()
