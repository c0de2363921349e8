"""ASR over ``POST /audio/transcriptions``: OpenAI, Groq, SiliconFlow or a local server.

The API takes a whole file: an utterance is collected while it is spoken and sent at its end.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any, Final, Literal

import numpy as np
from pydantic import Field

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_bytes, pcm_seconds, wav
from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.providers.openai_speech.hints import prompt_of, readable, terms_of
from vixio.providers.registry import ProviderFactory
from vixio.providers.sensevoice_tags import parse_tags
from vixio.providers.service_errors import Service, raise_error

_log = logging.getLogger(__name__)

NAME = "openai"

MIN_SECONDS: Final = 0.1
"""OpenAI refuses shorter audio, and no word is shorter."""

_SILENCE: Final = 64
"""Highest peak (of 32767) that counts as silence. Whisper invents words for silence."""

_DRAIN: Final = 0.1
"""Seconds to read the rest of a response once the transcript is complete."""

MAX_WORDS: Final = 4_000
"""Characters of a transcript; a longer one is cut."""


class OpenAIASRSettings(OpenAIConnection):
    """Options of the section ``asr`` when its name is ``openai``. Times are in seconds."""

    model: str = "gpt-transcribe"
    language: str = ""
    """ISO 639-1, as ``en``; empty: the session's language; ``auto``: the server detects it."""
    prompt: str = ""
    """Sent with every utterance, in the language that is spoken: names, style, spelling."""
    vocabulary: list[str] = Field(default_factory=list)
    """Words that are likely to be said and hard to recognise: names of people, rooms, songs."""
    hints: Literal["prompt", "keywords", "off"] = "prompt"
    """Field of the request for the vocabulary and the words of the session's tools. ``keywords`` is
    a field of gpt-transcribe."""
    max_prompt_chars: int = Field(default=600, ge=0, le=4_000)
    """Whisper reads at most 224 tokens of a prompt."""
    stream: bool = False
    """Request partial transcripts. Models and servers without them send the final one only."""
    temperature: float | None = Field(default=None, ge=0, le=1)
    timeout: float = Field(default=12.0, gt=0)
    """From the end of the utterance to its transcript, retries included."""
    max_seconds: float = Field(default=60.0, ge=1, le=600)
    """Longest utterance; audio beyond it is dropped."""


class OpenAIASRProvider(ASRProvider):
    """One client, with one pool of connections, for the process."""

    name = NAME

    def __init__(self, settings: OpenAIASRSettings | None = None) -> None:
        self._settings = settings or OpenAIASRSettings()
        self._client = SharedClient(NAME, "asr", self._settings, timeout=self._settings.timeout)

    async def start(self) -> None:
        """Make the client. Raises ProviderUnavailable without a key."""
        await self._client.start()

    async def verify(self) -> bool:
        """Ask the server for its models. Raises ProviderError if it refuses the key."""
        return await self._client.verify()

    def open(self, hints: SpeechHints) -> OpenAIASRStream:
        return OpenAIASRStream(self._client, self._settings, hints)

    async def close(self) -> None:
        """Fail the utterances in progress and close the connections. Idempotent."""
        await self._client.close()


