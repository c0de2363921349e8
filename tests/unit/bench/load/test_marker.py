"""Numbers in sound survive the device's Opus, and are not read where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from firmware_test_client import DeviceConfig, Voice
from firmware_test_client.pcm import from_samples
from firmware_test_client.speech import StreamFormat, Utterance, encoded_speech, prepare
from vixio.audio.codec import OpusDecoder
from vixio.core.audio import LISTEN_RATE
from vixio_bench.load import marker

NUMBERS = (0, 1, 77, 300, 1_299)


@pytest.fixture(scope="module")
def noise() -> marker.Samples:
    generator = np.random.default_rng(3)
    return np.round(generator.normal(0, 300, 2 * LISTEN_RATE)).astype("<i2")


async def heard(number: int) -> bytes:
    """Speech with ``number`` in it, as the server hears it."""
    speech = await prepare("what is the weather like today", Voice(), LISTEN_RATE)
    voice = from_samples(marker.mark(speech.pcm.samples, number), LISTEN_RATE)
    format_ = StreamFormat.of(DeviceConfig(ws_url="ws://none", noise_dbfs=-45.0))
    with OpusDecoder() as decoder:
        packets = encoded_speech(Utterance("", voice, 0.0, voice.duration), format_)
        return b"".join(decoder.decode(packet) for packet in packets)


@pytest.mark.parametrize("number", NUMBERS)
async def test_a_number_comes_back_through_opus(number: int) -> None:
    reader = marker.MarkerReader()
    pcm = await heard(number)
    for at in range(0, len(pcm), 1_920):
        reader.feed(pcm[at : at + 1_920])
    assert reader.number == number


async def test_the_mark_is_no_louder_than_the_voice() -> None:
    speech = await prepare("what is the weather like today", Voice(), LISTEN_RATE)
    marked = marker.mark(speech.pcm.samples, 5)
    difference = marked.astype(np.float64) - speech.pcm.samples
    assert np.sqrt(np.mean(difference**2)) < np.sqrt(np.mean(marked.astype(np.float64) ** 2)) / 2


def test_nothing_is_read_from_noise_silence_or_too_little(noise: marker.Samples) -> None:
    assert marker.read(noise.tobytes()) is None
    assert marker.read(bytes(2 * marker.WINDOW)) is None
    assert marker.read(marker.mark(noise, 4).tobytes()[: marker.WINDOW]) is None


def test_two_numbers_at_once_are_none(noise: marker.Samples) -> None:
    """Audio of two devices in one stream must not pass for either of them."""
    both = marker.mark(noise, 0).astype(np.int32) + marker.mark(noise, 2_599)
    assert marker.read(np.clip(both, -32_768, 32_767).astype("<i2").tobytes()) is None


def test_every_number_has_its_own_chord(noise: marker.Samples) -> None:
    read = [marker.read(marker.mark(noise, number).tobytes()) for number in range(0, 2_600, 97)]
    assert read == list(range(0, 2_600, 97))
    with pytest.raises(IndexError):
        marker.mark(noise, marker.MAX_MARKERS)
