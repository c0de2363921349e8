"""TTS by DashScope: a reply is a task on a kept connection (CosyVoice), or a session (Qwen)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import uuid
from abc import abstractmethod
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.providers.dashscope import messages
from vixio.providers.dashscope.errors import refused
from vixio.providers.dashscope.messages import Link, ServerMessage
from vixio.providers.dashscope.settings import NAME, DashScopeTTSSettings
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import Endpoint, SocketPool, open_socket
from vixio.providers.spoken_reply import ReplyVoice, SpokenReply

LONGEST: Final = 2_000
"""Characters of a text that is sent at once; the vendor takes 20,000."""

_MOODS: Final = {
    "happy": "happy",
    "laughing": "happy",
    "funny": "happy",
    "sad": "sad",
    "crying": "sad",
    "angry": "angry",
    "surprised": "surprised",
    "shocked": "surprised",
}
"""The vendor's emotions by ours; the voice is neutral with all others."""


class DashScopeTTSProvider(ReplyVoice):
    """Voices of both protocols."""

    def __init__(self, settings: DashScopeTTSSettings | None = None) -> None:
        self.settings = settings = settings or DashScopeTTSSettings()
        sockets = SocketPool[Link](
            NAME,
            keep=0 if settings.realtime else settings.kept,
            keep_s=settings.keep,
            most=settings.concurrency,
        )
        secure = settings.address.startswith("wss")
        super().__init__(NAME, settings.sample_rate, sockets, secure=secure)

    def headers(self) -> dict[str, str]:
        return self.settings.headers("tts")

    async def verify(self) -> bool:
        """Begin a reply, which shows that key, model and voice are right. Raises ProviderError."""
        self.check()
        reply = self.turn()
        try:
            async with asyncio.timeout(self.settings.timeout):
                await reply.open("")
        except TimeoutError:
            text = f"no start of a reply within {self.settings.timeout:g} s"
            raise ProviderError(NAME, text, reason="timeout") from None
        finally:
            reply.end(whole=False)
        return True

    def turn(self) -> DashScopeReply:
        """Return the voice of one reply."""
        return (SessionReply if self.settings.realtime else TaskReply)(self)

    async def connected(self) -> Link:
        """Return a new connection. Raises ProviderError."""
        settings, link = self.settings, Link("tts")
        endpoint = Endpoint(
            Service(NAME, "tts"),
            settings.address,
            self.headers(),
            context=self.context,
            connect_timeout=settings.connect_timeout,
            refused=refused,
        )
        link.socket = await open_socket(endpoint, link.take, link.lost)
        return link


class DashScopeReply(SpokenReply):
    """One reply."""

    def __init__(self, provider: DashScopeTTSProvider) -> None:
        self.settings = settings = provider.settings
        super().__init__(
            NAME,
            settings.sample_rate,
            provider.pace,
            longest=LONGEST,
            timeout=settings.timeout,
            emotions=settings.emotions,
        )
        self.task = ""
        self._provider = provider
        self._link: Link | None = None
        self._ready = asyncio.Event()

    @abstractmethod
    def told(self, message: ServerMessage) -> None:
        """Take a message."""

    @abstractmethod
    def introduction(self, emotion: str) -> str:
        """Return the message that begins the session."""

    async def open(self, emotion: str) -> None:
        provider = self._provider
        provider.replies.add(self)
        for fresh in (False, True):
            link = self._link = await provider.sockets.acquire(provider.connected, fresh=fresh)
            used, link.used, link.user = link.used, True, self
            self._ready.clear()
            try:
                await link.send(self.introduction(emotion))
                await self._ready.wait()
                if error := self._failure or link.failure:
                    raise error
            except ProviderError as error:
                # A kept connection may be one that the vendor has closed meanwhile.
                if not (used and link.failure and error.retryable):
                    raise
                self._link = None
                provider.sockets.discard(link)
            else:
                return

    def failed(self, error: ProviderError) -> None:
        """Note that the connection is lost."""
        super().failed(error)
        self._ready.set()

    async def transmit(self, message: str) -> None:
        """Send a message, if the session has a connection. Raises ProviderError."""
        if self._link is not None:
            await self._link.send(message)

    def end(self, *, whole: bool) -> None:
        link, self._link = self._link, None
        if link is not None and whole:
            self._provider.sockets.release(link)
        elif link is not None:
            self.call_off(link)
        self._provider.replies.discard(self)

    def call_off(self, link: Link) -> None:
        """End the session in the middle: the vendor ends it with its connection."""
        self._provider.sockets.discard(link)

    def alone(self) -> SpokenReply:
        return self._provider.turn()

    def check_provider(self) -> None:
        self._provider.check()

    def instruction(self, emotion: str) -> str:
        """Return how to speak, in words."""
        mood = _MOODS.get(emotion, "")
        said = f"你说话的情感是{mood}。" if mood else ""
        return self.settings.instruction + said