class OpenAIASRStream(ASRStream):
    """One utterance: collected, then sent as a WAV file."""

    gathers = True

    def __init__(
        self, client: SharedClient, settings: OpenAIASRSettings, hints: SpeechHints
    ) -> None:
        self._client = client
        self._settings = settings
        self._hints = hints
        self._pcm = bytearray()
        self._most = pcm_bytes(settings.max_seconds, LISTEN_RATE)
        self._closed = False
        self.partial = ""

    async def feed(self, pcm: bytes) -> None:
        """Add audio, up to ``max_seconds``. Raises ProviderError once closed."""
        self._usable()
        self._pcm += pcm[: self._most - len(self._pcm)]

    def update_hints(self, hints: SpeechHints) -> None:
        """Replace the hints; the request uses the last ones."""
        self._hints = hints

    async def finish(self) -> Recognition:
        """Send the utterance and return its transcript. Silence is not sent."""
        self._usable()
        pcm = bytes(self._pcm[: len(self._pcm) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE])
        seconds = pcm_seconds(pcm, LISTEN_RATE)
        if seconds < MIN_SECONDS or _peak(pcm) <= _SILENCE:
            return Recognition("")
        language = self._language()
        sent = ("speech.wav", wav(pcm, LISTEN_RATE), "audio/wav")
        text = await self._client.bounded(
            self._client.retried(lambda: self._ask(sent, language)), "words", self._settings.timeout
        )
        _log.debug("utterance transcribed", extra={"provider": NAME, "seconds": round(seconds, 1)})
        text = text.strip()[:MAX_WORDS]
        if "sensevoice" not in self._settings.model.lower():
            return Recognition(text, language=language)
        tagged = parse_tags(text)  # servers pass on SenseVoice's tags, unchanged or as emoji
        language = tagged.language or language
        return Recognition(tagged.text, language=language, emotion=tagged.emotion)

    async def close(self) -> None:
        self._closed = True
        self._pcm.clear()

    def _usable(self) -> None:
        if self._closed:
            raise ProviderError(NAME, "the stream is closed", retryable=False)
        self._client.check()

    async def _ask(self, sent: tuple[str, bytes, str], language: str) -> str:
        """Return the transcript. The response's content type shows whether it is a stream."""
        self.partial = ""
        fields = self._fields(language)
        answer = await self._client.post_form("audio/transcriptions", fields, sent)
        # whisper-1 does not stream, even if asked to.
        if not (self._settings.stream and "text/event-stream" in answer.content_type):
            return _words_of(await answer.read())
        try:
            async with closing(answer.events()) as incoming:
                return await self._follow(incoming)
        finally:
            answer.close()

    async def _follow(self, incoming: AsyncIterator[dict[str, Any]]) -> str:
        whole: str | None = None
        rest = asyncio.timeout(None)
        try:
            async with rest:
                async for event in incoming:
                    kind, text = event.get("type"), event.get("text")
                    if whole is not None:
                        continue
                    if kind == "transcript.text.delta":
                        words = self.partial + str(event.get("delta") or "")
                        self.report_partial(words[:MAX_WORDS])
                    elif kind is None and isinstance(text, str):
                        # Untyped events with one segment each: faster-whisper's older servers.
                        words = f"{self.partial} {text.strip()}".strip()
                        self.report_partial(words[:MAX_WORDS])
                    elif kind == "transcript.text.done" and isinstance(text, str):
                        whole = self.partial = text
                        # A connection is reused only if its response has been read to the end.
                        rest.reschedule(asyncio.get_running_loop().time() + _DRAIN)
        except TimeoutError:
            pass  # the transcript is complete: the connection is closed instead of reused
        if whole is None:  # some servers send deltas only; a lost connection raises above
            whole = self.partial
        return whole

    def _fields(self, language: str) -> dict[str, Any]:
        """Return the fields that are set: servers refuse those that they do not know."""
        settings = self._settings
        terms = () if settings.hints == "off" else terms_of(self._hints.tools)
        fields: dict[str, Any] = {"model": settings.model}
        prompt = settings.prompt.strip()
        if settings.hints == "prompt":
            prompt = prompt_of(
                prompt,
                settings.vocabulary,
                readable(terms, language),
                max(settings.max_prompt_chars, len(prompt)),
            )
        elif settings.hints == "keywords" and (words := [*settings.vocabulary, *terms]):
            fields["keywords"] = list(dict.fromkeys(words))
        if prompt:
            fields["prompt"] = prompt
        if language:
            fields["language"] = language
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if settings.stream:
            fields["stream"] = True
        return {**fields, **(settings.extra_body or {})}

    def _language(self) -> str:
        wanted = self._settings.language or self._hints.language
        return "" if wanted == "auto" else wanted.replace("_", "-").partition("-")[0].lower()


def _peak(pcm: bytes) -> int:
    samples = np.frombuffer(pcm, "<i2").astype(np.int32)
    return int(np.abs(samples).max(initial=0))


def _words_of(body: bytes) -> str:
    """Return the ``text`` of a JSON answer."""
    try:
        answer = json.loads(body)
    except ValueError:
        raise ProviderError(NAME, "the server's answer is no JSON", reason="service") from None
    text = answer.get("text") if isinstance(answer, dict) else None
    if text is None and isinstance(answer, dict):
        raise_error(answer, Service(NAME, "asr"))  # some servers answer so with status 200
    if not isinstance(text, str):
        raise ProviderError(NAME, "the server's answer has no words in it", reason="service")
    return text


def _create(settings: OpenAIASRSettings) -> OpenAIASRProvider:
    return OpenAIASRProvider(settings)


FACTORY = ProviderFactory(
    settings_model=OpenAIASRSettings,
    create=_create,
    languages=lambda settings: None if settings.language in {"", "auto"} else (settings.language,),
    servers="base_url",
)
