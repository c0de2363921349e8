"""The pacer's schedule, packet by packet, on the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.audio import AudioFormat
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


@on_virtual_time
async def test_a_voice_slower_than_its_speech_starves_the_device_and_is_counted() -> None:
    """The packets are late then, and ``tts stop`` still follows the last of them."""
    talk = Conversation(tts=ScriptedTTS(pace=0.66))
    async with talk.running():
        talk.device.put(TextInput("slowly"))
        stop = await talk.device.wait_for("stop")
        audio = talk.device.all("audio")
        packet = talk.device.output.frame_ms / 1000
        assert talk.counters.get("pacer.starved") > 0
        assert any(later.at - sent.at > packet for sent, later in pairwise(audio))
        assert stop.at >= audio[-1].at + packet


def gaps(device: ManualConnection, reply: int) -> list[float]:
    """Return the seconds of silence within the sentences of a reply, as the device has them."""
    starts = [number for number, sent in enumerate(device.sent) if sent.kind == "start"]
    found, plays = [], 0.0
    for sent in device.sent[starts[reply] :]:
        if sent.kind == "stop":
            break
        if sent.kind == "sentence":
            plays = 0.0  # between two sentences there may be one
        elif sent.kind == "audio":
            if plays and sent.at > plays + 1e-6:
                found.append(sent.at - plays)
            plays = max(plays, sent.at) + device.output.frame_ms / 1000
    return found


@pytest.mark.parametrize("pace", [0.45, 0.8, 0.99])
@on_virtual_time
async def test_a_slow_voice_pauses_between_sentences_and_not_within(pace: float) -> None:
    """From its second sentence on: before, nobody knows."""
    story = "It was a dark night. The wind was cold. Nobody slept in the house, nor in the yard."
    talk = Conversation(
        agent=ScriptedAgent(lambda _: (story,)), tts=ScriptedTTS(delay=0.2, pace=pace)
    )
    async with talk.running():
        for reply in range(2):
            talk.device.put(TextInput("tell me"))
            await talk.device.wait_for("stop", reply + 1)
        assert gaps(talk.device, 0) or pace == 0.99
        assert gaps(talk.device, 1) == []
        assert talk.counters.get("tts.held_back") >= 3


@on_virtual_time
async def test_a_quick_voice_is_never_held_back() -> None:
    for pace in (0.0, 2.0, 5.0):
        talk = Conversation(tts=ScriptedTTS(delay=1.0, pace=pace))
        async with talk.running():
            for reply in range(3):
                began = asyncio.get_running_loop().time()
                talk.device.put(TextInput("a question of some length"))
                await talk.device.wait_for("audio", len(talk.device.all("audio")) + 1)
                took = talk.device.all("audio")[-1].at - began
                await talk.device.wait_for("stop", reply + 1)
                assert gaps(talk.device, reply) == []
                assert took <= 1.3, "its delay, the first piece, and the lead of 160 ms"
            assert talk.counters.get("tts.held_back") == 0


@on_virtual_time
async def test_a_voice_that_cannot_be_helped_is_not_waited_for_without_end() -> None:
    talk = Conversation(tts=ScriptedTTS(pace=0.2))
    async with talk.running():
        for reply in range(2):
            began = asyncio.get_running_loop().time()
            talk.device.put(TextInput("a question of some length"))
            await talk.device.wait_for("audio", len(talk.device.all("audio")) + 1)
            assert talk.device.all("audio")[-1].at - began <= 4.0
            await talk.device.wait_for("stop", reply + 1)
