"""Providers that do what a script says. A delay is in seconds of the loop's clock."""

from __future__ import annotations

import array
import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vixio.core.audio import LISTEN_RATE, pcm_bytes, pcm_seconds
from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.metrics import ModelUse
from vixio.core.tools.runner import DIRECT, ToolRunner
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
from vixio.providers.vad import VADProvider, VADStream

LOUD = 500
"""A window with a sample beyond this is speech to :class:`ScriptedVAD`."""


class ScriptedVAD(VADProvider):
    """Takes what is loud for speech. ``delay`` before each answer; ``error`` is raised instead."""

    name = "scripted"
    window_samples = 512

    def __init__(self, *, delay: float = 0.0, error: Exception | None = None) -> None:
        self.delay = delay
        self.error = error
        self.open_streams = 0

    async def start(self) -> None:
        """Nothing is heavy."""

    def open(self) -> VADStream:
        """Return a detector of loudness."""
        return _LoudnessStream(self)

    async def close(self) -> None:
        """Nothing to release."""


class _LoudnessStream(VADStream):
    def __init__(self, provider: ScriptedVAD) -> None:
        self._provider = provider
        self._rest = b""
        self._open = True
        provider.open_streams += 1

    async def process(self, pcm: bytes) -> Sequence[float]:
        if self._provider.delay:
            await asyncio.sleep(self._provider.delay)
        if self._provider.error is not None:
            raise self._provider.error
        self._rest += pcm
        size = 2 * self._provider.window_samples
        found: list[float] = []
        while len(self._rest) >= size:
            window = array.array("h", self._rest[:size])
            self._rest = self._rest[size:]
            found.append(1.0 if max(window) > LOUD else 0.0)
        return found

    def reset(self) -> None:
        self._rest = b""

    def close(self) -> None:
        if self._open:
            self._open = False
            self._provider.open_streams -= 1


class ScriptedASR(ASRProvider):
    """Hears the words of its script, one entry an utterance, over and over.

    An entry is the words, a Recognition, or an exception to raise. ``delay`` before the words;
    ``delays``, where set, has one for each entry. ``words_per_second``: how fast its partial
    results grow with the audio; 0: it has none.
    """

    name = "scripted"

    def __init__(
        self,
        script: Sequence[str | Recognition | Exception] = ("hello",),
        *,
        delay: float = 0.0,
        words_per_second: float = 0.0,
    ) -> None:
        self.script = list(script)
        self.delay = delay
        self.words_per_second = words_per_second
        self.delays: list[float] = []
        self.utterances: list[bytes] = []
        self.hints: list[SpeechHints] = []
        self.hint_updates: list[SpeechHints] = []
        self.open_streams = 0
        self._next = 0

    async def start(self) -> None:
        """Nothing is heavy."""

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin the next entry of the script."""
        index = self._next % len(self.script)
        self._next += 1
        self.hints.append(hints)
        return _ScriptedStream(self, self.script[index], self.delays[index : index + 1])

    async def close(self) -> None:
        """Nothing to release."""


class _ScriptedStream(ASRStream):
    def __init__(
        self, provider: ScriptedASR, entry: str | Recognition | Exception, delay: list[float]
    ) -> None:
        self._provider = provider
        self._entry = entry
        self._delay = delay
        self._pcm = bytearray()
        self._open = True
        provider.open_streams += 1

    async def feed(self, pcm: bytes) -> None:
        self._pcm += pcm
        if not self._provider.words_per_second:
            return
        found = int(pcm_seconds(bytes(self._pcm), LISTEN_RATE) * self._provider.words_per_second)
        words = self._entry.text if isinstance(self._entry, Recognition) else str(self._entry)
        self.report_partial(" ".join(words.split()[:found]))

    def update_hints(self, hints: SpeechHints) -> None:
        self._provider.hint_updates.append(hints)

    async def finish(self) -> Recognition:
        delay = self._delay[0] if self._delay else self._provider.delay
        if delay:
            await asyncio.sleep(delay)
        self._provider.utterances.append(bytes(self._pcm))
        if isinstance(self._entry, Exception):
            raise self._entry
        return self._entry if isinstance(self._entry, Recognition) else Recognition(self._entry)

    async def close(self) -> None:
        if self._open:
            self._open = False
            self._provider.open_streams -= 1


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Script entry: call the tool known to the model as ``alias``."""

    alias: str
    arguments: dict[str, Any]


