"""PCM in place of Opus, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.transports.xiaozhi.support import (
    HELLO,
    receive_json,
    running,
    tone,
)
from vixio.core.chunk import AudioIn
from vixio.transports.xiaozhi.framing import VERSIONS, Version, build_frame, parse_frame


def pcm_hello(version: Version) -> dict[str, Any]:
    audio = {"format": "pcm", "sample_rate": 16_000, "channels": 1, "frame_duration": 60}
    return {**HELLO, "version": version, "audio_params": audio}


@pytest.mark.parametrize("version", VERSIONS)
async def test_pcm_goes_in_both_directions_as_it_is(version: Version) -> None:
    said = tone(16_000, 0.3)
    async with running() as server:
        headers = {"Protocol_Version": str(version)}
        async with server.client("aa", pcm_hello(version), **headers) as client:
            session = await server.session()
            for at in range(0, len(said), 1_920):
                await client.send(build_frame(version, said[at : at + 1_920]))
            heard = b""
            while len(heard) < len(said):
                chunk = await session.next()
                assert isinstance(chunk, AudioIn)
                heard += chunk.pcm
            assert heard == said
            encoder = session.connection.new_encoder()
            reply = tone(24_000, 0.12)
            await session.connection.send_audio(encoder.encode(reply, 24_000), 0)
            frames = [
                parse_frame(version, data)
                for data in [await client.recv() for _ in "ab"]
                if isinstance(data, bytes)
            ]
            assert b"".join(frame.payload for frame in frames if frame) == reply


async def test_the_hello_says_pcm_and_what_is_no_frame_is_counted() -> None:
    async with running() as server, server.client("aa", None) as client:
        await client.send(json.dumps(pcm_hello(1)))
        assert (await receive_json(client))["audio_params"] == {
            "format": "pcm",
            "sample_rate": 24_000,
            "channels": 1,
            "frame_duration": 60,
        }
        session = await server.session()
        for wrong in (b"x", bytes(100), bytes(5_000)):
            await client.send(wrong)
        await client.send(bytes(1_920))
        chunk = await session.next()
        assert isinstance(chunk, AudioIn)
        assert chunk.pcm == bytes(1_920)
        assert server.counters.get("xiaozhi.ignored.bad_pcm") == 3
