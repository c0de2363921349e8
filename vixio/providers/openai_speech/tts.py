"""A voice behind ``POST /audio/speech``: OpenAI's, SiliconFlow's, Groq's, Kokoro-FastAPI's, ….

The answer is decoded while it arrives, so that the first words are heard before the last are made.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Literal, Protocol

from loguru import logger
from pydantic import Field

from vixio.core.audio import pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.providers.audio_stream import AudioStreamDecoder, decoded, load
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.providers.registry import ProviderFactory
from vixio.providers.spoken_text import clean, split
from vixio.providers.tts import TTSProvider

NAME = "openai"

_LONGEST: Final = 30.0
_SLOWEST: Final = 1.0
"""Seconds that a text may be spoken, and those for each of its characters beyond: a number or an
abbreviation takes some seconds, at the lowest speed four times as long."""

_RATE: Final = re.compile(r"\brate\s*=\s*(\d{4,6})\b")


class _Response(Protocol):
    """What is used of the client's streamed response."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def close(self) -> None: ...

    def iter_bytes(self) -> AsyncIterator[bytes]: ...


class OpenAITTSSettings(OpenAIConnection):
    """Options of the section ``tts`` when its name is ``openai``. Times are in seconds."""

    model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"
    response_format: Literal["pcm", "wav", "mp3", "opus"] = "pcm"
    """PCM and WAV start soonest; MP3 needs the extra ``mp3``; what arrives is known by content."""
    sample_rate: int = Field(default=24_000, ge=8_000, le=48_000)
    """Hz: that of raw PCM as the server makes it, and the one that is handed on."""
    speed: float | None = Field(default=None, ge=0.25, le=4)
    instructions: str | None = None
    """How to speak, for models that can be told."""
    timeout: float = Field(default=9.0, gt=0)
    """For the first sound, retries included, and then for each next piece."""
    max_chars: int = Field(default=4_096, ge=20)
    """Longer texts are made of several requests; 4096 is OpenAI's limit."""


class OpenAITTSProvider(TTSProvider):
    """One client, and so one pool of connections, for the process."""

    name = NAME

    def __init__(self, settings: OpenAITTSSettings | None = None) -> None:
        self._settings = settings or OpenAITTSSettings()
        self._client = SharedClient(NAME, "tts", self._settings, timeout=self._settings.timeout)
        self.sample_rate = self._settings.sample_rate

    async def start(self) -> None:
        """Import the client and the decoders. Raises ProviderUnavailable without key or extra."""
        await asyncio.to_thread(load, NAME, self._settings.response_format)
        await self._client.start()

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM as the server makes it; nothing if ``text`` holds no letter or digit.

        The model knows the language by the text. Raises ProviderError; a text that is longer than
        the server takes at once goes out piece by piece.
        """
        self._client.get()  # a closed voice refuses even silence
        for piece in split(clean(text), lambda _: self._settings.max_chars):
            async with closing(self._speak(piece)) as speech:
                async for pcm in speech:
                    self._client.get()
                    yield pcm

    async def close(self) -> None:
        """End what is being spoken, and the connections. Idempotent."""
        await self._client.close()

    async def _speak(self, text: str) -> AsyncIterator[bytes]:
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        async with self._answer(text) as response:
            decoder = AudioStreamDecoder(
                NAME,
                self.sample_rate,
                asked=self._settings.response_format,
                pcm_rate=_stated_rate(response.headers.get("content-type", "")) or self.sample_rate,
            )
            left = pcm_bytes(_LONGEST + _SLOWEST * len(text), self.sample_rate)
            async with closing(decoded(self._pieces(response, deadline), decoder)) as sound:
                async for pcm in sound:
                    yield pcm
                    left -= len(pcm)
                    if left < 0:
                        raise ProviderError(NAME, "the speech has no end", reason="service")
            logger.bind(provider=NAME, format=decoder.kind).debug("sentence spoken")

    @asynccontextmanager
    async def _answer(self, text: str) -> AsyncIterator[_Response]:
        """Ask for speech and give its response; leaving it ends the request, read or not."""
        entered: Any = None

        async def ask() -> _Response:
            nonlocal entered
            manager = self._client.get().audio.speech.with_streaming_response.create(
                model=settings.model,
                voice=settings.voice,
                input=text,
                response_format=settings.response_format,
                extra_body=extra or None,
            )
            response = await manager.__aenter__()
            entered = manager
            return response

        settings = self._settings
        extra = dict(settings.extra_body or {})
        # Servers that do not know these refuse them, so they are sent only where they are set.
        if settings.speed is not None:
            extra.setdefault("speed", settings.speed)
        if settings.instructions:
            extra.setdefault("instructions", settings.instructions)
        try:
            yield await self._client.bounded(self._client.retried(ask), "speech", settings.timeout)
        finally:
            if entered is not None:
                await entered.__aexit__(None, None, None)

    async def _pieces(self, response: _Response, deadline: float) -> AsyncIterator[bytes]:
        """Yield the body as it comes; raises ProviderError."""
        body = response.iter_bytes()
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        try:
            while True:
                piece = await self._client.bounded(self._client.run(_next(body)), "speech", left)
                if piece is None:
                    return
                if piece:
                    yield piece
                    left = self._settings.timeout
        finally:
            await response.close()
            await _end(body)


async def _next(body: AsyncIterator[bytes]) -> bytes | None:
    return await anext(body, None)


async def _end(body: AsyncIterator[bytes]) -> None:
    """Run the client's generators, one within the other, to their end.

    Closed from outside, only the outermost would end at once, the others when they are collected.
    """
    with suppress(Exception):  # they say, in one of several ways, that their response is closed
        async with asyncio.timeout(1.0):
            async for _ in body:
                pass


def _stated_rate(content_type: str) -> int | None:
    """Return the rate of ``audio/pcm;rate=16000`` (RFC 2586 for L16) where a server names one."""
    found = _RATE.search(content_type)
    rate = int(found[1]) if found else 0
    return rate if 8_000 <= rate <= 96_000 else None


def _create(settings: OpenAITTSSettings) -> OpenAITTSProvider:
    return OpenAITTSProvider(settings)


FACTORY = ProviderFactory(settings_model=OpenAITTSSettings, create=_create)
