"""Twenty devices at once: each is understood and gets only its own answer."""

from __future__ import annotations

import asyncio

from firmware_test_client import Reply, SimulatedDevice, Voice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import ToneTTS, WaveformASR, loudest_hertz, recordings
from tests.e2e.harness import RunningServer, serving
from vixio.core.history import AssistantMessage, UserMessage
from vixio.testing import ScriptedAgentBackend

DEVICES = 20
TYPED_TURNS = 2

VOICES = [
    Voice(variant=variant, speed=speed)
    for variant, speed in (("", 160), ("f3", 150), ("m3", 170), ("f1", 180), ("m7", 155))
]

SENTENCES = (
    "good morning", "close the window", "what is the time", "how are you", "tell me more",
    "open the garden gate", "sing me a song", "who is at the door", "make it warmer", "next page",
    "where is my phone", "read the news", "count to five", "dim the light", "stop the music",
    "wake me at seven", "is it raining", "call my mother", "lock the car", "good evening",
)  # fmt: skip

LOWEST, STEP = 400, 60
"""Hz of the tone that answers device 0, and from each device's to the next one's."""


def hertz(number: int) -> int:
    """Return the tone that device ``number`` alone is answered with."""
    return LOWEST + STEP * number


async def converse(server: RunningServer, number: int, together: asyncio.Barrier) -> None:
    """One spoken turn and some typed ones, all devices at once."""
    mode = ("auto", "manual", "realtime")[number % 3]
    said = SENTENCES[number]
    config = server.device(
        mode=mode,
        version=number % 3 + 1,
        voice=VOICES[number % len(VOICES)],
        device_id=f"02:00:00:00:01:{number:02x}",
    )
    async with SimulatedDevice(config) as device:
        await together.wait()
        spoken = device.press_to_talk(said) if mode == "manual" else device.ask(said)
        reply = await spoken
        assert reply.stt == said
        assert_own(reply, number)
        for turn in range(TYPED_TURNS):
            typed = await device.type_text(f"device {number}, turn {turn}")
            assert typed.stt == f"device {number}, turn {turn}"
            assert_own(typed, number)
        assert len(device.replies) == 1 + TYPED_TURNS
        assert_nothing_wrong(device)
        session = server.session(config.device_id)
        assert session is not None
        items = session.context.history.items()
        users = [item.text for item in items if isinstance(item, UserMessage)]
        assert users == [said, *(f"device {number}, turn {turn}" for turn in range(TYPED_TURNS))]
        answers = {item.text for item in items if isinstance(item, AssistantMessage)}
        assert answers == {f"Tone {hertz(number)}."}
        await together.wait()


def assert_own(reply: Reply, number: int) -> None:
    """The subtitle is this device's, and so is the sound that came out of it."""
    assert reply.text == f"Tone {hertz(number)}."
    assert_played_well(reply)
    sound = reply.heard
    assert abs(loudest_hertz(sound.samples, sound.rate) - hertz(number)) < STEP / 4


def script(text: str) -> tuple[str]:
    """Answer with the tone of the device whose words these are."""
    number = (
        SENTENCES.index(text)
        if text in SENTENCES
        else int(text.split(",", maxsplit=1)[0].split()[1])
    )
    return (f"Tone {hertz(number)}.",)


async def test_twenty_conversations_at_once() -> None:
    known = {}
    for number, sentence in enumerate(SENTENCES):
        known.update(await recordings([sentence], [VOICES[number % len(VOICES)]]))
    recogniser = WaveformASR(known)
    async with serving(asr=recogniser, agent=ScriptedAgentBackend(script), tts=ToneTTS()) as server:
        together = asyncio.Barrier(DEVICES)
        async with asyncio.TaskGroup() as group:
            for number in range(DEVICES):
                group.create_task(converse(server, number, together), name=f"device {number}")
        assert server.count("turn.outcome.answered") == DEVICES * (1 + TYPED_TURNS)
        assert server.count("asr.audio_dropped") == 0
        # One with a pause in it may be heard up to there as well.
        assert {utterance.label for utterance in recogniser.heard} == set(SENTENCES)
