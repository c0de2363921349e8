"""The scripted providers of the load bench."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.waiting import until
from tests.unit.bench.load.marked import sound
from vixio.core.audio import LISTEN_RATE
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject, ToolCallResult, ToolDefinition
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.asr import SpeechHints
from vixio.stations.speech_text import clean
from vixio.testing import run_virtual
from vixio_bench.load.providers import (
    RATE,
    SENTENCE_MS,
    CannedTTS,
    Delays,
    EchoAgent,
    MarkerASR,
)


def heard(delays: Delays, pcm: bytes) -> tuple[str, float]:
    """What the ASR makes of ``pcm``, and after how many (virtual) seconds."""

    async def listen() -> tuple[str, float]:
        stream = MarkerASR(delays).open(SpeechHints())
        for at in range(0, len(pcm), 1_920):
            await stream.feed(pcm[at : at + 1_920])
        clock = asyncio.get_running_loop().time
        began = clock()
        recognition = await stream.finish()
        await stream.close()
        return recognition.text, clock() - began

    return run_virtual(listen())


def test_the_recogniser_reads_the_number_of_the_device() -> None:
    assert heard(Delays(), sound(321)) == ("device 321", 0.0)
    assert heard(Delays(), bytes(2 * LISTEN_RATE))[0] == "nobody"


def test_only_the_slow_devices_wait() -> None:
    delays = Delays(slow_asr=0.3, slow_below=10)
    words, seconds = heard(delays, sound(9))
    assert words == "device 9"
    assert seconds == pytest.approx(0.3)
    assert heard(delays, sound(10)) == ("device 10", 0.0)
    assert heard(Delays(asr=0.1), sound(9))[1] == pytest.approx(0.1)


async def test_a_blocked_recogniser_blocks_its_own_thread_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, end = threading.Event(), threading.Event()

    def block(seconds: float) -> None:
        assert seconds == 0.2
        begun.set()
        assert end.wait(30)

    monkeypatch.setattr(time, "sleep", block)
    stream = MarkerASR(Delays(slow_below=10, blocked=3, block=0.2)).open(SpeechHints())
    await stream.feed(sound(3))
    waiting = asyncio.create_task(stream.finish())
    await until(begun.is_set)  # the loop goes on meanwhile
    assert not waiting.done()
    end.set()
    assert (await waiting).text == "device 3"


class Volume:
    """A device's tool client that works, or does not."""

    def __init__(self, *, works: bool) -> None:
        self._works = works

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        return ToolCallResult("1", self._works, result="done", error="broken")


def said(events: Sequence[AgentEvent]) -> str:
    return clean("".join(event.text for event in events if isinstance(event, TextDelta)))


async def reply(text: str, tool: str = "", *, works: bool | None = None) -> list[AgentEvent]:
    agent = EchoAgent(Delays(), tool)
    if works is not None:
        await agent.update_tools(
            [ToolDefinition(tool, "", alias="volume", caller=Volume(works=works))]
        )
    return [event async for event in agent.reply(AgentRequest(7, text))]


async def test_the_agent_says_the_number_the_turn_and_the_length() -> None:
    events = await reply("device 42")
    assert said(events) == f"Device 42 in turn 7 for {SENTENCE_MS} ms."
    assert len(events) > 5  # word by word
    assert said(await reply("nobody")).startswith("Nobody ")


async def test_a_monologue_is_many_sentences_of_the_length_asked_for() -> None:
    text = said(await reply("device 42 for 15000"))
    assert text.count("6000 ms") == 2
    assert text.count("3000 ms") == 1


async def test_the_tool_is_called_and_its_failure_is_no_answer() -> None:
    events = await reply("device 5", "set_volume", works=True)
    assert [type(event) for event in events[:2]] == [ToolCalled, ToolReturned]
    assert "Device 5" in said(events)
    assert "Nobody" in said(await reply("device 5", "set_volume", works=False))
    assert "Nobody" in said(await reply("device 5", "set_volume"))


async def test_the_voice_gives_real_speech_of_the_length_named() -> None:
    tts = CannedTTS(Delays())
    await tts.start()
    for ms in (3_000, 6_100, 15_000):
        pcm = b"".join([piece async for piece in tts.synthesize(f"Device 1 for {ms} ms.")])
        assert len(pcm) == 2 * RATE * ms // 1000
        samples = np.frombuffer(pcm, "<i2").astype(np.float64)
        assert np.sqrt(np.mean(samples**2)) > 500
