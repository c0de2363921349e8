"""Users who speak over a long answer in realtime mode, and what they hear of it then.

The device has an echo canceller of its own, so its microphone hears the user alone. What it played
is laid beside the same speech without a disturbance, packet by packet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from firmware_test_client import DeviceConfig, DeviceTimeout, Pcm, SimulatedDevice
from vixio.core.audio import LISTEN_RATE
from vixio.core.session.speech import SpeechHandle, SpeechStatus
from vixio.providers.espeak.provider import EspeakTTSProvider
from vixio.server import Providers, Server
from vixio.testing.voices import Floats, Speaker, Voices
from vixio_bench.conversation.heard import STORY, Course, Made, StoryTeller, course, subtitles
from vixio_bench.conversation.servers import running
from vixio_bench.conversation.situations import cough, loud, pink
from vixio_bench.conversation.stand_ins import MarkedWords, marked
from vixio_bench.paused_speech import paused

SPEAKERS: Final = (
    Speaker("en-us+m1", rate=155, pitch=52),
    Speaker("en-us+f3", rate=163, pitch=58),
    Speaker("en-us+m5", rate=180, pitch=43),
    Speaker("en-us+f2", rate=150, pitch=62),
)
STOPS: Final = ("stop", "be quiet", "stop talking", "that's enough", "stop it")
COMMANDS: Final = (
    "what time is it",
    "turn up the volume",
    "what is the battery level",
    "make the screen brighter",
    "mute the sound",
)
LISTENS: Final = ("mm-hmm", "oh", "aha", "hm", "wow")
ROOM_DB: Final = -60.0
WAIT_S: Final = 20.0
"""For what follows; the story takes 6.5 s."""
ANSWER_S: Final = 4.0
"""Within which the answer to a command begins."""
QUIET_S: Final = 0.9
"""Of nothing, behind which nothing follows."""
FROM_PACKET: Final = 8
"""So much of the story, or up to a second more, is heard before anybody speaks over it."""

Wanted = Literal["stops", "answered", "goes on"]


@dataclass(frozen=True, slots=True)
class Interjection:
    """What is said over the story, and what is wanted then. ``number``: marked on the sound."""

    group: str
    words: str
    sound: Floats
    wanted: Wanted
    number: int | None = None
    after_packets: int = FROM_PACKET


@dataclass(frozen=True, slots=True)
class Over:
    """What became of one. ``silence_ms``: from the first sample of the voice to the last of the
    story, where it fell silent; None: it did not. ``told_ms``: to ``tts stop``, the server's part
    of that. ``course``: of the story. ``subtitles_ms``: by how much its sentences were shown before
    their sound."""

    said: Interjection
    silence_ms: float | None
    told_ms: float | None
    interrupted: bool
    """Whether the story was ended by it."""
    answered: bool
    course: Course
    subtitles_ms: tuple[float, ...] = ()

    @property
    def missed(self) -> bool:
        """Whether the user wanted it to end and it did not."""
        return self.said.wanted != "goes on" and not (
            self.interrupted and self.silence_ms is not None
        )

    @property
    def false(self) -> bool:
        """Whether it ended although nobody wanted that."""
        return self.said.wanted == "goes on" and (self.interrupted or not self.course.whole)


@dataclass(frozen=True, slots=True)
class Way:
    """How a voice over a speech is taken. ``free``: by a recogniser that hears more than its
    commands (a stand-in); else by the default one, PocketSphinx."""

    name: str
    free: bool
    listening: Mapping[str, Any]


FREE: Final = "free recogniser"
PAUSED: Final = "default set, pause"
WAYS: Final = (
    Way("default set", free=False, listening={}),
    Way(PAUSED, free=False, listening={"interruption": "pause"}),
    Way(FREE, free=True, listening={}),
)


def interjections(seed: int, limit: int | None = None) -> list[Interjection]:
    """Return all, or ``limit`` of each group. The same for the same ``seed``."""
    every = list(_every(np.random.default_rng(seed)))
    if limit is None:
        return every
    groups: dict[str, list[Interjection]] = {}
    for each in every:
        groups.setdefault(each.group, []).append(each)
    return [each for group in groups.values() for each in group[:limit]]


def _every(draw: np.random.Generator) -> Iterator[Interjection]:
    voices = Voices(repeatable=True)
    number = 0

    def said(words: str, who: Speaker) -> Floats:
        nonlocal number
        number += 1
        return marked(loud(paused(voices, [words], [], who).sound), number)

    def placed(
        group: str, words: str, sound: Floats, wanted: Wanted, of: int | None
    ) -> Interjection:
        # Neither at the same place of a packet each time, nor at the same of the story.
        lead = np.zeros(int(draw.uniform(0, 0.06) * LISTEN_RATE), np.float32)
        room = np.concatenate([lead, sound])
        room = room + pink(len(room), ROOM_DB)
        return Interjection(
            group, words, room, wanted, of, int(draw.integers(FROM_PACKET, FROM_PACKET + 17))
        )

    kinds: tuple[tuple[str, Sequence[str], Wanted], ...] = (
        ("stop", STOPS, "stops"),
        ("command", COMMANDS, "answered"),
        ("mhm", LISTENS, "goes on"),
    )
    for group, phrases, wanted in kinds:
        for index in range(10 if wanted != "goes on" else 5):
            words, who = phrases[index % len(phrases)], SPEAKERS[index % len(SPEAKERS)]
            yield placed(group, words, said(words, who), wanted, number)
    for index in range(5):
        yield placed("cough", f"cough {index + 1}", cough(draw), "goes on", None)
    yield placed("nothing", "", np.zeros(LISTEN_RATE, np.float32), "goes on", None)


async def play_over(
    way: Way, said: Sequence[Interjection], devices: int, tell: Callable[[], None]
) -> list[Over]:
    """Let users say all of it over the story. ``tell`` is called after each.

    Raises VixioError if the server cannot work, DeviceError if a device is refused.
    """
    words = {each.number: each.words for each in said if each.number is not None}
    asr = MarkedWords(words) if way.free else None
    made = Providers(asr=asr, tts=StoryTeller(EspeakTTSProvider()))
    waiting = list(enumerate(said))
    found: dict[int, Over] = {}

    async def device(server: Server, url: str, story: Made) -> None:
        async with SimulatedDevice(DeviceConfig(ws_url=url, mode="realtime")) as one:
            await one.type_text("hello")  # its tools are known then
            while waiting:
                number, each = waiting.pop(0)
                found[number] = await _interject(server, one, story, each)
                tell()

    async with running(way.listening, made) as (server, url):
        story = await _undisturbed(server, url)
        async with asyncio.TaskGroup() as group:
            for _ in range(devices):
                group.create_task(device(server, url, story))
    return [found[number] for number in sorted(found)]


async def _undisturbed(server: Server, url: str) -> Made:
    async with SimulatedDevice(DeviceConfig(ws_url=url, mode="realtime")) as one:
        await one.type_text("hello")
        first = len(one.heard)
        await _tell_story(server, one).played()
        await _silent(one)
        return Made(one.heard[first:])


def _tell_story(server: Server, device: SimulatedDevice) -> SpeechHandle:
    session = server.sessions.find(device.config.device_id)
    if session is None:
        raise RuntimeError("the device is not connected")
    return session.say(STORY)


async def _silent(device: SimulatedDevice) -> None:
    """Wait until everything that the device gets is played: an answer may follow."""
    count = -1
    while count != len(device.replies):
        count = len(device.replies)
        await device.wait_for(
            lambda: device.listening and (not device.replies or device.replies[-1].ended),
            what="silence",
        )
        await asyncio.sleep(QUIET_S)


async def _interject(
    server: Server, device: SimulatedDevice, story: Made, said: Interjection
) -> Over:
    await _silent(device)
    first, shown = len(device.heard), len(device.sentences)
    handle = _tell_story(server, device)
    await device.wait_for(
        # An answer to what was said before may have come late.
        lambda: (
            sum(story.place(each) is not None for each in device.heard[first:])
            >= said.after_packets
        ),
        what="the story",
        timeout=WAIT_S,
    )
    pcm = np.clip(said.sound * 32768, -32768, 32767).astype("<i2").tobytes()
    spoken = await device.say(Pcm(pcm, LISTEN_RATE))
    outcome = await asyncio.wait_for(handle.played(), WAIT_S)
    interrupted = outcome.status is not SpeechStatus.PLAYED
    answered = False
    if interrupted and said.wanted == "answered":
        answered = await _answered(device, spoken.voice_end)
    await _silent(device)
    heard = course(story, device.heard[first:], spoken.voice_start)
    if heard is None:
        raise RuntimeError("nothing was heard of the story")
    fell_silent = heard.pauses > 0 or not heard.whole
    silence = (heard.silent_at - spoken.voice_start) * 1000 if fell_silent else None
    told = next((at for at in _stops(device) if at >= spoken.voice_start), None)
    told_ms = None if told is None or silence is None else (told - spoken.voice_start) * 1000
    ahead = tuple(subtitles(device.heard[first:], device.sentences[shown:]))
    return Over(said, silence, told_ms, interrupted, answered, heard, ahead)


def _stops(device: SimulatedDevice) -> Iterator[float]:
    for frame in device.frames:
        if frame.direction == "in" and frame.body and frame.body.get("state") == "stop":
            yield frame.time


async def _answered(device: SimulatedDevice, voice_end: float) -> bool:
    """Whether an answer begins behind the user's words."""
    try:
        await device.wait_for(
            lambda: any(each.tts_start > voice_end and each.first_audio for each in device.replies),
            what="an answer",
            timeout=ANSWER_S,
        )
    except DeviceTimeout:
        return False
    return True
