"""Providers that take no time of their own, so that what is left is the server's.

The ASR reads the device's number out of the sound (:mod:`vixio_bench.load.marker`), the agent says
it back, the TTS returns real speech that was made beforehand. Each can have a delay.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.clock import now
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import (
    AgentBackend,
    AgentEvent,
    AgentProvider,
    AgentRequest,
    SystemPrompt,
)
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.tts import TTSProvider
from vixio_bench.load.marker import MarkerReader

RATE: Final = 24_000
"""Hz; what cloud voices give, and what devices play."""
PIECE_MS: Final = 200
"""Of audio in each piece, as streaming services send it."""
_TEXT: Final = (
    "The weather tomorrow will be mild and mostly sunny, with a light wind from the west. "
    "In the evening clouds come in, and there may be a little rain before midnight."
)
SENTENCE_MS: Final = 3_000
"""A spoken answer is one sentence of this length."""


@dataclass(slots=True)
class Delays:
    """Seconds before each provider answers.

    ``slow_asr`` replaces ``asr`` for devices whose number is below ``slow_below``; one of those
    devices, ``blocked``, has an ASR that blocks its own thread for ``block`` seconds.
    """

    asr: float = 0.0
    agent: float = 0.0
    tts: float = 0.0
    slow_asr: float = 0.0
    slow_below: int = 0
    blocked: int = -1
    block: float = 0.0


class MarkerASR(ASRProvider):
    """Hears ``device N``, N being the number in the sound."""

    name = "bench"

    def __init__(self, delays: Delays) -> None:
        self.delays = delays

    async def start(self) -> None:
        """Nothing is heavy."""

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin to listen for the number."""
        return _MarkerStream(self.delays)

    async def close(self) -> None:
        """Nothing to release."""


class _MarkerStream(ASRStream):
    def __init__(self, delays: Delays) -> None:
        self._delays = delays
        self._reader = MarkerReader()

    async def feed(self, pcm: bytes) -> None:
        self._reader.feed(pcm)

    async def finish(self) -> Recognition:
        delays, number = self._delays, self._reader.number
        if number is None:
            return Recognition("nobody")
        slow = number < delays.slow_below
        if slow and number == delays.blocked and delays.block:
            await asyncio.to_thread(time.sleep, delays.block)
        elif seconds := delays.slow_asr if slow else delays.asr:
            await asyncio.sleep(seconds)
        return Recognition(f"device {number}")

    async def close(self) -> None:
        pass


class EchoBackend(AgentBackend):
    """Agents that say which device they heard, in which turn."""

    name = "bench"

    def __init__(self, delays: Delays, tool: str = "") -> None:
        self._delays = delays
        self._tool = tool

    async def start(self) -> None:
        """Nothing is heavy."""

    def create(self) -> AgentProvider:
        """Return the agent of one session."""
        return EchoAgent(self._delays, self._tool)

    async def close(self) -> None:
        """Nothing to release."""


class EchoAgent(AgentProvider):
    """Answers ``device N`` with one sentence, ``device N for M`` with M milliseconds of them.

    With ``tool`` it calls the device's tool of that name first, and answers ``Nobody`` if that
    fails, which the device takes for a mistake.
    """

    name = "bench"

    def __init__(self, delays: Delays, tool: str) -> None:
        self._delays = delays
        self._tool = tool
        self._tools: tuple[ToolDefinition, ...] = ()

    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Nothing is needed of either."""

    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Keep the device's tools."""
        self._tools = tuple(tools)

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Say the words one by one, as a model does."""
        if self._delays.agent:
            await asyncio.sleep(self._delays.agent)
        called = not self._tool
        if self._tool:
            async for event in self._call(request.turn_id):
                called = isinstance(event, ToolReturned) and event.success
                yield event
        match = re.match(r"device (\d+)(?: for (\d+))?", request.text)
        name = f"Device {match[1]}" if match and called else "Nobody"
        left = int(match[2]) if match and match[2] else SENTENCE_MS
        while left > 0:
            length = min(left, 2 * SENTENCE_MS)
            left -= length
            for word in f"{name} in turn {request.turn_id} for {length} ms. ".split(" "):
                yield TextDelta(request.turn_id, f"{word} ")

    async def close(self) -> None:
        """Nothing to release."""

    async def _call(self, turn_id: int) -> AsyncIterator[AgentEvent]:
        tool = next((tool for tool in self._tools if tool.name == self._tool), None)
        if tool is None or tool.caller is None:
            return
        call_id = f"call-{turn_id}"
        yield ToolCalled(turn_id, call_id, tool.alias, '{"volume": 40}', tool.source)
        began = now()
        result = await tool.caller.call_tool(tool.name, {"volume": 40})
        output = result.for_model()
        yield ToolReturned(turn_id, call_id, output, result.success, now() - began)


class CannedTTS(TTSProvider):
    """Real speech, made by eSpeak NG at the start and cut to the length that the text names."""

    name = "bench"
    sample_rate = RATE

    def __init__(self, delays: Delays) -> None:
        self._delays = delays
        self._speech = b""

    async def start(self) -> None:
        """Make the speech."""
        if not self._speech:
            self._speech = await asyncio.to_thread(make_speech)

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield as much speech as ``text`` says."""
        if self._delays.tts:
            await asyncio.sleep(self._delays.tts)
        match = re.search(r"(\d+) ms", text)
        left = 2 * RATE * int(match[1] if match else SENTENCE_MS) // 1000
        size, at = 2 * RATE * PIECE_MS // 1000, 0
        while left > 0:
            piece = self._speech[at : at + min(size, left)]
            at = (at + size) % (len(self._speech) - size)
            left -= len(piece)
            yield piece

    async def close(self) -> None:
        """Nothing to release."""


def make_speech() -> bytes:
    import soxr

    from vixio.providers.espeak_process.library import load_espeak
    from vixio.providers.espeak_process.messages import Voice

    library = load_espeak()
    library.set_voice(Voice("en-us", 170, 50, 100))
    chunks: list[bytes] = []

    def keep(pcm: bytes) -> bool:
        chunks.append(pcm)
        return True

    library.synthesize(_TEXT, keep, pause_after=False)
    speech = np.frombuffer(b"".join(chunks), "<i2")
    resampled: bytes = np.asarray(
        soxr.resample(speech, library.sample_rate, RATE), dtype="<i2"
    ).tobytes()
    return resampled
