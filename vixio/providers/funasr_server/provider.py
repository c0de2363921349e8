"""ASR by a FunASR runtime server: the provider and its streams."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import count

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_bytes
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.funasr_server import messages
from vixio.providers.funasr_server.connection import Connection
from vixio.providers.funasr_server.messages import Result
from vixio.providers.funasr_server.pool import Pool
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings
from vixio.providers.funasr_server.transcript import Transcript
from vixio.providers.registry import ProviderFactory
from vixio.providers.tool_words import tool_words

_log = logging.getLogger(__name__)

REPLAY_SECONDS = 60.0
"""An utterance up to this long is sent again after the loss of its connection; longer ones fail."""

SECOND_LOOK = 0.02
"""Seconds to read results that are already in the socket, before silence counts as the end."""

_numbers = count(1)


class FunASRServerASRProvider(ASRProvider):
    """The provider, with a pool of connections that successive utterances share."""

    name = NAME

    def __init__(self, settings: FunASRServerSettings | None = None) -> None:
        self.settings = settings or FunASRServerSettings()
        self.pool = Pool(self.settings)
        self._hotwords: tuple[Sequence[ToolDefinition], str] | None = None
        self._closed = False

    async def start(self) -> None:
        """Read the certificates, without a connection: the server may start later.

        Raises ProviderUnavailable if ``ca_file`` cannot be used.
        """
        await self.pool.start()

    async def verify(self) -> bool:
        """Connect once. The protocol has no question that would show whether the models work.

        Raises ProviderError if the server cannot be reached, or refuses us.
        """
        await self.pool.try_connection()
        return False

    def open(self, hints: SpeechHints) -> FunASRServerStream:
        return FunASRServerStream(self, self._words(hints.tools))

    def prepare(self, hints: SpeechHints) -> None:
        self._words(hints.tools)

    async def close(self) -> None:
        self._closed = True
        await self.pool.close()

    @property
    def closed(self) -> bool:
        """Whether the provider is closed."""
        return self._closed

    def _words(self, tools: Sequence[ToolDefinition]) -> str:
        """Return the field ``hotwords``, cached for the last list of tools."""
        if self._hotwords is not None and self._hotwords[0] is tools:
            return self._hotwords[1]
        settings = self.settings
        weight = settings.tool_word_weight
        words = dict.fromkeys(tool_words(tools), weight) if weight else {}
        text = messages.hotword_text({**words, **settings.hotwords}, settings.hotword_format)
        if isinstance(tools, tuple):  # a list may change
            self._hotwords = (tools, text)
        return text


class FunASRServerStream(ASRStream):
    """One utterance. After the loss of its connection it is sent again once, over a new one."""

    def __init__(self, provider: FunASRServerASRProvider, hotwords: str) -> None:
        self.wav_name = f"vixio-{next(_numbers)}"
        self._provider = provider
        self._settings = provider.settings
        self._hotwords = hotwords
        self._piece = pcm_bytes(self._settings.piece_ms / 1000, LISTEN_RATE)
        self._pending = bytearray()
        self._frames: list[str | bytes] = []
        self._sent = 0
        self._spoken = False
        self._replayable = True
        self._replaced = False
        self._broken: ProviderError | None = None
        self._connection: Connection | None = None
        self._transcript = self._new_transcript()
        self._changed = asyncio.Event()
        self._failure: ProviderError | None = None
        self._finished: Recognition | None = None
        self._closed = False

    async def feed(self, pcm: bytes) -> None:
        self._check()
        if self._finished is not None:
            raise ProviderError(NAME, "the utterance is over", retryable=False)
        self._pending += pcm
        whole = len(self._pending) // self._piece * self._piece
        if not whole:
            return
        audio = bytes(self._pending[:whole])
        del self._pending[:whole]
        self._spoken = True
        self._frames += [audio[at : at + self._piece] for at in range(0, whole, self._piece)]
        await self._send()

    async def finish(self) -> Recognition:
        self._check()
        if self._finished is None:
            self._finished = await self._end()
        return self._finished

    async def close(self) -> None:
        self._closed = True
        self._changed.set()
        self._leave()

    def heard(self, result: Result) -> None:
        """Take a result of this utterance."""
        if result.error:
            text = f"the server reports: {result.error}"
            self._broken = ProviderError(NAME, text, retryable=False, reason="service")
        else:
            self._transcript.take(result)
            self.report_partial(self._transcript.words.text)
        self._changed.set()

    def lost(self, error: ProviderError) -> None:
        """Note that the connection is lost."""
        self._failure = error
        self._changed.set()

    async def _end(self) -> Recognition:
        rest = bytes(self._pending[: len(self._pending) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE])
        self._pending.clear()
        if rest:
            self._frames.append(rest)
        elif not self._spoken:
            return Recognition("")  # no audio: no request
        self._frames.append(messages.END)
        try:
            async with asyncio.timeout(self._settings.timeout):
                while not self._transcript.complete:
                    await self._send()
                    await self._progress()
        except TimeoutError:
            self._provider.pool.habits.doubt()
            raise ProviderTimeout(NAME, "words", self._settings.timeout) from None
        self._check()
        if self._connection is not None:
            self._provider.pool.release(self._connection)
            self._connection = None
        words = self._transcript.words
        extra = {"provider": NAME, "characters": len(words.text)}
        _log.debug("utterance recognised", extra=extra)
        return Recognition(words.text, language=words.language, emotion=words.emotion)

    async def _progress(self) -> None:
        """Wait for the next result, or for the silence that completes the transcript."""
        try:
            async with asyncio.timeout(self._transcript.patience):
                await self._changed.wait()
        except TimeoutError:
            # If the loop was blocked, results that arrived meanwhile are read first.
            await asyncio.sleep(SECOND_LOOK)
            if not self._changed.is_set():
                self._transcript.settle()
                return
        self._changed.clear()
        self._check()

    async def _send(self) -> None:
        """Send the pending frames; after a loss all of them, over a new connection."""
        while True:
            try:
                await self._send_once()
            except ProviderError as error:
                lost = self._connection is not None and not isinstance(error, ProviderTimeout)
                self._leave()
                self._check()
                if not (lost and error.retryable and self._replayable) or self._replaced:
                    self._broken = error
                    raise
                self._replaced = True
            else:
                return

    async def _send_once(self) -> None:
        self._check()
        if self._failure is not None:
            raise self._failure
        try:
            async with asyncio.timeout(self._settings.timeout):
                if self._connection is None:
                    await self._connect()
                while self._connection is not None and self._sent < len(self._frames):
                    frame = self._frames[self._sent]
                    if frame is messages.END:
                        self._transcript.end()
                    await self._connection.send(frame)
                    self._sent += 1
        except TimeoutError:
            raise ProviderTimeout(NAME, "progress", self._settings.timeout) from None
        self._forget()

    async def _connect(self) -> None:
        connection = await self._provider.pool.acquire(self._hotwords, fresh=self._replaced)
        if self._closed:
            self._provider.pool.discard(connection)
            self._check()
        self._connection = connection
        connection.attach(self)
        await connection.send(messages.start(self._settings, self.wav_name, self._hotwords))

    def _forget(self) -> None:
        """Drop the sent frames of a long utterance, which then cannot be sent again."""
        if len(self._frames) * self._settings.piece_ms > REPLAY_SECONDS * 1000:
            self._replayable = False
        if not self._replayable:
            del self._frames[: self._sent]
            self._sent = 0

    def _leave(self) -> None:
        """Close the connection, which ends the server's work on this utterance."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._provider.pool.discard(connection)
        self._transcript = self._new_transcript()
        self._sent = 0
        self._failure = None

    def _new_transcript(self) -> Transcript:
        return Transcript(self._provider.pool.habits, online=self._settings.mode == "online")

    def _check(self) -> None:
        if self._provider.closed:
            raise ProviderError(NAME, "the provider is closed", retryable=False)
        if self._closed:
            raise ProviderError(NAME, "the stream is closed", retryable=False)
        if self._broken is not None:
            raise self._broken


FACTORY = ProviderFactory(
    settings_model=FunASRServerSettings,
    create=FunASRServerASRProvider,
    languages=lambda settings: None if settings.language == "auto" else (settings.language,),
    servers="url",
)
