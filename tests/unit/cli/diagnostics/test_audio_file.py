"""Recordings of every kind become 16 kHz PCM; what is none is refused with what to do."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.speech_server import encoded
from vixio.cli.diagnostics.audio_file import WavWriter, read_pcm
from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ConfigError

SECONDS = 1.5


def tone(rate: int, hertz: float = 440.0) -> NDArray[np.float64]:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * SECONDS)) / rate)


def wav(rate: int, width: int, channels: int) -> bytes:
    signal = tone(rate)
    if width == 1:
        samples = (signal * 127 + 128).astype(np.uint8).tobytes()
    else:
        wide = (signal * (2**31 - 1)).astype("<i4").view(np.uint8).reshape(-1, 4)
        samples = wide[:, 4 - width :].tobytes()
    frames = b"".join(samples[at : at + width] * channels for at in range(0, len(samples), width))
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return buffer.getvalue()


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 44_100, 48_000])
@pytest.mark.parametrize(("width", "channels"), [(1, 1), (2, 2), (3, 1), (4, 2)])
def test_any_wav(tmp_path: Path, rate: int, width: int, channels: int) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(rate, width, channels))
    heard = np.frombuffer(b"".join(read_pcm(path)), "<i2") / 32_768
    assert len(heard) == pytest.approx(SECONDS * LISTEN_RATE, rel=0.01)
    middle = slice(LISTEN_RATE // 4, LISTEN_RATE)
    assert np.abs(heard[middle] - tone(LISTEN_RATE)[: len(heard)][middle]).max() < 0.03


@pytest.mark.parametrize("kind", ["opus", "mp3"])
def test_what_services_and_messengers_send(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "voice.bin"  # told by its content, not by its name
    samples = (tone(24_000) * 32_767).astype(np.int16)
    path.write_bytes(encoded(kind, samples, 24_000))
    heard = np.frombuffer(b"".join(read_pcm(path)), "<i2")
    assert len(heard) == pytest.approx(SECONDS * LISTEN_RATE, rel=0.2)
    assert np.abs(heard).max() > 3_000


def test_mp3_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "voice.mp3"
    path.write_bytes(encoded("mp3", np.zeros(24_000, np.int16), 24_000))

    def missing() -> None:
        raise ImportError

    monkeypatch.setattr("vixio.providers.audio_stream.mp3.load", missing)
    with pytest.raises(ConfigError, match=r"extra NAME=mp3.*, or convert it: ffmpeg"):
        list(read_pcm(path))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"hello\n", "neither WAV nor MP3 nor Ogg Opus; convert it: ffmpeg -i my.file -ar 16000"),
        (b"fLaC" + bytes(100), "neither WAV nor MP3"),
        (bytes(100_000), "neither WAV nor MP3"),
        (b"RIFF" + bytes(4) + b"WAVEfmt " + b"\xff" * 100, "; convert it: ffmpeg -i my.file"),
        (wav(16_000, 2, 1)[:40], "; convert it: ffmpeg"),
    ],
    ids=["empty", "text", "flac", "zeros", "broken header", "cut header"],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "my.file"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        list(read_pcm(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)
    assert "service" not in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        list(read_pcm(tmp_path / "none.wav"))
    with pytest.raises(ConfigError, match="Is a directory"):
        list(read_pcm(tmp_path))


def test_a_wav_is_there_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with WavWriter(path, 22_050) as writer:
        writer.write(b"\1\0" * 100)
        assert not path.exists()
        writer.write(b"\2\0" * 100)
    with wave.open(str(path), "rb") as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (22_050, 1, 2)
        assert file.readframes(1_000) == b"\1\0" * 100 + b"\2\0" * 100
    assert list(tmp_path.iterdir()) == [path]


def test_a_wav_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"older")
    writer = WavWriter(path, 16_000)
    with pytest.raises(TypeError), writer:
        writer.write("text")  # type: ignore[arg-type]  # this goes wrong on purpose
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ConfigError, match="No such file or directory"):
        WavWriter(tmp_path / "none" / "a.wav", 16_000)
