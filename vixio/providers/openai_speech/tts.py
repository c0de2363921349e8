"""TTS over ``POST /audio/speech``: OpenAI, SiliconFlow, Groq, Kokoro-FastAPI and others.

The response is decoded as it arrives, so playback starts before synthesis ends.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

from pydantic import Field

from vixio.core.audio import pcm_bytes
from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.providers.audio_stream import AudioStreamDecoder, decoded, load
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.spoken_text import clean, split
from vixio.providers.tts import TTSProvider

_log = logging.getLogger(__name__)

NAME = "openai"

_LONGEST: Final = 30.0
_SLOWEST: Final = 1.0
"""Limit of the speech of one text: 30 s, and 1 s more for each character. A number or an
abbreviation takes some seconds, at the lowest speed four times as long."""

_RATE: Final = re.compile(r"\brate\s*=\s*(\d{4,6})\b")


class OpenAITTSSettings(OpenAIConnection):
    """Options of the section ``tts`` when its name is ``openai``. Times are in seconds."""

    model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"
    response_format: Literal["pcm", "wav", "mp3", "opus"] = "pcm"
    """PCM and WAV start soonest. MP3 needs the extra ``mp3``. The decoder detects the format."""
    sample_rate: int = Field(default=24_000, ge=8_000, le=48_000)
    """Hz, of the server's raw PCM and of this provider's output."""
    speed: float | None = Field(default=None, ge=0.25, le=4)
    instructions: str | None = None
    """How to speak, for models that take instructions."""
    timeout: float = Field(default=9.0, gt=0)
    """For the first audio, retries included, and then for each next piece."""
    max_chars: int = Field(default=4_096, ge=20)
    """Longer texts are split into several requests; 4096 is OpenAI's limit."""


class OpenAITTSProvider(TTSProvider):
    """One client, with one pool of connections, for the process."""

    name = NAME

    def __init__(self, settings: OpenAITTSSettings | None = None) -> None:
        self._settings = settings or OpenAITTSSettings()
        self._client = SharedClient(NAME, "tts", self._settings, timeout=self._settings.timeout)
        self.sample_rate = self._settings.sample_rate

    async def start(self) -> None:
        """Make the client, import decoders. Raises ProviderUnavailable without key or extra."""
        await asyncio.to_thread(load, NAME, self._settings.response_format)
        await self._client.start()

    async def verify(self) -> bool:
        """Ask the server for its models. Raises ProviderError if it refuses the key."""
        return await self._client.verify()

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM as it arrives; nothing if ``text`` holds no letter or digit.

        The model detects the language from the text, so ``language`` is not used. A text longer
        than ``max_chars`` takes one request a piece. Raises ProviderError.
        """
        self._client.check()  # raises if closed, even where there is nothing to speak
        for piece in split(clean(text), lambda _: self._settings.max_chars):
            async with closing(self._speak(piece)) as speech:
                async for pcm in speech:
                    self._client.check()
                    yield pcm

    async def close(self) -> None:
        """End the speech in progress and close the connections. Idempotent."""
        await self._client.close()

    async def _speak(self, text: str) -> AsyncIterator[bytes]:
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        async with self._answer(text) as answer:
            decoder = AudioStreamDecoder(
                NAME,
                self.sample_rate,
                asked=self._settings.response_format,
                pcm_rate=_stated_rate(answer.content_type) or self.sample_rate,
            )
            left = pcm_bytes(_LONGEST + _SLOWEST * len(text), self.sample_rate)
            async with closing(decoded(self._pieces(answer, deadline), decoder)) as sound:
                async for pcm in sound:
                    yield pcm
                    left -= len(pcm)
                    if left < 0:
                        raise ProviderError(NAME, "the speech has no end", reason="service")
            _log.debug("sentence spoken", extra={"provider": NAME, "format": decoder.kind})

    @asynccontextmanager
    async def _answer(self, text: str) -> AsyncIterator[ServerAnswer]:
        """Request speech and yield the answer. Leaving the context ends the request."""
        settings, client = self._settings, self._client
        body: dict[str, Any] = {
            "input": text,
            "model": settings.model,
            "voice": settings.voice,
            "response_format": settings.response_format,
        }
        # Sent only where set: servers refuse fields that they do not know.
        if settings.speed is not None:
            body["speed"] = settings.speed
        if settings.instructions:
            body["instructions"] = settings.instructions
        body |= settings.extra_body or {}
        answer = await client.bounded(
            client.retried(lambda: client.post_json("audio/speech", body)),
            "speech",
            settings.timeout,
        )
        try:
            yield answer
        finally:
            answer.close()

    async def _pieces(self, answer: ServerAnswer, deadline: float) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises ProviderError."""
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        client = self._client
        async with closing(answer.pieces()) as body:
            while True:
                piece = await client.bounded(client.run(_next(body)), "speech", left)
                if piece is None:
                    return
                if piece:
                    yield piece
                    left = self._settings.timeout


async def _next(body: AsyncIterator[bytes]) -> bytes | None:
    return await anext(body, None)


def _stated_rate(content_type: str) -> int | None:
    """Return the rate in ``audio/pcm;rate=16000`` (RFC 2586 for L16), None if there is none."""
    found = _RATE.search(content_type)
    rate = int(found[1]) if found else 0
    return rate if 8_000 <= rate <= 96_000 else None


def _create(settings: OpenAITTSSettings) -> OpenAITTSProvider:
    return OpenAITTSProvider(settings)


FACTORY = ProviderFactory(settings_model=OpenAITTSSettings, create=_create, servers="base_url")
