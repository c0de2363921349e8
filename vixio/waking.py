"""Senses that are still loading: a turn that needs one is told so, instead of left to wait.

A model may take tens of seconds to load, and devices are let in at once. Each provider here stands
in front of one that loads; for a session that began before it was ready it holds what little can
be held, and then fails with the reason :data:`WAKING`, which the device is told in words of its
own. Once the provider is ready it does nothing but pass on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.messages import WAKING
from vixio.core.streams import closing
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider, VADStream

HOLD_S = 2.5
"""For which a new device waits for all senses; what it says meanwhile waits in its socket."""

WAIT_S = 1.0
"""For which a turn of a session that did not get all of them waits for one that it needs."""

HELD_BYTES = pcm_bytes(10.0, LISTEN_RATE)
"""Of an utterance, until the recogniser is ready; a longer one is told to come again."""

PIECE_BYTES = pcm_bytes(1.0, LISTEN_RATE)
"""Fed at a time of what was held."""


class Loading:
    """Whether a provider is ready, or what keeps it from ever being."""

    def __init__(self, name: str) -> None:
        self.error: ProviderError | None = None
        self._name = name
        self._over = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Can it be used?"""
        return self._over.is_set() and self.error is None

    def succeeded(self) -> None:
        """It is ready."""
        self._over.set()

    def failed(self, error: ProviderError) -> None:
        """It never will be."""
        self.error = error
        self._over.set()

    async def over(self) -> None:
        """Wait until it is ready or has failed."""
        await self._over.wait()

    async def within(self, seconds: float) -> None:
        """Wait for it; raise ProviderError if it is not ready by then, or never will be."""
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            raise self.not_yet() from None
        if self.error is not None:
            raise self.error

    def not_yet(self) -> ProviderError:
        """Return what a turn fails with that came too early."""
        return self.error or ProviderError(self._name, "it is still loading", reason=WAKING)


class WakingVAD(VADProvider):
    """Where nobody can tell speech from silence yet, whoever begins to listen is told so, once."""

    def __init__(self, vad: VADProvider, loading: Loading) -> None:
        self.name = vad.name
        self.window_samples = vad.window_samples
        self._vad = vad
        self._loading = loading

    async def start(self) -> None:
        """The provider behind is what is started."""

    def open(self) -> VADStream:
        """Return a stream that becomes the real one."""
        return self._vad.open() if self._loading.ready else _WakingVADStream(self, self._loading)

    def open_real(self) -> VADStream:
        """Return the real one."""
        return self._vad.open()

    async def close(self) -> None:
        """The provider behind is what is closed."""


class _WakingVADStream(VADStream):
    def __init__(self, vad: WakingVAD, loading: Loading) -> None:
        self._vad = vad
        self._loading = loading
        self._stream: VADStream | None = None
        self._told = False
        self._closed = False

    async def process(self, pcm: bytes) -> Sequence[float]:
        if self._closed:
            raise ProviderError(self._vad.name, "the stream is closed", retryable=False)
        if self._stream is None and self._loading.ready:
            self._stream = self._vad.open_real()
        if self._stream is not None:
            return await self._stream.process(pcm)
        if self._told:
            return ()
        self._told = True
        raise self._loading.not_yet()

    def reset(self) -> None:
        if self._stream is not None:
            self._stream.reset()

    def close(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.close()


class WakingASR(ASRProvider):
    """Holds the audio of a short utterance: its words come if the recogniser does."""

    def __init__(self, asr: ASRProvider, loading: Loading) -> None:
        self.name = asr.name
        self._asr = asr
        self._loading = loading

    async def start(self) -> None:
        """The provider behind is what is started."""

    @property
    def closed_vocabulary(self) -> bool:
        """Whether the provider behind recognises nothing but what the hints name."""
        return self._asr.closed_vocabulary

    def prepare(self, hints: SpeechHints) -> None:
        """Tell it, if it can be told."""
        if self._loading.ready:
            self._asr.prepare(hints)

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance, with the recogniser if it is ready."""
        if self._loading.ready:
            return self._asr.open(hints)
        return _WakingASRStream(self._asr, self._loading, hints)

    async def close(self) -> None:
        """The provider behind is what is closed."""


class _WakingASRStream(ASRStream):
    def __init__(self, asr: ASRProvider, loading: Loading, hints: SpeechHints) -> None:
        self._asr = asr
        self._loading = loading
        self._hints = hints
        self._stream: ASRStream | None = None
        self._held = bytearray()
        self._too_long = False

    async def feed(self, pcm: bytes) -> None:
        if self._too_long:
            return
        self._held += pcm
        if self._loading.ready:
            await self._give()
        elif len(self._held) > HELD_BYTES:
            self._too_long = True
            self._held.clear()

    def update_hints(self, hints: SpeechHints) -> None:
        self._hints = hints
        if self._stream is not None:
            self._stream.update_hints(hints)

    async def finish(self) -> Recognition:
        if self._too_long:
            raise self._loading.not_yet()
        await self._loading.within(WAIT_S)
        stream = await self._give()
        heard = await stream.finish()
        self.partial = heard.text
        return heard

    async def close(self) -> None:
        self._held.clear()
        if self._stream is not None:
            await self._stream.close()

    async def _give(self) -> ASRStream:
        if self._stream is None:
            self._stream = self._asr.open(self._hints)
            self._stream.on_partial = self.report_partial
        while self._held:
            piece = bytes(self._held[:PIECE_BYTES])
            del self._held[:PIECE_BYTES]
            await self._stream.feed(piece)
        self.report_partial(self._stream.partial)
        return self._stream


class WakingTTS(TTSProvider):
    """Speaks once it can; before that the device is shown what it should hear."""

    def __init__(self, tts: TTSProvider, loading: Loading) -> None:
        self.name = tts.name
        self.sample_rate = 0  # known when something is spoken
        self._tts = tts
        self._loading = loading

    async def start(self) -> None:
        """The provider behind is what is started."""

    def turn(self) -> TTSProvider:
        """Return the voice itself where it is ready."""
        return self._tts.turn() if self._loading.ready else self

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak, after a moment's wait if need be."""
        await self._loading.within(WAIT_S)
        self.sample_rate = self._tts.sample_rate
        async with closing(self._tts.synthesize(text, language=language)) as speech:
            async for pcm in speech:
                yield pcm

    async def close(self) -> None:
        """The provider behind is what is closed."""
