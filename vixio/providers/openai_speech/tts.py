"""TTS over ``POST /audio/speech``: OpenAI, SiliconFlow, Groq, Kokoro-FastAPI and others.

The response is decoded as it arrives, so playback starts before synthesis ends.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any, Final, Literal

from pydantic import Field

from vixio.core.streams import closing
from vixio.providers.audio_stream import AudioStreamDecoder, decoded, load
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.providers.registry import ProviderFactory
from vixio.providers.requested_speech import RequestedSpeech
from vixio.providers.service_answer import ServerAnswer

NAME = "openai"

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


class OpenAITTSProvider(RequestedSpeech):
    """One client, with one pool of connections, for the process.

    The model detects the language from the text.
    """

    def __init__(self, settings: OpenAITTSSettings | None = None) -> None:
        self._settings = settings = settings or OpenAITTSSettings()
        self._shared = SharedClient(NAME, "tts", settings, timeout=settings.timeout)
        super().__init__(
            NAME,
            settings.sample_rate,
            self._shared,
            longest=settings.max_chars,
            timeout=settings.timeout,
        )

    async def start(self) -> None:
        """Make the client, import decoders. Raises ProviderUnavailable without key or extra."""
        await asyncio.to_thread(load, NAME, self._settings.response_format)
        await super().start()

    async def verify(self) -> bool:
        """Ask the server for its models. Raises ProviderError if it refuses the key."""
        return await self._shared.verify()

    async def request(self, text: str, language: str, emotion: str) -> ServerAnswer:
        settings = self._settings
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
        return await self.client.post_json("audio/speech", body)

    async def sound(self, answer: ServerAnswer) -> AsyncIterator[bytes]:
        decoder = AudioStreamDecoder(
            NAME,
            self.sample_rate,
            asked=self._settings.response_format,
            pcm_rate=_stated_rate(answer.content_type) or self.sample_rate,
        )
        async with closing(decoded(answer.pieces(), decoder)) as sound:
            async for pcm in sound:
                yield pcm


def _stated_rate(content_type: str) -> int | None:
    """Return the rate in ``audio/pcm;rate=16000`` (RFC 2586 for L16), None if there is none."""
    found = _RATE.search(content_type)
    rate = int(found[1]) if found else 0
    return rate if 8_000 <= rate <= 96_000 else None


def _create(settings: OpenAITTSSettings) -> OpenAITTSProvider:
    return OpenAITTSProvider(settings)


FACTORY = ProviderFactory(settings_model=OpenAITTSSettings, create=_create, servers="base_url")
