"""What an MCP server returns as audio, in all three forms, at the device's loudspeaker."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import miniaudio
import numpy as np
import pytest

from tests.e2e.test_media import CODEC_DELAY, FRAME, RATE, REPEATED, Bench, begins_at, bench, heard
from tests.support.media_files import place_of, sound, write_wav
from tests.support.radio_server import RadioServer, frames
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, SCRIPT
from vixio.tools.mcp.source import McpSource

MCP = {"songs": {"command": sys.executable, "args": [str(SCRIPT), "stdio"]}}


@asynccontextmanager
async def with_server(
    folder: Path, *, media: bool = True, **options: object
) -> AsyncIterator[Bench]:
    """A conversation that has an MCP server as a process, ``media``: and something that plays."""
    sections: dict[str, object] = {"mcp_servers": MCP}
    if not media:
        sections["tools"] = {}
    async with bench(folder, sections, **options) as held:
        for source in held.server.app.tools.sources:
            if isinstance(source, McpSource):
                async with asyncio.timeout(BOUND):
                    await source.ready()
        yield held


@pytest.mark.parametrize("kind", ["audio", "resource"])
async def test_wav_is_played_behind_the_answer_and_goes_on_where_it_was(
    kind: str, tmp_path: Path
) -> None:
    whole = sound(30.0, RATE)
    write_wav(tmp_path / "it.wav", whole, RATE)
    place = str(tmp_path / "it.wav")
    async with with_server(tmp_path / "none") as held:
        told = await held.asked("sound", "Listen.", place=place, mime_type="audio/wav", kind=kind)
        assert told.text == "Listen."
        assert "[the audio is played behind your next words" in held.results()[-1]
        assert len(held.results()[-1]) < 200, "the model gets no audio"
        music = await held.music(1, 2.0)
        await held.asked("what_is_playing", "A sound.")
        assert '"title": "sound"' in held.results()[-1]
        again = await held.music(3, 2.0)
        await held.device.abort()
        await until(lambda: again.ended, what="the pause", seconds=30)
        assert begins_at(music, whole) == 0
        missed = begins_at(again, whole) - len(heard(music)) // 2
        assert -REPEATED <= missed <= FRAME


async def test_mp3_is_played_to_its_end(tmp_path: Path) -> None:
    data = frames(RATE, 3)
    (tmp_path / "it.mp3").write_bytes(data)
    whole = np.frombuffer(
        miniaudio.decode(data, nchannels=1, sample_rate=RATE).samples.tobytes(), "<i2"
    )
    async with with_server(tmp_path / "none") as held:
        place = str(tmp_path / "it.mp3")
        await held.asked("sound", place=place, mime_type="audio/mpeg")
        music = await held.music(1, 0.5)
        await until(lambda: music.ended, what="the end", seconds=30)
        data = heard(music)[2 * CODEC_DELAY :]
        assert abs(len(data) // 2 - len(whole)) <= 2 * FRAME
        at, alike = place_of(data, RATE, np.pad(whole, (0, 4 * FRAME)))
        assert at < FRAME
        assert alike > 0.9


async def test_a_link_is_played_as_play_link_plays_it(tmp_path: Path) -> None:
    async with RadioServer() as radio:
        link = {"place": f"{radio.url}/plain", "mime_type": "audio/mpeg", "kind": "link"}
        async with with_server(tmp_path) as held:
            await held.asked("sound", **link)
            reply = await held.device.wait_for_reply(after=1, timeout=60)
            assert reply.text == "I must not play from that address."
            assert radio.asked == []
        async with with_server(tmp_path, allow_private=True) as held:
            await held.asked("sound", **link)
            await held.music(1, 0.5)
            assert held.device.screen[-1] == "A song"
            assert radio.count("/plain") == 1


@pytest.mark.parametrize("media", [True, False])
async def test_without_media_the_model_is_told_what_to_switch_on(
    media: bool, tmp_path: Path
) -> None:
    write_wav(tmp_path / "it.wav", sound(2.0, RATE), RATE)
    async with with_server(tmp_path / "none", media=media, links=False) as held:
        await held.asked("sound", place=str(tmp_path / "it.wav"), mime_type="audio/wav")
        assert "switch on tools.media, with its links" in held.results()[-1]
        await held.asked("echo", text="and then?")
        assert len(held.device.replies) == 2


async def test_what_cannot_be_played_is_said(tmp_path: Path) -> None:
    (tmp_path / "it.wav").write_bytes(b"no audio" * 2_000)
    async with with_server(tmp_path / "none") as held:
        await held.asked("sound", place=str(tmp_path / "it.wav"), mime_type="audio/wav")
        reply = await held.device.wait_for_reply(after=1, timeout=60)
        assert reply.text == "I cannot play this kind of recording."
        (tmp_path / "it.wav").write_bytes(bytes(12_000_001))
        await held.asked("sound", place=str(tmp_path / "it.wav"), mime_type="audio/wav")
        assert "[audio left out: too much or too large]" in held.results()[-1]
