"""The pacer's schedule, packet by packet, on the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.audio import AudioFormat, pcm_bytes
from vixio.core.chunk import TextInput
from vixio.core.pacer import MAX_AHEAD_PACKETS, PacerSettings
from vixio.testing import ManualConnection, ScriptedAgent, ScriptedTTS

HEAD_START_S = PacerSettings().head_start_ms / 1000
DEVICE_DELAY_S = PacerSettings().device_delay_ms / 1000
QUEUE_PACKETS = 40
"""What the firmware's decode queue holds (main/audio/audio_service.h)."""


def assert_on_schedule(device: ManualConnection) -> None:
    """Every packet is sent when it is due by the head start or along with the one before."""
    packet = device.output.frame_ms / 1000
    head = min(HEAD_START_S, (MAX_AHEAD_PACKETS - 1) * packet)
    audio = device.all("audio")
    first = audio[0].at
    for number, sent in enumerate(audio):
        assert sent.text == str(number * device.output.frame_ms)
        due = max(first, first + number * packet - head)
        assert sent.at == pytest.approx(due, abs=1e-6) or sent.at == audio[number - 1].at >= (
            due - packet - 1e-6
        )
        played = (sent.at - first) / packet
        assert number + 1 - played <= QUEUE_PACKETS
    wakes = sum(later.at > sent.at for sent, later in pairwise(audio))
    assert wakes <= (len(audio) + 1) // 2
    stop = device.all("stop")[-1].at
    assert stop == pytest.approx(first + len(audio) * packet + DEVICE_DELAY_S, abs=1e-6)


@pytest.mark.parametrize("frame_ms", [20, 40, 60])
@on_virtual_time
async def test_every_packet_is_sent_when_it_is_due(frame_ms: int) -> None:
    talk = Conversation(device=ManualConnection(output=AudioFormat(24_000, frame_ms)))
    async with talk.running():
        talk.device.put(TextInput("a question of some length, for an answer of some length"))
        await talk.device.wait_for("stop")
        assert_on_schedule(talk.device)
        assert talk.counters.get("pacer.starved") == 0


@on_virtual_time
async def test_twenty_at_once_are_all_on_schedule() -> None:
    talks = [Conversation() for _ in range(20)]
    async with AsyncExitStack() as stack:
        for talk in talks:
            await stack.enter_async_context(talk.running())
        for number, talk in enumerate(talks):
            talk.device.put(TextInput(f"device {number} has a question of some length"))
            await asyncio.sleep(0.007)
        for talk in talks:
            await talk.device.wait_for("stop")
            assert_on_schedule(talk.device)
            assert talk.counters.get("pacer.starved") == 0


class CountingConnection(ManualConnection):
    """Notes how many packets came at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int] = []

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Take the packets."""
        self.numbers.append(len(packets))
        await super().send_audio(packets, timestamp_ms)


@on_virtual_time
async def test_packets_that_are_due_together_are_sent_together() -> None:
    device = CountingConnection()
    words = "An answer of one sentence that takes about two seconds to say."
    talk = Conversation(device=device, agent=ScriptedAgent(lambda _: (words,)))
    async with talk.running():
        device.put(TextInput("a question of some length, for an answer of some length"))
        await device.wait_for("stop")
    assert sum(device.numbers) == len(device.all("audio"))
    head, steady, last = device.numbers[:4], device.numbers[4:-1], device.numbers[-1]
    assert len(steady) > 3
    assert set(steady) == {2}
    assert max(head) > 1
    assert last in (1, 2)


class SlowTTS(ScriptedTTS):
    """Takes longer to speak than the speech lasts."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield 100 ms at a time, every 150 ms."""
        for _ in range(10):
            await asyncio.sleep(0.15)
            yield bytes(pcm_bytes(0.1, self.sample_rate))


@on_virtual_time
async def test_a_voice_slower_than_its_speech_starves_the_device_and_is_counted() -> None:
    """The packets are late then, and ``tts stop`` still follows the last of them."""
    talk = Conversation(tts=SlowTTS())
    async with talk.running():
        talk.device.put(TextInput("slowly"))
        stop = await talk.device.wait_for("stop")
        audio = talk.device.all("audio")
        packet = talk.device.output.frame_ms / 1000
        assert talk.counters.get("pacer.starved") > 0
        assert any(later.at - sent.at > packet for sent, later in pairwise(audio))
        assert stop.at >= audio[-1].at + packet