Step = str | float | ToolUse | ModelUse | Exception
"""A piece of text, a pause in seconds, a tool call, a model's usage, or an error to raise."""


class ScriptedAgent(AgentProvider):
    """Replies with the steps that ``script`` gives for the user's words.

    Tools are ToolDefinitions here; a ToolUse runs the real one.
    """

    name = "scripted"

    def __init__(self, script: Callable[[str], Sequence[Step]] | None = None) -> None:
        self.script = script or (lambda text: (f"You said {text}.",))
        self.requests: list[AgentRequest] = []
        self.asked_with: list[tuple[ToolDefinition, ...]] = []
        """The tools at the beginning of each request."""
        self.running = 0
        self.closed = False
        self._base: tuple[ToolDefinition, ...] = ()
        self._dynamic: tuple[ToolDefinition, ...] = ()

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """What the agent could call now."""
        return self._base + self._dynamic

    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Set the tools that are always there."""
        self._base = tuple(tools)

    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Replace the tools that come and go."""
        self._dynamic = tuple(tools)

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Play the script."""
        self.requests.append(request)
        self.asked_with.append(self.tools)
        self.running += 1
        try:
            for number, step in enumerate(self.script(request.text)):
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, str):
                    yield TextDelta(request.turn_id, step)
                elif isinstance(step, ModelUse):
                    if request.note_model is not None:
                        request.note_model(step)
                elif isinstance(step, ToolUse):
                    async for event in self._use(
                        request.turn_id, f"call-{number}", step, request.runner or DIRECT
                    ):
                        yield event
                else:
                    await asyncio.sleep(step)
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    async def _use(
        self, turn_id: int, call_id: str, use: ToolUse, runner: ToolRunner
    ) -> AsyncIterator[AgentEvent]:
        arguments = json.dumps(use.arguments, ensure_ascii=False)
        tool = next(tool for tool in self.tools if tool.alias == use.alias)
        yield ToolCalled(turn_id, call_id, use.alias, arguments, tool.source)
        began = asyncio.get_running_loop().time()
        result = await runner.run(tool, arguments, call_id)
        seconds = asyncio.get_running_loop().time() - began
        text, error = result.for_model(), result.error_type
        yield ToolReturned(turn_id, call_id, text, result.success, seconds, error)


class ScriptedAgentBackend(AgentBackend):
    """Gives every session a :class:`ScriptedAgent` of the same script; ``agents`` keeps them."""

    name = "scripted"

    def __init__(self, script: Callable[[str], Sequence[Step]] | None = None) -> None:
        self.script = script
        self.agents: list[ScriptedAgent] = []

    async def start(self) -> None:
        """Nothing is heavy."""

    def create(self) -> AgentProvider:
        """Return the agent of a new session."""
        agent = ScriptedAgent(self.script)
        self.agents.append(agent)
        return agent

    async def close(self) -> None:
        """Nothing to release."""


class ScriptedTTS(TTSProvider):
    """Speaks silence, ``seconds_per_char`` long, in pieces of 100 ms.

    ``pace``: seconds of it that it makes in one second; 0: as many as are wanted. ``delay`` before
    a sentence's first audio; ``error`` is raised instead of it, for sentences that contain
    ``error_on``.
    """

    name = "scripted"

    def __init__(
        self,
        *,
        seconds_per_char: float = 0.05,
        pace: float = 0.0,
        delay: float = 0.0,
        error: Exception | None = None,
        error_on: str = "",
        sample_rate: int = 24_000,
    ) -> None:
        self.sample_rate = sample_rate
        self.seconds_per_char = seconds_per_char
        self.pace = pace
        self.delay = delay
        self.error = error
        self.error_on = error_on
        self.spoken: list[str] = []
        self.running = 0

    async def start(self) -> None:
        """Nothing is heavy."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield the silence that stands for ``text``."""
        self.spoken.append(text)
        self.running += 1
        try:
            if self.delay:
                await asyncio.sleep(self.delay)
            if self.error is not None and self.error_on in text:
                raise self.error
            left = len(text) * self.seconds_per_char
            while left > 1e-9:
                piece = min(0.1, left)
                left -= piece
                if self.pace:
                    await asyncio.sleep(piece / self.pace)
                yield bytes(pcm_bytes(piece, self.sample_rate))
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Nothing to release."""
