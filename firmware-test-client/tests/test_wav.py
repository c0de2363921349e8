"""Sound files: reading, and the stereo file of a conversation."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from scripted_server import ScriptedServer, tone_packets

from firmware_test_client import Pcm, SimulatedDevice, SpeechError
from firmware_test_client.pcm import read_wav, write_stereo_wav


def test_reading_averages_channels_and_refuses_other_widths(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    left, right = (Pcm(np.full(100, level, "<i2").tobytes(), 8000) for level in (1000, 3000))
    write_stereo_wav(path, left, right)
    assert set(read_wav(path).samples.tolist()) == {2000}
    with wave.open(str(tmp_path / "wide.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(3)
        file.setframerate(8000)
        file.writeframes(bytes(30))
    with pytest.raises(SpeechError, match="24 bits"):
        read_wav(tmp_path / "wide.wav")
    (tmp_path / "text.wav").write_text("no sound")
    with pytest.raises(SpeechError):
        read_wav(tmp_path / "text.wav")


async def test_conversation_has_user_left_and_loudspeaker_right(
    server: ScriptedServer, tmp_path: Path
) -> None:
    speech = tmp_path / "speech.wav"
    tone = Pcm(np.tile(np.array([9000, -9000], "<i2"), 4000).tobytes(), 16000)
    write_stereo_wav(speech, tone, tone)
    async with SimulatedDevice(server.device()) as device:
        spoken = await device.say(speech)
        await server.talk.speak(tone_packets(5))
        reply = await device.wait_for_reply(after=0)
        device.write_wav(tmp_path / "out.wav")
        origin = device.heard[-1].time + 0.06
        length = len(device.heard_pcm().samples) / 24000
    with wave.open(str(tmp_path / "out.wav"), "rb") as file:
        assert (file.getnchannels(), file.getframerate()) == (2, 24000)
        both = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    start = origin - length  # when the device was started, on the clock of all records
    user = np.flatnonzero(np.abs(both[:, 0]) > 500) / 24000 + start
    box = np.flatnonzero(np.abs(both[:, 1]) > 500) / 24000 + start
    assert user[0] == pytest.approx(spoken.voice_start, abs=0.02)
    assert user[-1] == pytest.approx(spoken.voice_end, abs=0.02)
    assert box[0] == pytest.approx(reply.first_played, abs=0.03)
    assert box[-1] == pytest.approx(reply.playout_end, abs=0.03)
    assert user[-1] < box[0]
