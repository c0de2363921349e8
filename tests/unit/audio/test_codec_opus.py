from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.transports.xiaozhi.support import opus_packets, rms, tone
from vixio.audio import codec, libopus
from vixio.audio.codec import Application, OpusDecoder, OpusEncoder, load_codec
from vixio.audio.libopus import MISSING_LIBOPUS, LibopusState, load_libopus
from vixio.cli.diagnostics.spoken import spoken
from vixio.core.audio import AudioFormat, pcm_seconds
from vixio.core.errors import ConfigError


def decode_at(rate: int, packets: list[bytes]) -> bytes:
    """Decode at the stream's own rate, as a device does."""
    import opuslib

    decoder = opuslib.Decoder(rate, 1)
    return b"".join(decoder.decode(packet, rate * 120 // 1000) for packet in packets)


def strongest_frequency(pcm: bytes, rate: int) -> float:
    samples = np.frombuffer(pcm, "<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * rate / len(samples))


@pytest.mark.parametrize("rate", [8_000, 12_000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("frame_ms", [20, 40, 60])
def test_every_stream_is_decoded_at_the_listening_rate(rate: int, frame_ms: int) -> None:
    packets = opus_packets(0.6, rate, frame_ms)
    with OpusDecoder() as decoder:
        pieces = [decoder.decode(packet) for packet in packets]
    assert {len(piece) for piece in pieces} == {16_000 * frame_ms // 1000 * 2}
    assert strongest_frequency(b"".join(pieces), 16_000) == pytest.approx(440, abs=3)
    assert rms(b"".join(pieces[2:-2])) == pytest.approx(0.3 / 2**0.5, rel=0.1)


def test_dtx_packets_are_silence_of_their_duration() -> None:
    packets = opus_packets(0.3)
    with OpusDecoder() as decoder:
        for packet in packets:
            decoder.decode(packet)
        # A packet of only its TOC byte, and one with a one-byte frame, as DTX sends them.
        quiet = [decoder.decode(packets[0][:size]) for size in (1, 2, 1, 1, 1, 1)]
    assert {len(piece) for piece in quiet} == {1920}
    assert rms(quiet[-1]) < 0.05


def test_garbage_gives_nothing_or_noise_and_the_next_good_frame_recovers() -> None:
    rng = random.Random(7)
    packets = opus_packets(3.0)
    refused = 0
    with OpusDecoder() as decoder:
        for number, packet in enumerate(packets):
            if number in {10, 11, 12, 13}:
                refused += not decoder.decode(rng.randbytes(rng.randint(3, 400)))
                # code 3 with no frame count, and a length that runs past the end
                refused += decoder.decode(b"\x03") == b""
                refused += decoder.decode(b"\x02\xff\xff") == b""
            pcm = decoder.decode(packet)
            assert len(pcm) == 1920
            if number > 18 and number < len(packets) - 1:
                assert rms(pcm) == pytest.approx(0.3 / 2**0.5, rel=0.15)
    assert refused >= 8


def test_nothing_comes_of_nothing() -> None:
    decoder = OpusDecoder()
    assert decoder.decode(b"") == b""
    decoder.close()
    decoder.close()
    assert decoder.decode(opus_packets()[0]) == b""


@pytest.mark.parametrize("rate_in", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("output", [AudioFormat(24_000, 60), AudioFormat(16_000, 20)])
def test_any_rate_comes_out_as_long_as_loud_and_as_high(rate_in: int, output: AudioFormat) -> None:
    encoder = OpusEncoder(output)
    assert encoder.packet_ms == output.frame_ms
    pcm = tone(rate_in, 2.0)
    packets: list[bytes] = []
    # Chunks as providers send them: of odd sizes, some ending inside a sample.
    for start in range(0, len(pcm), 3001):
        packets += encoder.encode(pcm[start : start + 3001], rate_in)
    packets += encoder.flush()
    heard = decode_at(output.sample_rate, packets)
    seconds = pcm_seconds(heard, output.sample_rate)
    assert 2.0 <= seconds < 2.0 + output.frame_ms / 1000 + 0.001
    middle = heard[len(heard) // 4 // 2 * 2 : len(heard) * 3 // 4 // 2 * 2]
    assert strongest_frequency(middle, output.sample_rate) == pytest.approx(440, abs=2)
    assert rms(middle) == pytest.approx(0.3 / 2**0.5, rel=0.05)


def test_the_rate_may_change_within_a_reply_without_losing_audio() -> None:
    output = AudioFormat(24_000, 60)
    encoder = OpusEncoder(output)
    packets = encoder.encode(tone(16_000, 0.5), 16_000)
    packets += encoder.encode(tone(24_000, 0.5), 24_000)
    packets += encoder.encode(tone(44_100, 0.501), 44_100)
    packets += encoder.flush()
    # 25 packets and 1 ms: were a resampler's tail lost at a change, 25 would do.
    assert len(packets) == 26


def test_flush_pads_and_leaves_nothing_behind() -> None:
    encoder = OpusEncoder(AudioFormat(24_000, 60))
    assert encoder.encode(tone(24_000, 0.05), 24_000) == []
    assert len(encoder.flush()) == 1
    assert encoder.flush() == []
    assert len(encoder.encode(tone(24_000, 0.12), 24_000)) == 2
    assert encoder.flush() == []


def test_the_bitrate_is_obeyed() -> None:
    pcm = tone(24_000, 3.0)
    rich, poor = (OpusEncoder(AudioFormat(24_000, 60), 5, rate) for rate in (48_000, 12_000))
    sizes = [sum(map(len, encoder.encode(pcm, 24_000))) for encoder in (rich, poor)]
    assert sizes[0] > 2 * sizes[1]


@pytest.mark.parametrize("rate", [16_000, 24_000])
@pytest.mark.parametrize(
    ("application", "celt", "bits_per_sample"), [("lowdelay", True, 2.0), ("voip", False, 1.0)]
)
async def test_the_application_chooses_coder_and_bitrate(
    application: Application, celt: bool, bits_per_sample: float, rate: int
) -> None:
    speech = await spoken("The volume is now at thirty percent. Please tell me what to do next.")
    encoder = OpusEncoder(AudioFormat(rate, 60), application=application)
    packets = encoder.encode(speech, 16_000) + encoder.flush()
    # RFC 6716 §3.1: configurations 16 to 31 are CELT only.
    assert {packet[0] >> 3 >= 16 for packet in packets} == {celt}
    loud = [len(packet) * 8 for packet in packets if len(packet) > 30]
    assert sum(loud) / len(loud) / (rate * 0.06) == pytest.approx(bits_per_sample, rel=0.2)


def test_a_closed_encoder_gives_nothing() -> None:
    encoder = OpusEncoder(AudioFormat(24_000, 60))
    encoder.close()
    encoder.close()
    assert encoder.encode(tone(24_000, 0.2), 24_000) == []


@pytest.fixture
def afresh() -> Iterator[None]:
    """Have the library looked up as in a new process, in the test and after it."""
    for load in (load_codec, load_libopus):
        load.cache_clear()
    yield
    for load in (load_codec, load_libopus):
        load.cache_clear()


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch, afresh: None) -> None:
    """A system without libopus."""
    monkeypatch.setattr(libopus, "find_library", lambda name: None)


@pytest.mark.usefixtures("no_library")
def test_a_missing_library_is_one_line_that_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(libopus, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        OpusDecoder()
    assert str(caught.value) == MISSING_LIBOPUS
    assert "\n" not in MISSING_LIBOPUS
    assert all(system in MISSING_LIBOPUS for system in ("Debian", "Fedora", "macOS"))


@pytest.mark.usefixtures("no_library")
def test_a_library_that_was_not_tested_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = ModuleSpec("opuslib_next", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(libopus, "find_spec", lambda name: spec)
    (tmp_path / "_native").mkdir()
    (tmp_path / "_native" / "libopus.so").write_bytes(b"\x7fELF")
    with pytest.raises(ConfigError, match=r"libopus\.so is not the library that was tested: pip"):
        OpusDecoder()


WITHOUT_LIBOPUS = """
import ctypes, ctypes.util
there = ctypes.util.find_library
ctypes.util.find_library = lambda name: {found!r} if name == "opus" else there(name)
import vixio.audio.codec as codec
from vixio.core.audio import AudioFormat
encoder = codec.OpusEncoder(AudioFormat(24_000, 60))
packets = encoder.encode(bytes(2 * 24_000), 24_000)
assert codec.OpusDecoder().decode(packets[0])
import opuslib.api
print(opuslib.api.lib_location)
assert ctypes.util.find_library("c") == there("c")
"""


@pytest.mark.parametrize("found", [None, "libopus.so.of.another.processor"])
def test_the_library_of_the_package_serves_where_the_system_has_none(found: str | None) -> None:
    """In a process of its own: the library is loaded once in each."""
    code = WITHOUT_LIBOPUS.format(found=found)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "opuslib_next/_native/libopus" in done.stdout


def test_the_library_of_the_system_comes_first() -> None:
    code = WITHOUT_LIBOPUS.format(found="libopus.so.0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "libopus.so.0\n"


def test_a_silent_device_costs_no_state_of_libopus(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[LibopusState] = []

    def make(*parts: Any) -> LibopusState:  # noqa: ANN401  ctypes objects
        made.append(LibopusState(*parts))
        return made[-1]

    monkeypatch.setattr(codec, "LibopusState", make)
    with OpusDecoder() as silent, OpusDecoder() as decoder:
        assert silent.decode(b"") == b""
        assert made == []
        packets = opus_packets()
        made.clear()  # of the encoder
        for packet in packets[:2]:
            assert decoder.decode(packet)
        (state,) = made
        assert state.pointer is not None
    assert state.pointer is None
