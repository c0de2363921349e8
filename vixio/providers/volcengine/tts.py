"""TTS by Volcengine: one session a reply, over connections that are kept."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any, Final

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import Endpoint, ServiceSocket, SocketPool, open_socket
from vixio.providers.service_socket import Frame as Sent
from vixio.providers.spoken_reply import ReplyVoice, SpokenReply
from vixio.providers.tts import TTSProvider
from vixio.providers.volcengine import frames
from vixio.providers.volcengine.errors import OK, of_code, refused
from vixio.providers.volcengine.frames import Event, Kind
from vixio.providers.volcengine.settings import NAME, VolcengineTTSSettings
from vixio.providers.volcengine.tts_http import VolcengineHttpVoice

_log = logging.getLogger(__name__)

NAMESPACE: Final = "BidirectionalTTS"
LONGEST: Final = 1_000
"""Characters of a text that is sent at once."""


class VolcengineTTSProvider(ReplyVoice):
    """Voices of the bidirectional interface."""

    def __init__(self, settings: VolcengineTTSSettings | None = None) -> None:
        self.settings = settings = settings or VolcengineTTSSettings()
        sockets = SocketPool[_Connection](
            NAME, keep=settings.kept, keep_s=settings.keep, most=settings.concurrency
        )
        secure = settings.url.startswith("wss")
        super().__init__(NAME, settings.sample_rate, sockets, secure=secure)

    async def verify(self) -> bool:
        """Open a connection, which shows that the key is right. Raises ProviderError."""
        self.check()
        self.sockets.release(await self.acquire(fresh=True))
        return True

    def turn(self) -> SpokenReply:
        """Return the voice of one reply, which is one session."""
        return _Reply(self)

    async def acquire(self, *, fresh: bool) -> _Connection:
        """Return a connection that is started, a new one if ``fresh``. Raises ProviderError."""
        connection: _Connection = await self.sockets.acquire(self._connected, fresh=fresh)
        return connection

    def give_back(self, connection: _Connection) -> None:
        """Take back a connection whose session is over."""
        self.sockets.release(connection)

    def call_off(self, connection: _Connection, session: str) -> None:
        """End a session in the middle, and keep its connection if the vendor says that it is over.

        Behind our FinishSession nothing may be cancelled: then the connection is closed.
        """
        if not session or connection.finishing or connection.failure is not None:
            self.sockets.discard(connection)
        else:
            connection.reply = None
            self.sockets.call_off(connection, lambda: connection.cancel(session))

    def headers(self) -> dict[str, str]:
        settings = self.settings
        return settings.headers("tts", settings.resource, app_header="X-Api-App-Key")

    async def _connected(self) -> _Connection:
        connection, settings = _Connection(), self.settings
        endpoint = Endpoint(
            Service(NAME, "tts"),
            settings.url,
            self.headers(),
            context=self.context,
            connect_timeout=settings.connect_timeout,
            refused=refused,
        )
        connection.socket = await open_socket(endpoint, connection.take, connection.lost)
        try:
            async with asyncio.timeout(settings.connect_timeout):
                await connection.send(frames.event(Event.START_CONNECTION))
                await connection.until(Event.CONNECTION_STARTED)
        except TimeoutError:
            await connection.close()
            raise ProviderTimeout(NAME, "connection", settings.connect_timeout) from None
        except BaseException:
            await connection.close()
            raise
        return connection


class _Connection:
    """A connection, which has one session at a time. ``reply``: whose."""

    def __init__(self) -> None:
        self.socket: ServiceSocket
        self.reply: _Reply | None = None
        self.finishing = False
        self.used = False
        self._failure: ProviderError | None = None
        self._event: int = 0
        self._came = asyncio.Event()

    @property
    def failure(self) -> ProviderError | None:
        """Why it serves no further session."""
        return self._failure or self.socket.failure

    def detach(self) -> None:
        """Deliver to nobody."""
        self.reply, self.finishing = None, False

    async def send(self, frame: Sent) -> None:
        """Send a frame. Raises ProviderError."""
        await self.socket.send(frame)

    async def until(self, *events: Event) -> None:
        """Wait for one of these events. Raises ProviderError."""
        while self._event not in events:
            if self.failure is not None:
                raise self.failure
            await self._came.wait()
            self._came.clear()
        self._event = 0

    async def cancel(self, session: str) -> None:
        """End a session in the middle. Raises ProviderError."""
        await self.send(frames.event(Event.CANCEL_SESSION, session))
        await self.until(Event.SESSION_CANCELLED, Event.SESSION_FINISHED)

    async def close(self) -> None:
        """Close the connection within a timeout. Idempotent, never raises."""
        await self.socket.close()

    def take(self, data: Sent) -> None:
        """Take a frame of the server. Raises ProviderError for one that it does not have."""
        frame = frames.read(data)
        if frame.kind == Kind.ERROR:
            raise of_code("tts", frame.code, frame.payload.decode("utf-8", "replace"))
        if frame.event in (Event.CONNECTION_FAILED, Event.SESSION_FAILED):
            raise _told(frame)
        reply = self.reply
        if frame.event == Event.AUDIO:
            if reply is not None and frame.id == reply.session:
                reply.sound(frame.payload)
            return
        if reply is not None and frame.id == reply.session:
            self._tell(reply, frame)
        self._event = frame.event
        self._came.set()

    def lost(self, error: ProviderError) -> None:
        """Note that the connection is lost."""
        self._failure = error
        if self.reply is not None:
            self.reply.failed(error)
        self._came.set()

    def _tell(self, reply: _Reply, frame: frames.Frame) -> None:
        match frame.event:
            case Event.SENTENCE_START:
                reply.sentence_begins(_sentence(frame))
            case Event.SENTENCE_END:
                reply.sentence_ends(_sentence(frame))
            case Event.SESSION_FINISHED:
                code = frame.json().get("status_code", OK)
                if code == OK:
                    reply.finished()
                else:
                    reply.failed(_told(frame))


class _Reply(SpokenReply):
    """One reply: a session, or several where the model pauses."""

    def __init__(self, provider: VolcengineTTSProvider) -> None:
        settings = provider.settings
        super().__init__(
            NAME,
            settings.sample_rate,
            provider.pace,
            longest=LONGEST,
            timeout=settings.timeout,
            emotions=settings.emotions,
        )
        self.session = ""
        self._provider = provider
        self._connection: _Connection | None = None

    async def open(self, emotion: str) -> None:
        provider = self._provider
        provider.replies.add(self)
        for fresh in (False, True):
            connection = self._connection = await provider.acquire(fresh=fresh)
            used, connection.used = connection.used, True
            connection.reply, self.session = self, str(uuid.uuid4())
            begin = frames.event(Event.START_SESSION, self.session, self._begin(emotion))
            try:
                await connection.send(begin)
                await connection.until(Event.SESSION_STARTED)
            except ProviderError:
                if not used or not connection.failure:
                    raise
                # A kept connection that the vendor has closed meanwhile.
                self._connection, connection.reply = None, None
                provider.call_off(connection, "")
            else:
                return

    async def send(self, text: str) -> None:
        head = {"event": int(Event.TASK_REQUEST), "namespace": NAMESPACE}
        await self._say(Event.TASK_REQUEST, {**head, "req_params": {"text": text}})

    async def finish(self) -> None:
        if self._connection is not None:
            self._connection.finishing = True
        await self._say(Event.FINISH_SESSION, {})

    def end(self, *, whole: bool) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            pass
        elif whole:
            self._provider.give_back(connection)
        else:
            self._provider.call_off(connection, self.session)
        self.session = ""
        self._provider.replies.discard(self)

    def alone(self) -> SpokenReply:
        return _Reply(self._provider)

    def check_provider(self) -> None:
        self._provider.check()

    async def _say(self, event: Event, payload: dict[str, Any]) -> None:
        if self._connection is not None:
            await self._connection.send(frames.event(event, self.session, payload))

    def _begin(self, emotion: str) -> dict[str, Any]:
        settings = self._provider.settings
        sound: dict[str, Any] = {
            "format": "pcm",
            "sample_rate": settings.sample_rate,
            "speech_rate": settings.speech_rate,
            "loudness_rate": settings.loudness_rate,
        }
        if emotion and emotion != "neutral":
            sound["emotion"] = emotion
        return {
            "user": {"uid": "vixio"},
            "event": int(Event.START_SESSION),
            "namespace": NAMESPACE,
            "req_params": {
                "speaker": settings.speaker,
                "audio_params": sound,
                "additions": '{"disable_markdown_filter":true}',  # JSON within JSON
            },
        }


def _sentence(frame: frames.Frame) -> str:
    """Return the words of a sentence of the vendor's, "" where it does not say."""
    try:
        body = frame.json()
    except ProviderError:
        return ""  # seen by others; the sound is told apart without
    inner = body.get("res_params")
    text = (inner if isinstance(inner, dict) else body).get("text", "")
    return text if isinstance(text, str) else ""


def _told(frame: frames.Frame) -> ProviderError:
    body = frame.json()
    code = body.get("status_code", 0)
    return of_code("tts", code if isinstance(code, int) else 0, str(body.get("message", "")))


def _create(settings: VolcengineTTSSettings) -> TTSProvider:
    return (VolcengineHttpVoice if settings.way == "http" else VolcengineTTSProvider)(settings)


FACTORY = ProviderFactory(settings_model=VolcengineTTSSettings, create=_create, servers="url")
