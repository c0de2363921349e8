"""Whose voice it is: the user's, or that of others in the room."""

from __future__ import annotations

import pytest

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    ListenMode,
    ListenStart,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.stations.vad import QUIET_MS, WARY_MS, VADSettings, VADStation
from vixio.testing import ScriptedVAD, silence, speech

VOICE = speech(0.512, frequency=250.0)
"""Whole windows, and whole waves: the same level everywhere."""


def voice(seconds: float, db: float = 0.0) -> bytes:
    """Return a voice that is louder by ``db`` than others."""
    import numpy as np

    loud = np.frombuffer(VOICE, "<i2").astype(np.float64) * 10 ** (db / 20)
    return np.resize(loud.astype("<i2"), round(seconds * LISTEN_RATE)).tobytes()


class Room:
    """A VAD station, and what it has marked with the seconds of audio before the mark."""

    def __init__(self, settings: VADSettings | None = None, packet_s: float = 0.06) -> None:
        self.station = VADStation(ScriptedVAD(), settings)
        self._packet_s = packet_s
        self.marks: list[tuple[float, Chunk]] = []
        self.seconds = 0.0
        self._rest = b""

        async def nothing(_: object) -> None:
            return None

        context = StationContext(
            "", "", History(), ToolSet(), Counters(), lambda work: work.close()
        )
        self.station.bind(context, nothing)

    async def hear(self, pcm: bytes) -> list[Chunk]:
        """Pass audio on in packets; return the marks."""
        before = len(self.marks)
        self._rest += pcm
        size = pcm_bytes(self._packet_s, LISTEN_RATE)
        while len(self._rest) >= size:
            packet, self._rest = self._rest[:size], self._rest[size:]
            self.seconds += self._packet_s
            found = await self.station.feed(AudioIn(packet, 0.0), self.seconds)
            self.marks += [(self.seconds, each) for each in found if not isinstance(each, AudioIn)]
        return [mark for _, mark in self.marks[before:]]


@pytest.mark.parametrize("packet_s", [0.02, 0.06])
async def test_a_turn_pauses_although_others_go_on_talking(packet_s: float) -> None:
    room = Room(packet_s=packet_s)
    (began,) = await room.hear(voice(1.2))
    assert isinstance(began, VoiceStarted)
    (ended,) = await room.hear(voice(4.0, -10))
    assert isinstance(ended, VoiceEnded)
    assert ended.others_ms == QUIET_MS
    at = room.marks[-1][0] - (ended.silence_ms + ended.others_ms) / 1000
    assert at == pytest.approx(1.2, abs=0.16), "the level is that of 160 ms"


async def test_without_the_setting_every_voice_is_the_users() -> None:
    room = Room(VADSettings(background_db=0.0))
    assert len(await room.hear(voice(1.2) + voice(4.0, -10))) == 1


@pytest.mark.parametrize("db", [-4.0, -6.0])
async def test_people_are_not_as_loud_in_every_word(db: float) -> None:
    room = Room()
    assert len(await room.hear(voice(1.0) + voice(4.0, db) + voice(1.0))) == 1


async def test_soft_words_between_loud_ones_are_no_pause() -> None:
    room = Room()
    assert len(await room.hear((voice(0.6) + voice(0.4, -15)) * 5)) == 1


async def test_others_begin_nothing_while_they_talk_and_the_user_does() -> None:
    room = Room()
    await room.hear(voice(1.2) + voice(2.0, -10))
    assert await room.hear((silence(0.3) + voice(2.0, -10)) * 2) == []
    (again,) = await room.hear(voice(0.6, -3))
    assert isinstance(again, VoiceStarted)
    assert again.ago_ms <= 160


async def test_others_are_heard_when_the_user_has_long_been_silent() -> None:
    room = Room()
    await room.hear(voice(1.2) + voice(2.0, -10))
    assert await room.hear(voice(WARY_MS / 1000 - 3.0, -10)) == []
    (began,) = await room.hear(voice(4.0, -10))
    assert isinstance(began, VoiceStarted)


async def test_in_a_quiet_room_another_person_may_be_quieter() -> None:
    room = Room()
    await room.hear(voice(1.2) + silence(2.0))
    (began,) = await room.hear(voice(1.2, -20))
    assert isinstance(began, VoiceStarted)
    assert not await room.hear(voice(2.0, -20)), "their own level counts"


async def test_who_goes_on_softly_behind_a_short_pause_is_heard() -> None:
    room = Room()
    marks = await room.hear(voice(1.2) + silence(0.45) + voice(0.25, -10) + voice(1.0, -4))
    assert [type(mark) for mark in marks] == [VoiceStarted, VoiceEnded, VoiceStarted]


async def test_a_television_that_begins_in_the_pause_does_not_hold_up_the_end() -> None:
    room = Room()
    await room.hear(voice(1.2) + silence(0.45) + voice(2.0, -10))
    *_, (at, ended) = room.marks
    assert isinstance(ended, VoiceEnded)
    assert at - (ended.silence_ms + ended.others_ms) / 1000 == pytest.approx(1.2, abs=0.16)
    assert at <= 1.2 + 0.45 + 0.45


async def test_who_calls_off_is_heard_at_any_level() -> None:
    room = Room()
    await room.hear(voice(1.2) + voice(2.0, -10))
    await room.station.feed(Abort("wake word"), room.seconds)
    (began,) = await room.hear(voice(1.0, -10))
    assert isinstance(began, VoiceStarted)


async def test_an_answer_in_between_changes_nothing() -> None:
    room = Room()
    await room.hear(voice(1.2) + voice(2.0, -10))
    await room.station.feed(ListenStart(ListenMode.AUTO), room.seconds)
    assert await room.hear(voice(2.0, -10)) == []
    assert len(await room.hear(voice(1.0, -2))) == 1


@pytest.mark.parametrize(("speaks", "windows"), [(False, 3), (True, 1)])
async def test_over_the_assistants_speech_one_sure_window_begins_a_voice(
    speaks: bool, windows: int
) -> None:
    room = Room(packet_s=0.032)
    room.station.context.surely_over = lambda: speaks
    for number in range(1, 4):
        marks = await room.hear(voice(0.032))
        assert len(marks) == (number == windows)


async def test_over_the_assistants_speech_others_begin_nothing() -> None:
    room = Room()
    await room.hear(voice(1.2))
    await room.hear(voice(4.0, -10))
    room.station.context.surely_over = lambda: True
    assert await room.hear(voice(1.0, -10)) == []
