"""Stand-ins for providers that are still loading.

A model may take tens of seconds to load, and devices are admitted at once. A session that begins
before a provider is ready gets a stand-in for it. The stand-in holds what can be held, waits for a
moment, and then fails the turn with the reason :data:`~vixio.core.messages.LOADING`, for which the
device hears words of their own. When the provider is ready the stand-in only passes calls on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.core.tools.types import ToolDefinition
from vixio.providers.agent import (
    AgentBackend,
    AgentEvent,
    AgentProvider,
    AgentRequest,
    SystemPrompt,
)
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.watched import WatchedAgent
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider, VADStream
from vixio.providers.vision import Photo, VisionProvider

WAIT_S = 1.0
"""For which a turn waits for a provider that it needs."""

HELD_BYTES = pcm_bytes(10.0, LISTEN_RATE)
"""Of an utterance, until the recogniser is ready; a longer one fails."""

PIECE_BYTES = pcm_bytes(1.0, LISTEN_RATE)
"""Of held audio fed at a time."""

DEFAULT_WINDOW_SAMPLES = 512
"""Of a detector that could not even be made."""


class WarmingVAD(VADProvider):
    """A detector that fails the first audio of each stream, once, until the real one is ready."""

    def __init__(self, loader: ProviderLoader[VADProvider]) -> None:
        self.name = loader.name
        real = loader.provider
        self.window_samples = DEFAULT_WINDOW_SAMPLES if real is None else real.window_samples
        self._loader = loader

    async def start(self) -> None:
        """The loader starts the provider."""

    def open(self) -> VADStream:
        """Return a stream that becomes the real one."""
        return _WarmingVADStream(self._loader)

    async def close(self) -> None:
        """The pool closes the provider."""


class _WarmingVADStream(VADStream):
    def __init__(self, loader: ProviderLoader[VADProvider]) -> None:
        self._loader = loader
        self._stream: VADStream | None = None
        self._failed = False
        self._closed = False

    async def process(self, pcm: bytes) -> Sequence[float]:
        if self._closed:
            raise ProviderError(self._loader.name, "the stream is closed", retryable=False)
        if self._stream is None and self._loader.ready and self._loader.provider is not None:
            self._stream = self._loader.provider.open()
        if self._stream is not None:
            return await self._stream.process(pcm)
        if self._failed:
            return ()
        self._failed = True
        raise self._loader.not_ready()

    def reset(self) -> None:
        if self._stream is not None:
            self._stream.reset()

    def close(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.close()


class WarmingASR(ASRProvider):
    """A recogniser that holds the audio of a short utterance until the real one is ready."""

    def __init__(self, loader: ProviderLoader[ASRProvider]) -> None:
        self.name = loader.name
        self._loader = loader

    async def start(self) -> None:
        """The loader starts the provider."""

    @property
    def closed_vocabulary(self) -> bool:
        """Whether the recogniser recognises nothing but what the hints name."""
        return self._loader.provider is not None and self._loader.provider.closed_vocabulary

    @property
    def hears_freely(self) -> bool:
        """Whether the recogniser does; not before it is there."""
        return self._loader.provider is not None and self._loader.provider.hears_freely

    def prepare(self, hints: SpeechHints) -> None:
        """Pass the hints on, if the recogniser is ready."""
        if self._loader.ready and self._loader.provider is not None:
            self._loader.provider.prepare(hints)

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance, with the recogniser if it is ready."""
        if self._loader.ready and self._loader.provider is not None:
            return self._loader.provider.open(hints)
        return _WarmingASRStream(self._loader, hints)

    async def close(self) -> None:
        """The pool closes the provider."""


