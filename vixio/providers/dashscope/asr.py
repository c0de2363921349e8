"""ASR by DashScope: an utterance is a task on a kept connection, or a session of its own."""

from __future__ import annotations

import asyncio
import base64
import ssl
import uuid
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakSet

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.dashscope import messages
from vixio.providers.dashscope.errors import refused
from vixio.providers.dashscope.messages import Link, ServerMessage
from vixio.providers.dashscope.settings import NAME, DashScopeASRSettings
from vixio.providers.registry import ProviderFactory
from vixio.providers.sent_utterance import SentUtterance, joined
from vixio.providers.service_client import authorities
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import Endpoint, Frame, SocketPool, open_socket
from vixio.providers.tool_words import tool_words

PIECE_S: Final = 0.1
"""Of audio in a frame: the vendor's advice."""

MAX_HOTWORDS: Final = 100

_TRANSCRIPTION: Final = "conversation.item.input_audio_transcription"


class DashScopeASRProvider(ASRProvider):
    """Recognisers of both protocols."""

    name = NAME

    def __init__(self, settings: DashScopeASRSettings | None = None) -> None:
        self.settings = settings = settings or DashScopeASRSettings()
        self.sockets = SocketPool[Link](
            NAME,
            keep=0 if settings.realtime else settings.kept,
            keep_s=settings.keep,
            most=settings.concurrency,
        )
        self._context: ssl.SSLContext | None = None
        self._started = False
        self._streams = WeakSet[DashScopeStream]()

    async def start(self) -> None:
        """Read the certificates, in a thread. Raises ProviderUnavailable without a key."""
        self.sockets.check()
        self.settings.headers("asr")
        if not self._started and self.settings.address.startswith("wss"):
            self._context = await asyncio.to_thread(authorities)
        self._started = True

    async def verify(self) -> bool:
        """Begin an utterance, which shows that key and model are right. Raises ProviderError."""
        stream = self.open(SpeechHints())
        link = await self.acquire(stream, fresh=True)
        try:
            async with asyncio.timeout(self.settings.timeout):
                await stream.introduce(link)
        except TimeoutError:
            text = f"no start of an utterance within {self.settings.timeout:g} s"
            raise ProviderError(NAME, text, reason="timeout") from None
        finally:
            self.sockets.discard(link)
        return True

    def open(self, hints: SpeechHints) -> DashScopeStream:
        stream = (SessionStream if self.settings.realtime else TaskStream)(self, hints)
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        await self.sockets.close()
        for stream in list(self._streams):
            stream.changed()  # what waits for words learns of it

    async def acquire(self, stream: DashScopeStream, *, fresh: bool) -> Link:
        """Return a connection for an utterance. Raises ProviderError."""
        if not self._started:
            raise ProviderError(NAME, "it is not started", retryable=False)
        link = await self.sockets.acquire(self._connected, fresh=fresh)
        link.user = stream
        return link

    async def _connected(self) -> Link:
        settings, link = self.settings, Link("asr")
        endpoint = Endpoint(
            Service(NAME, "asr"),
            settings.address,
            settings.headers("asr"),
            context=self._context,
            connect_timeout=settings.connect_timeout,
            refused=refused,
        )
        link.socket = await open_socket(endpoint, link.take, link.lost)
        return link


class DashScopeStream(SentUtterance[Link]):
    """One utterance."""

    def __init__(self, provider: DashScopeASRProvider, hints: SpeechHints) -> None:
        super().__init__(NAME, piece_s=PIECE_S, timeout=provider.settings.timeout)
        self.task = ""
        self.settings = settings = provider.settings
        words = [*settings.hotwords, *hints.phrases]
        words += tool_words(hints.tools) if settings.tool_words else ()
        self.hotwords = list(dict.fromkeys(words))[:MAX_HOTWORDS]
        self._provider = provider
        self._ready = self._complete = False
        self._parts: dict[int | str, Recognition] = {}
        """By sentence; a later version takes the place of an earlier one."""

    @abstractmethod
    def told(self, message: ServerMessage) -> None:
        """Take a message."""

    def sound(self, pcm: bytes) -> None:
        """Ignore sound, which no recogniser sends."""

    def failed(self, error: ProviderError) -> None:
        """Note that the connection is lost, which costs nothing behind the last result."""
        if not self._complete:
            super().failed(error)

    async def connect(self, *, fresh: bool) -> Link:
        return await self._provider.acquire(self, fresh=fresh)

    def release(self, link: Link) -> None:
        self._provider.sockets.release(link)

    def discard(self, link: Link) -> None:
        self._provider.sockets.discard(link)

    def result(self) -> Recognition:
        parts = list(self._parts.items())
        if all(isinstance(key, int) for key, _ in parts):
            parts.sort(key=lambda part: int(part[0]))
        return joined([part for _, part in parts] or [Recognition("")])

    @property
    def complete(self) -> bool:
        return self._complete

    def begin(self) -> None:
        self._ready = self._complete = False
        self._parts.clear()

    def check_provider(self) -> None:
        self._provider.sockets.check()

    def _took(self, sentence: int | str, words: str, language: str = "", mood: str = "") -> None:
        self._parts[sentence] = Recognition(words.strip(), language=language, emotion=mood)
        self.report(self.result().text)

    def _all_came(self) -> None:
        self._complete = True
        self.changed()


