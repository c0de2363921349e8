"""Music from a folder, through a real server to the simulated device's loudspeaker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_reminders import order, settled
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.media_files import place_of, sound, write_wav
from tests.support.waiting import until
from vixio.data.reminders.records import State
from vixio.testing import ScriptedTTS

RATE = 24_000
"""Of the device, so that a sample of the file is a sample of the loudspeaker."""

FRAME = RATE * 60 // 1000

REPEATED = RATE
"""Samples at most that are heard again where it goes on: a device may play out what it has got, and
a busy one plays late. None may be lost but those of a packet."""

CODEC_DELAY = 60
"""Samples that Opus looks ahead, which come out first."""


@dataclass
class Bench:
    """A server that has music, its model, and a device."""

    server: RunningServer
    llm: LLMServer
    device: SimulatedDevice

    async def asked(self, tool: str, said: str = "Fine.", **arguments: object) -> Reply:
        """Have the model call a tool, and return the reply."""
        call = Call(f"call_{len(self.llm.requests)}", tool, json.dumps(arguments))
        self.llm.script(calls(call), text(said))
        return await self.device.type_text(f"please {tool}")

    def results(self) -> list[str]:
        """Return what tools have answered in the last turn."""
        messages = self.llm.requests[-1]["messages"]
        return [str(each["content"]) for each in messages if each["role"] == "tool"]

    async def music(self, after: int, seconds: float = 1.0) -> Reply:
        """Wait until a reply behind ``after`` others has been heard for so long."""
        await until(
            lambda: (
                len(self.device.replies) > after
                and self.device.replies[after].played_ms >= seconds * 1000
            ),
            what="music",
            seconds=60,
        )
        return self.device.replies[after]


@asynccontextmanager
async def bench(
    folder: Path, sections: dict[str, Any] | None = None, **media: object
) -> AsyncIterator[Bench]:
    """``media``: its options; ``sections``: others of the settings, which may take it away."""
    async with LLMServer() as llm:
        given: dict[str, Any] = {"tools": {"media": {"folders": [str(folder)], **media}}}
        agent = {"name": "openai", "model": "m", "base_url": llm.base_url}
        config = settings(agent=agent, **{**given, **(sections or {})})
        voice = ScriptedTTS(seconds_per_char=0.01)
        async with (
            serving(config, asr=WaveformASR({}), tts=voice) as server,
            SimulatedDevice(server.device()) as device,
        ):
            yield Bench(server, llm, device)
            assert_nothing_wrong(device)


def heard(reply: Reply) -> bytes:
    return reply.heard.data


def begins_at(reply: Reply, whole: npt.NDArray[np.int16]) -> int:
    """Return the sample of the file that the server sent first: all that was heard follows it."""
    data = heard(reply)
    assert reply.heard_rate == RATE
    found = set()
    for first in range(FRAME * 2, len(data) // 2 - FRAME * 4, FRAME * 8):
        at, alike = place_of(data[2 * first : 2 * (first + FRAME * 4)], RATE, whole)
        assert alike > 0.9, (first, alike)
        found.add(at - first + CODEC_DELAY)
    assert len(found) == 1, found
    return found.pop()


async def test_it_goes_on_at_the_sample_where_the_user_interrupted(tmp_path: Path) -> None:
    whole = sound(30.0, RATE)
    write_wav(tmp_path / "The Long Song.wav", whole, RATE)
    async with bench(tmp_path) as held:
        told = await held.asked("play_media", query="long song")
        assert told.text == "Fine."
        assert "The Long Song" in held.results()[-1]
        music = await held.music(1, 2.0)
        held.llm.script(text("It is noon."))
        answer = await held.device.type_text("what time is it?")
        assert answer.text == "It is noon."
        again = await held.music(3, 2.0)
        await held.device.abort()
        await until(lambda: again.ended, what="the pause", seconds=30)
        assert begins_at(music, whole) == 0
        missed = begins_at(again, whole) - len(heard(music)) // 2
        assert -REPEATED <= missed <= FRAME


async def test_next_previous_what_and_stop(tmp_path: Path) -> None:
    first, second = sound(12.0, RATE, 1), sound(12.0, RATE, 2)
    write_wav(tmp_path / "Evening" / "1 Alpha.wav", first, RATE)
    write_wav(tmp_path / "Evening" / "2 Beta.wav", second, RATE)
    async with bench(tmp_path) as held:
        await held.asked("play_media", query="evening")
        assert begins_at(await held.music(1), first) == 0
        await held.asked("next_media")
        assert begins_at(await held.music(3), second) == 0
        await held.asked("what_is_playing")
        assert "2 Beta" in held.results()[-1]
        await held.music(5)
        await held.asked("previous_media")
        assert begins_at(await held.music(7), first) == 0
        assert held.device.screen[-1] == "1 Alpha"
        await held.asked("pause_media")
        assert "I stopped it." in held.results()[-1]
        await held.asked("what_is_playing")
        assert "Nothing is playing." in held.results()[-1]
        assert len(held.device.replies) == 10, "no more music"
        await held.asked("resume_media")
        goes_on = await held.music(11)
        assert 0 < begins_at(goes_on, first) < RATE * 12
        asked = len(held.llm.requests)
        await held.device.send_json({"type": "listen", "state": "detect", "text": "stop"})
        await until(lambda: goes_on.ended, what="the end", seconds=30)
        await until(lambda: held.server.count("turn.remarks") == 1, what="the word", seconds=30)
        session = held.server.session(held.device.config.device_id)
        assert session is not None
        assert not session._dialogue.waiting
        assert len(held.llm.requests) == asked, "no model is needed for it"


async def test_a_reminder_comes_in_between(tmp_path: Path) -> None:
    whole = sound(30.0, RATE)
    write_wav(tmp_path / "The Long Song.wav", whole, RATE)
    async with bench(tmp_path) as held:
        await held.asked("play_media", query="long song")
        music = await held.music(1, 2.0)
        await order(held.server, held.device.config.device_id, text="call the bank")
        again = await held.music(3, 2.0)
        await held.device.abort()
        await until(lambda: again.ended, what="the pause", seconds=30)
        reminder = held.device.replies[2]
        assert reminder.text == "Reminder: call the bank."
        assert reminder.played_ms > 100
        assert [each.state for each in await settled(held.server, 1)] == [State.DELIVERED]
        assert begins_at(music, whole) == 0
        missed = begins_at(again, whole) - len(heard(music)) // 2
        assert -REPEATED <= missed <= FRAME


async def test_a_message_comes_in_between_and_pieces_follow_without_a_gap(tmp_path: Path) -> None:
    first, second = sound(5.0, RATE, 1), sound(9.0, RATE, 2)
    write_wav(tmp_path / "1.wav", first, RATE)
    write_wav(tmp_path / "2.wav", second, RATE)
    (tmp_path / "Both.m3u").write_text("#EXTM3U\n2.wav\n1.wav\n", encoding="utf-8")
    async with bench(tmp_path) as held:
        await held.asked("play_media", query="both")
        music = await held.music(1, 1.0)
        session = held.server.session(held.device.config.device_id)
        assert session is not None
        outcome = await session.say("Dinner is ready.").played()
        assert outcome.heard == "Dinner is ready."
        again = await held.music(3, 1.0)
        both = np.concatenate([first, second])
        await until(lambda: again.ended, what="the end of both", seconds=60)
        missed = begins_at(again, both) - len(heard(music)) // 2
        assert -REPEATED <= missed <= FRAME
        assert held.device.replies[2].text == "Dinner is ready."
        assert again.underruns == 0
        played = len(heard(again)) // 2 + begins_at(again, both)
        assert abs(played - len(both)) <= FRAME
