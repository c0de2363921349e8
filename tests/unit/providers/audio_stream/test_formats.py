"""Special cases of each format."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.sounds import MP3_24K_MONO, chirp, ogg_opus, ogg_page, wav
from tests.unit.providers.audio_stream.support import RATE, decode, likeness
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.audio_stream import AudioStreamDecoder, load, mp3
from vixio.providers.audio_stream.mp3_frames import parse_header

SOUND = chirp(RATE, 0.5)
PCM = SOUND.tobytes()


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000])
def test_a_wav_that_does_not_know_its_length(size: int) -> None:
    assert np.array_equal(decode(wav(PCM, RATE, data_size=size)), SOUND)


def test_chunks_around_the_samples_of_a_wav_are_passed_over() -> None:
    before = b"LIST" + (5).to_bytes(4, "little") + b"hello\0"
    after = b"LIST" + (4).to_bytes(4, "little") + b"\x7f\x7f\x7f\x7f"
    assert np.array_equal(decode(wav(PCM, RATE, before_data=before) + after, 3), SOUND)


def test_wavs_one_after_another_are_one_sound() -> None:
    twice = decode(wav(PCM, RATE) + wav(PCM, RATE), 11)
    assert np.array_equal(twice, np.concatenate([SOUND, SOUND]))


@pytest.mark.parametrize("odd", [b"", b"\1"])
@pytest.mark.parametrize("size", [1, 3, 11, 100_000])
def test_a_file_ends_one_of_unknown_length(size: int, odd: bytes) -> None:
    endless = wav(PCM, RATE, data_size=0xFFFFFFFF)
    assert b"RIFF" not in PCM
    twice = decode(endless + odd + endless + b"RI", size)
    assert np.array_equal(twice[: 2 * len(SOUND)], np.tile(SOUND, 2))


@pytest.mark.parametrize("width", ["u8", "i24", "i32", "f32", "f64", "stereo", "extensible"])
def test_samples_of_any_width(width: str) -> None:
    as_float = SOUND / 32768
    data = {
        "u8": lambda: wav(((SOUND >> 8) + 128).astype("u1").tobytes(), RATE, bits=8),
        "i24": lambda: wav(
            (SOUND.astype("<i4") << 8).view("u1").reshape(-1, 4)[:, :3].tobytes(), RATE, bits=24
        ),
        "i32": lambda: wav((SOUND.astype("<i4") << 16).tobytes(), RATE, bits=32),
        "f32": lambda: wav(as_float.astype("<f4").tobytes(), RATE, bits=32, code=3),
        "f64": lambda: wav(as_float.astype("<f8").tobytes(), RATE, bits=64, code=3),
        "stereo": lambda: wav(np.repeat(SOUND, 2).tobytes(), RATE, channels=2),
        "extensible": _extensible,
    }[width]()
    heard = decode(data, 13)
    assert len(heard) == len(SOUND)
    assert np.abs(heard.astype(int) - SOUND).max() <= (256 if width == "u8" else 2)


def _extensible() -> bytes:
    plain = wav(PCM, RATE)
    fields = bytearray(plain[20:36])
    fields[:2] = (0xFFFE).to_bytes(2, "little")
    fields += (22).to_bytes(2, "little") + bytes(6) + (1).to_bytes(2, "little") + bytes(14)
    return plain[:16] + len(fields).to_bytes(4, "little") + bytes(fields) + plain[36:]


@pytest.mark.parametrize(
    "broken",
    [
        wav(PCM, RATE, code=6, bits=8),
        wav(PCM, RATE, channels=9),
        wav(PCM, 12),
        wav(PCM, RATE)[:40],
        wav(PCM, RATE).replace(b"fmt ", b"fmx "),
        wav(PCM, RATE) + wav(PCM, 16_000),
    ],
    ids=["a-law", "channels", "rate", "cut", "no format", "two rates"],
)
def test_a_broken_wav_is_refused(broken: bytes) -> None:
    with pytest.raises(ProviderError, match="WAV"):
        decode(broken)


def test_nan_and_infinity_make_no_noise() -> None:
    values = np.array([0.0, np.nan, np.inf, -np.inf, 0.5], "<f4")
    heard = decode(wav(values.tobytes(), RATE, bits=32, code=3))
    assert heard.tolist() == [0, 0, 32767, -32767, 16384]


def _tagged(content: bytes) -> bytes:
    size = bytes([len(content) >> 21 & 127, len(content) >> 14 & 127, len(content) >> 7 & 127])
    return b"ID3\4\0\0" + size + bytes([len(content) & 127]) + content


def test_tags_and_tables_of_contents_in_an_mp3_are_not_heard() -> None:
    header = parse_header(MP3_24K_MONO)
    assert header is not None
    info = bytearray(header.size)
    info[:4] = MP3_24K_MONO[:4]
    info[13:17] = b"Info"
    tag = _tagged(b"\xff\xf3\x64\xc4" * 5_000)  # frames within a tag are not decoded
    dressed = tag + bytes(info) + MP3_24K_MONO + b"TAG" + bytes(125)
    assert np.array_equal(decode(dressed, 97), decode(MP3_24K_MONO))


def test_mp3s_one_after_another_are_one_sound() -> None:
    twice = decode(MP3_24K_MONO + _tagged(bytes(40)) + MP3_24K_MONO)
    assert len(twice) == 2 * len(decode(MP3_24K_MONO))


def test_an_mp3_from_the_middle_and_with_a_hole_goes_on() -> None:
    whole = decode(MP3_24K_MONO)
    middle = decode(MP3_24K_MONO[1_000:], asked="mp3")
    assert np.array_equal(middle[-12_000:], whole[-12_000:])
    holed = decode(MP3_24K_MONO[:3_000] + b"\0\1\2" * 40 + MP3_24K_MONO[3_100:], 50)
    assert 0.9 * len(whole) < len(holed) <= len(whole)
    assert np.array_equal(holed[-6_000:], whole[-6_000:])


def test_raw_samples_that_look_like_a_frame_are_samples() -> None:
    data = (b"\xff\xf3\x64\xc4" + PCM)[: len(PCM)]
    assert decode(data, asked="pcm").tobytes() == data


def test_without_the_decoder_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("miniaudio")

    monkeypatch.setattr(mp3, "load", missing)
    load("voice", "pcm")
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=mp3"):
        load("voice", "mp3")
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=mp3"):
        decode(MP3_24K_MONO)
    assert len(decode(wav(PCM, RATE))) == len(SOUND)


@pytest.mark.parametrize("channels", [1, 2])
def test_opus_is_as_long_as_it_says_and_starts_where_it_says(channels: int) -> None:
    heard = decode(ogg_opus(SOUND, 48_000 // 2, channels=channels, pre_skip=312))
    assert len(heard) == len(SOUND) - 156  # the pre-skip: 312 samples at 48 kHz
    assert likeness(heard[200:], SOUND[356:]) > 0.98


def test_the_output_gain_of_opus_is_obeyed() -> None:
    plain, quiet = decode(ogg_opus(SOUND, RATE)), decode(ogg_opus(SOUND, RATE, gain_db=-12.0))
    assert np.abs(quiet).max() == pytest.approx(np.abs(plain).max() * 0.251, rel=0.02)


def test_a_picture_in_the_tags_of_opus_takes_no_memory_and_no_harm() -> None:
    big = ogg_opus(SOUND, RATE, tags=b"\xff" * 300_000)
    assert np.array_equal(decode(big, 1_000), decode(ogg_opus(SOUND, RATE)))


def test_packets_over_the_border_of_pages_and_other_streams_beside() -> None:
    foreign = ogg_page([b"fishead\0" + bytes(40)], 5, 0, 0, flags=2)
    data = ogg_opus(SOUND, RATE, packets_a_page=1)
    first = data.index(b"OggS", 1)
    mixed = data[:first] + foreign + b"lost bytes" + data[first:]
    assert np.array_equal(decode(mixed, 31), decode(data))


def test_opus_streams_one_after_another_are_one_sound() -> None:
    one = ogg_opus(SOUND, RATE)
    twice = decode(one + ogg_opus(SOUND, RATE, serial=78))
    assert np.array_equal(twice, np.concatenate([decode(one), decode(one)]))


@pytest.mark.parametrize("place", [8, 9, 18])
def test_an_opus_header_that_cannot_be_decoded_is_refused(place: int) -> None:
    data = bytearray(ogg_opus(SOUND, RATE))
    data[28 + place] = 0xF3
    with pytest.raises(ProviderError, match="Opus"):
        decode(bytes(data))


def test_the_decoder_frees_its_state_and_is_silent_afterwards() -> None:
    decoder = AudioStreamDecoder("test", RATE)
    decoder.feed(ogg_opus(SOUND, RATE))
    decoder.close()
    decoder.close()
    assert decoder.feed(PCM) == b""
    assert decoder.finish() == b""