class _WarmingASRStream(ASRStream):
    def __init__(self, loader: ProviderLoader[ASRProvider], hints: SpeechHints) -> None:
        self._loader = loader
        self._hints = hints
        self._stream: ASRStream | None = None
        self._held = bytearray()
        self._too_long = False

    async def feed(self, pcm: bytes) -> None:
        if self._too_long:
            return
        self._held += pcm
        if self._loader.ready and self._loader.provider is not None:
            await self._pass_on(self._loader.provider)
        elif len(self._held) > HELD_BYTES:
            self._too_long = True
            self._held.clear()

    def update_hints(self, hints: SpeechHints) -> None:
        self._hints = hints
        if self._stream is not None:
            self._stream.update_hints(hints)

    async def finish(self) -> Recognition:
        if self._too_long:
            raise self._loader.not_ready()
        stream = await self._pass_on(await self._loader.within(WAIT_S))
        heard = await stream.finish()
        self.partial = heard.text
        return heard

    async def close(self) -> None:
        self._held.clear()
        if self._stream is not None:
            await self._stream.close()

    async def _pass_on(self, asr: ASRProvider) -> ASRStream:
        """Feed the recogniser what was held, and return its stream."""
        if self._stream is None:
            self._stream = asr.open(self._hints)
            self._stream.on_partial = self.report_partial
        while self._held:
            piece = bytes(self._held[:PIECE_BYTES])
            del self._held[:PIECE_BYTES]
            await self._stream.feed(piece)
        self.report_partial(self._stream.partial)
        return self._stream


class WarmingTTS(TTSProvider):
    """A voice that waits for a moment before each sentence until the real one is ready."""

    def __init__(self, loader: ProviderLoader[TTSProvider]) -> None:
        self.name = loader.name
        self.sample_rate = 0  # known when something is spoken
        self._loader = loader

    async def start(self) -> None:
        """The loader starts the provider."""

    def turn(self) -> TTSProvider:
        """Return the real voice where it is ready."""
        real = self._loader.provider
        return real.turn() if self._loader.ready and real is not None else self

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak, after a moment's wait if need be."""
        voice = await self._loader.within(WAIT_S)
        self.sample_rate, self.pauses = voice.sample_rate, voice.pauses
        async with closing(voice.synthesize(text, language=language)) as speech:
            async for pcm in speech:
                yield pcm

    async def close(self) -> None:
        """The pool closes the provider."""


class WarmingAgent(AgentProvider):
    """The agent of a session whose backend could not be made yet.

    A backend that only is not started needs no stand-in: its agents wait for it themselves.
    """

    def __init__(self, loader: ProviderLoader[AgentBackend]) -> None:
        self.name = loader.name
        self._loader = loader
        self._agent: AgentProvider | None = None
        self._fixed: Sequence[Any | ToolDefinition] = ()
        self._prompt: SystemPrompt = ""
        self._tools: Sequence[Any | ToolDefinition] = ()

    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Keep both for the real agent."""
        self._fixed, self._prompt = tools, system_prompt

    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """Keep the tools for the real agent, or pass them on."""
        self._tools = tools
        if self._agent is not None:
            await self._agent.update_tools(tools)

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Reply with the real agent; raise ProviderError while there is none."""
        if self._agent is None:
            backend = await self._loader.within(WAIT_S)
            agent: AgentProvider = WatchedAgent(backend.create(), self._loader.watched)
            await agent.initialize(self._fixed, self._prompt)
            await agent.update_tools(self._tools)
            self._agent = agent
        async with closing(self._agent.reply(request)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Close the real agent, if there is one."""
        if self._agent is not None:
            await self._agent.close()


class WarmingVision(VisionProvider):
    """A model that sees, which may still be loading. It stands in for the real one for good."""

    def __init__(self, loader: ProviderLoader[VisionProvider]) -> None:
        self.name = loader.name
        self._loader = loader

    async def start(self) -> None:
        """The loader starts the provider."""

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Answer, after a moment's wait if need be."""
        vision = await self._loader.within(WAIT_S)
        with self._loader.watched():
            return await vision.explain(photo, question, language=language)

    async def close(self) -> None:
        """The pool closes the provider."""