class TaskStream(DashScopeStream):
    """A task of ``inference``."""

    async def introduce(self, link: Link) -> None:
        settings = self.settings
        parameters: dict[str, Any] = {
            "format": "pcm",
            "sample_rate": LISTEN_RATE,
            "semantic_punctuation_enabled": settings.semantic_punctuation,
            "max_sentence_silence": settings.max_sentence_silence_ms,
            "disfluency_removal_enabled": settings.disfluency_removal,
        }
        if settings.languages:
            parameters["language_hints"] = settings.languages
        if settings.vocabulary_id:
            parameters["vocabulary_id"] = settings.vocabulary_id
        self.task, link.used = str(uuid.uuid4()), True
        await link.send(
            messages.run_task(self.task, settings.model, "asr", "recognition", parameters)
        )
        await self.until(lambda: self._ready)

    def told(self, message: ServerMessage) -> None:
        match message.kind:
            case "task-started":
                self._ready = True
                self.changed()
            case "task-finished":
                self._all_came()
            case "result-generated":
                output = message.body.get("output")
                sentence = output.get("sentence") if isinstance(output, dict) else None
                if isinstance(sentence, dict) and not sentence.get("heartbeat"):
                    # Older models have no ids: a sentence is known by its beginning.
                    key = sentence.get("sentence_id", sentence.get("begin_time"))
                    words = sentence.get("text")
                    if isinstance(words, str):
                        self._took(key if isinstance(key, int) else str(key), words)

    def last(self, number: int) -> Sequence[Frame]:
        return (messages.finish_task(self.task),)


class SessionStream(DashScopeStream):
    """A session of ``realtime``."""

    async def introduce(self, link: Link) -> None:
        settings = self.settings
        transcription: dict[str, Any] = {}
        if settings.languages:
            transcription["language"] = settings.languages[0]
        if self.hotwords:
            transcription["corpus"] = {"text": "、".join(self.hotwords)}
        detection = {
            "type": "server_vad",
            "threshold": 0.0,  # Vixio has heard that someone speaks
            "silence_duration_ms": settings.max_sentence_silence_ms,
        }
        session = {
            "modalities": ["text"],
            "input_audio_format": "pcm",
            "sample_rate": LISTEN_RATE,
            "input_audio_transcription": transcription,
            "turn_detection": detection,
        }
        await link.send(messages.event("session.update", session=session))
        await self.until(lambda: self._ready)

    def told(self, message: ServerMessage) -> None:
        item = message.text("item_id")
        mood = message.text("emotion")
        who = (message.text("language"), mood if mood != "neutral" else "")
        match message.kind:
            case "session.updated":
                self._ready = True
                self.changed()
            case "session.finished":
                self._all_came()
            case kind if kind == f"{_TRANSCRIPTION}.text":
                self._took(item, message.text("text") + message.text("stash"), *who)
            case kind if kind == f"{_TRANSCRIPTION}.completed":
                self._took(item, message.text("transcript"), *who)

    def audio(self, pcm: bytes, number: int) -> Frame:
        audio = base64.b64encode(pcm).decode()
        return messages.event("input_audio_buffer.append", audio=audio)

    def last(self, number: int) -> Sequence[Frame]:
        return (messages.event("session.finish"),)


FACTORY = ProviderFactory(
    settings_model=DashScopeASRSettings,
    create=DashScopeASRProvider,
    servers="url",
    languages=lambda settings: tuple(settings.languages) or None,
)
