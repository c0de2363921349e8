"""Bounded waits: what ends them, and the message of a timeout."""

from __future__ import annotations

import asyncio
import re

import pytest
from scripted_server import ScriptedServer, tone_packets

from firmware_test_client import DeviceTimeout, SimulatedDevice


async def test_a_timeout_names_the_condition_and_the_last_frames(
    server: ScriptedServer,
) -> None:
    async with SimulatedDevice(server.device()) as device:
        await server.talk.send({"type": "stt", "text": "last words"})
        await device.wait_for_frame("stt", where=lambda frame: frame.size > 10)
        with pytest.raises(DeviceTimeout) as caught:
            await device.wait_for_state("speaking", timeout=0.1)
        assert isinstance(caught.value, TimeoutError)
        text = str(caught.value)
        assert text.startswith("waited 0.1 s for state speaking; state listening; last frames:")
        assert "last words" in text
        assert "out text" in text


async def test_a_timeout_tells_why_a_reply_has_not_ended(server: ScriptedServer) -> None:
    """A start behind the stop: the device speaks for ever, and the frames show it in order."""
    async with SimulatedDevice(server.device()) as device:
        await device.abort()
        for state in ("stop", "start"):
            await server.talk.send({"type": "tts", "state": state})
        await device.wait_for_state("speaking")
        await server.talk.audio(tone_packets(3))
        await device.wait_for(lambda: device.replies[0].frames == 3, what="three packets")
        with pytest.raises(DeviceTimeout) as caught:
            await device.wait_for_reply(after=0, timeout=0.1)
        first, *frames = str(caught.value).splitlines()
        assert re.fullmatch(
            r"waited 0\.1 s for the end of reply 0; state speaking, reply 0 has not ended: "
            r"tts start -\d+\.\d{3} s, no tts stop; last frames:",
            first,
        )
        assert re.fullmatch(r"  -\d+\.\d{3} … -\d+\.\d{3} s audio: 3 in, 0 out", frames[-1])
        texts = [line for line in frames if "audio:" not in line]
        assert all(re.match(r"  -\d+\.\d{3} s (in|out) text \d+ B {", line) for line in texts)
        for line, part in zip(texts[-3:], ('"abort"', '"stop"', '"start"'), strict=True):
            assert part in line


async def test_a_predicate_may_depend_on_something_unrecorded(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(mode="manual")) as device:
        elsewhere: list[int] = []
        asyncio.get_running_loop().call_later(0.1, elsewhere.append, 7)
        found = await device.wait_for(lambda: elsewhere and elsewhere[0], what="a seven")
        assert found == 7


async def test_a_predicate_s_own_error_reaches_its_waiter(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device(mode="manual")) as device:
        calls: list[None] = []

        def fails_later() -> bool:
            calls.append(None)
            if len(calls) > 1:
                raise LookupError("mine")
            return False

        with pytest.raises(LookupError, match="mine"):
            await device.wait_for(fails_later, what="nothing")


async def test_waiting_for_frames_from_an_index_on(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        await server.talk.send({"type": "stt", "text": "one"})
        first = await device.wait_for_frame("stt")
        since = len(device.frames)
        with pytest.raises(DeviceTimeout):
            await device.wait_for_frame("stt", since=since, timeout=0.1)
        await server.talk.send({"type": "stt", "text": "two"})
        second = await device.wait_for_frame("stt", since=since)
        assert [(frame.body or {})["text"] for frame in (first, second)] == ["one", "two"]
        assert device.stt_texts == ["one", "two"]
