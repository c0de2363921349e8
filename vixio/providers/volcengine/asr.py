"""ASR by Volcengine's big model: an utterance a connection, words while it is spoken."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakSet

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.registry import ProviderFactory
from vixio.providers.sent_utterance import SentUtterance
from vixio.providers.service_client import authorities
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import Endpoint, ServiceSocket, SocketPool, open_socket
from vixio.providers.service_socket import Frame as Sent
from vixio.providers.tool_words import tool_words
from vixio.providers.volcengine import frames
from vixio.providers.volcengine.errors import SILENCE, of_code, refused
from vixio.providers.volcengine.settings import NAME, VolcengineASRSettings

_log = logging.getLogger(__name__)

PIECE_S: Final = 0.2
"""Of audio in a frame: the vendor's advice."""

MAX_HOTWORDS: Final = 100


class VolcengineASRProvider(ASRProvider):
    """Opens a connection for each utterance: the vendor ends it with the last packet."""

    name = NAME

    def __init__(self, settings: VolcengineASRSettings | None = None) -> None:
        self.settings = settings or VolcengineASRSettings()
        self.sockets = SocketPool[ServiceSocket](NAME, keep=0, keep_s=0)
        self._context: ssl.SSLContext | None = None
        self._started = False
        self._streams = WeakSet[VolcengineStream]()

    async def start(self) -> None:
        """Read the certificates, in a thread. Raises ProviderUnavailable without a key."""
        self.sockets.check()
        self._headers()
        if not self._started and self.settings.url.startswith("wss"):
            self._context = await asyncio.to_thread(authorities)
        self._started = True

    async def verify(self) -> bool:
        """Open a connection, which shows that key and resource are right. Raises ProviderError."""
        link = await self.sockets.acquire(lambda: self._connected(self.open(SpeechHints())))
        self.sockets.discard(link)
        return True

    def open(self, hints: SpeechHints) -> VolcengineStream:
        stream = VolcengineStream(self, self._request(hints))
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        await self.sockets.close()
        for stream in list(self._streams):
            stream.changed()  # what waits for words learns of it

    async def acquire(self, stream: VolcengineStream) -> ServiceSocket:
        """Return a connection for an utterance. Raises ProviderError."""
        if not self._started:
            raise ProviderError(NAME, "it is not started", retryable=False)
        return await self.sockets.acquire(lambda: self._connected(stream))

    def _headers(self) -> dict[str, str]:
        settings = self.settings
        return settings.headers("asr", settings.resource_id, app_header="X-Api-App-Key")

    async def _connected(self, stream: VolcengineStream) -> ServiceSocket:
        settings = self.settings
        endpoint = Endpoint(
            Service(NAME, "asr"),
            f"{settings.url}/{settings.endpoint}",
            self._headers(),
            context=self._context,
            connect_timeout=settings.connect_timeout,
            refused=refused,
        )
        link = await open_socket(endpoint, stream.take, stream.lost)
        # By which the vendor finds the connection.
        log_id = link.headers.get("X-Tt-Logid", "")
        _log.debug("connected", extra={"provider": NAME, "log_id": log_id})
        return link

    def _request(self, hints: SpeechHints) -> dict[str, Any]:
        settings = self.settings
        words = [*settings.hotwords, *hints.phrases]
        words += tool_words(hints.tools) if settings.tool_words else ()
        request: dict[str, Any] = {
            "model_name": settings.model_name,
            "enable_itn": settings.itn,
            "enable_punc": settings.punctuation,
            "enable_ddc": settings.disfluency_removal,
            "show_utterances": True,
            "result_type": "full",  # with "single", sentences are lost
            "end_window_size": settings.end_window_ms,
        }
        if words:
            named = [{"word": word} for word in dict.fromkeys(words)][:MAX_HOTWORDS]
            context = json.dumps({"hotwords": named}, ensure_ascii=False)
            request["corpus"] = {"context": context}  # JSON within JSON
        audio: dict[str, Any] = {
            "format": "pcm",
            "codec": "raw",
            "rate": LISTEN_RATE,
            "bits": 16,
            "channel": 1,
        }
        if settings.language and settings.endpoint == "bigmodel_nostream":
            audio["language"] = settings.language
        return {"user": {"uid": "vixio"}, "audio": audio, "request": request}


class VolcengineStream(SentUtterance[ServiceSocket]):
    """One utterance."""

    def __init__(self, provider: VolcengineASRProvider, request: dict[str, Any]) -> None:
        super().__init__(NAME, piece_s=PIECE_S, timeout=provider.settings.timeout)
        self._provider = provider
        self._request = request
        self.begin()

    def take(self, data: Sent) -> None:
        """Take a frame of the server. Raises ProviderError for one that it does not have."""
        frame = frames.read(data)
        if frame.kind == frames.Kind.ERROR:
            if frame.code == SILENCE:
                self._complete = True
                self.changed()
            else:
                self.failed(of_code("asr", frame.code, frame.payload.decode("utf-8", "replace")))
            return
        if frame.kind != frames.Kind.FULL_SERVER:
            raise frames.strange("a frame that no recogniser sends")
        result = frame.json().get("result")
        if isinstance(result, list):  # of several channels
            result = result[0] if result else None
        if isinstance(result, dict) and isinstance(text := result.get("text"), str):
            self._words = text  # with "full", of the whole utterance
            self.report(text)
        self._complete = self._complete or frame.last
        self.changed()

    def lost(self, error: ProviderError) -> None:
        """Note that the connection is lost, which it is as well behind the last packet."""
        if not self._complete:
            self.failed(error)

    async def connect(self, *, fresh: bool) -> ServiceSocket:
        return await self._provider.acquire(self)

    async def introduce(self, link: ServiceSocket) -> None:
        await link.send(frames.utterance(self._request))

    def release(self, link: ServiceSocket) -> None:
        self._provider.sockets.release(link)

    def discard(self, link: ServiceSocket) -> None:
        self._provider.sockets.discard(link)

    def audio(self, pcm: bytes, number: int) -> Sent:
        return frames.audio(pcm)

    def last(self, number: int) -> Sequence[Sent]:
        return (frames.audio(b"", last=True),)

    def result(self) -> Recognition:
        return Recognition(self._words.strip())

    @property
    def complete(self) -> bool:
        return self._complete

    def begin(self) -> None:
        self._words, self._complete = "", False

    def check_provider(self) -> None:
        self._provider.sockets.check()


FACTORY = ProviderFactory(
    settings_model=VolcengineASRSettings,
    create=VolcengineASRProvider,
    languages=lambda settings: (settings.language,) if settings.language else None,
    servers="url",
)
