"""What other tools return as audio: played when the turn is sure, bounded in memory, resumable."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import miniaudio
import numpy as np
import pytest

from tests.support.radio_server import frames
from vixio.core.errors import ToolError
from vixio.core.session.speech import Sound, SpeechHandle, SpeechStatus
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import SoundPart, ToolCallResult, ToolDefinition, ToolOptions
from vixio.tools.media import source as module
from vixio.tools.media.decoding import BytesDecoder
from vixio.tools.media.settings import MediaSettings
from vixio.tools.media.source import MediaSource


async def sing() -> ToolCallResult:
    """Return a kilobyte of audio."""
    sound = SoundPart("audio/wav", b64encode(bytes(1_000)).decode())
    return ToolCallResult("", success=True, result="here", sounds=(sound,))


SING = ToolDefinition(
    "sing", "Sing.", options=ToolOptions(read_only=True), caller=FunctionCaller(sing)
)


@asynccontextmanager
async def tools() -> AsyncIterator[ToolRuntime]:
    runtime = ToolRuntime([FixedSource("songs", [SING]), MediaSource("media", MediaSettings())])
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


def opened(runtime: ToolRuntime, device: str) -> tuple[SessionTools, list[SpeechHandle]]:
    """Return a session, and what is played in it."""
    session, played = runtime.open(device, "s"), list[SpeechHandle]()

    def play(sound: Sound) -> SpeechHandle:
        handle = SpeechHandle.of_sound(sound)
        handle.attach(lambda each: each.end(SpeechStatus.DROPPED))
        played.append(handle)
        return handle

    session.play = play
    return session, played


async def test_a_turn_that_does_not_take_place_plays_nothing() -> None:
    async def may_not() -> None:
        raise ToolError("cancelled", "the turn is over")

    async with tools() as runtime:
        session, played = opened(runtime, "a")
        result = await session.begin_turn(1, "en", may_act=may_not).run(SING, "{}")
        assert result.result == "here\n[the audio is not played: the turn is over]"
        assert played == []
        result = await session.begin_turn(2, "en").run(SING, "{}")
        assert "is played behind your next words" in (result.result or "")
        assert [each.text for each in played] == ["sing"]
        assert not result.sounds
        await session.close()


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HELD", 2_000)
    async with tools() as runtime:
        sessions = [opened(runtime, device) for device in "abc"]
        told = [
            (await session.begin_turn(1, "en").run(SING, "{}")).result for session, _ in sessions
        ]
        assert ["keeps too much audio" in (each or "") for each in told] == [False, False, True]
        sessions[0][1][0].cancel()  # it is idle now, and gives way
        result = await sessions[2][0].begin_turn(2, "en").run(SING, "{}")
        assert "is played" in (result.result or "")
        for session, _ in sessions:
            await session.close()


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5])
def test_it_is_read_from_where_it_was_left(seconds: float) -> None:
    data = frames(24_000, 4)
    whole = np.frombuffer(miniaudio.decode(data, nchannels=1, sample_rate=24_000).samples, "<i2")
    decoder, got = BytesDecoder(data, seconds), b""
    while (piece := decoder.read()) is not None:
        got += piece[0]
        assert piece[1] == 24_000
    decoder.close()
    found = np.frombuffer(got, "<i2")
    assert len(found) + round(seconds * 24_000) == len(whole)
    assert np.array_equal(found, whole[len(whole) - len(found) :])