class TaskReply(DashScopeReply):
    """A task of ``inference``: CosyVoice."""

    def introduction(self, emotion: str) -> str:
        settings = self.settings
        parameters: dict[str, Any] = {
            "text_type": "PlainText",
            "voice": settings.speaker,
            "format": "pcm",
            "sample_rate": settings.sample_rate,
            "volume": settings.volume,
            "rate": settings.rate,
            "pitch": settings.pitch,
        }
        if instruction := self.instruction(emotion):
            parameters["instruction"] = instruction
        self.task = str(uuid.uuid4())
        model = settings.model
        return messages.run_task(self.task, model, "tts", "SpeechSynthesizer", parameters)

    async def send(self, text: str) -> None:
        await self.transmit(messages.continue_task(self.task, text))

    async def finish(self) -> None:
        await self.transmit(messages.finish_task(self.task))

    def told(self, message: ServerMessage) -> None:
        match message.kind:
            case "task-started":
                self._ready.set()
            case "task-finished":
                self.finished()
            case "result-generated":
                output = message.body.get("output")
                output = output if isinstance(output, dict) else {}
                words = output.get("original_text")
                if isinstance(words, str) and output.get("type") == "sentence-begin":
                    self.sentence_begins(words)
                elif isinstance(words, str) and output.get("type") == "sentence-end":
                    self.sentence_ends(words)

    def call_off(self, link: Link) -> None:
        """End the task in the middle, and keep the connection if the vendor says it is over."""
        if link.failure is not None or not self._ready.is_set():
            super().call_off(link)
        else:
            link.user = ending = _Ending(self.task, link)
            self._provider.sockets.call_off(link, ending.run)


class _Ending:
    """Uses a connection until its task, which is called off, is over."""

    def __init__(self, task: str, link: Link) -> None:
        self.task = task
        self._link = link
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Call it off, and wait for its end. Raises ProviderError."""
        await self._link.send(messages.cancel_task(self.task))
        await self._over.wait()
        if self._link.failure is not None:
            raise self._link.failure

    def told(self, message: ServerMessage) -> None:
        if message.kind == "task-finished":
            self._over.set()

    def sound(self, pcm: bytes) -> None:
        pass  # nobody listens any more

    def failed(self, error: ProviderError) -> None:
        self._over.set()


class SessionReply(DashScopeReply):
    """A session of ``realtime``: Qwen."""

    def introduction(self, emotion: str) -> str:
        settings = self.settings
        session: dict[str, Any] = {
            "mode": "server_commit",
            "voice": settings.speaker,
            "response_format": "pcm",
            "sample_rate": settings.sample_rate,
            "volume": settings.volume,
            "speech_rate": settings.rate,
            "pitch_rate": settings.pitch,
        }
        if instruction := self.instruction(emotion):
            session["instructions"] = instruction
        return messages.event("session.update", session=session)

    async def send(self, text: str) -> None:
        await self.transmit(messages.event("input_text_buffer.append", text=text))

    async def finish(self) -> None:
        await self.transmit(messages.event("session.finish"))

    def told(self, message: ServerMessage) -> None:
        match message.kind:
            case "session.updated":
                self._ready.set()
            case "session.finished":
                self.finished()
            case "response.audio.delta":
                try:
                    self.sound(base64.b64decode(message.text("delta"), validate=True))
                except (binascii.Error, ValueError):
                    strange = "the server sends sound that is no base64"
                    raise ProviderError(NAME, strange, reason="service") from None


FACTORY = ProviderFactory(
    settings_model=DashScopeTTSSettings, create=DashScopeTTSProvider, servers="url"
)
