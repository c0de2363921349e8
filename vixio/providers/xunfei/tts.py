"""TTS by Xunfei: a sentence a connection; its sound may come out of order."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.registry import ProviderFactory
from vixio.providers.service_client import authorities
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import (
    Endpoint,
    Frame,
    ServiceSocket,
    SocketPool,
    open_socket,
)
from vixio.providers.spoken_text import clean, split
from vixio.providers.tts import TTSProvider
from vixio.providers.xunfei.settings import NAME, XunfeiTTSSettings
from vixio.providers.xunfei.signing import now, of_code, refused, signed

LONGEST: Final = 2_000
"""Characters of a request."""

LAST: Final = 2
"""The status of the last frame."""

MOST_EARLY: Final = 64
"""Frames that may wait for one before them."""

LATE_S: Final = 0.3
"""For frames that are overtaken by the last one."""


class XunfeiTTSProvider(TTSProvider):
    """Opens a connection for each sentence, signed anew."""

    name = NAME

    def __init__(self, settings: XunfeiTTSSettings | None = None) -> None:
        self._settings = settings = settings or XunfeiTTSSettings()
        self.sample_rate = settings.sample_rate
        self._sockets = SocketPool[ServiceSocket](NAME, keep=0, keep_s=0, most=settings.concurrency)
        self._context: ssl.SSLContext | None = None
        self._speeches: set[_Speech] = set()
        self._started = False

    async def start(self) -> None:
        """Read the certificates, in a thread. Raises ProviderUnavailable without keys."""
        self._sockets.check()
        self._settings.keys("tts")
        if not self._started and self._settings.url.startswith("wss"):
            self._context = await asyncio.to_thread(authorities)
        self._started = True

    async def verify(self) -> bool:
        """Open a connection, which shows that the signature is right. Raises ProviderError."""
        speech = _Speech()
        self._sockets.discard(await self._sockets.acquire(partial(self._connected, speech)))
        return True

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM as it comes. Closing the iterator ends the work. Raises ProviderError."""
        self._sockets.check()
        if not self._started:
            raise ProviderError(NAME, "it is not started", retryable=False)
        for piece in split(clean(text), lambda _: LONGEST):
            speech = _Speech()
            self._speeches.add(speech)
            link: ServiceSocket | None = None
            try:
                link = await self._sockets.acquire(partial(self._connected, speech))
                await link.send(self._request(piece))
                while (pcm := await self._next(speech)) is not None:
                    yield pcm
            finally:
                self._speeches.discard(speech)
                if link is not None:
                    self._sockets.discard(link)

    async def close(self) -> None:
        """Fail the speech in progress, and close the connections. Idempotent."""
        gone = ProviderError(NAME, "the provider is closed", retryable=False)
        for speech in list(self._speeches):
            speech.lost(gone)
        await self._sockets.close()

    async def _next(self, speech: _Speech) -> bytes | None:
        """Return the next sound, None behind the last. Raises ProviderError."""
        timeout = self._settings.timeout
        try:
            async with asyncio.timeout(timeout):
                return await speech.next()
        except TimeoutError:
            raise ProviderTimeout(NAME, "audio", timeout) from None

    async def _connected(self, speech: _Speech) -> ServiceSocket:
        settings = self._settings
        endpoint = Endpoint(
            Service(NAME, "tts"),
            signed(settings.url, settings.keys("tts"), now()),
            context=self._context,
            connect_timeout=settings.connect_timeout,
            refused=refused,
        )
        return await open_socket(endpoint, speech.take, speech.lost)

    def _request(self, text: str) -> str:
        settings = self._settings
        audio = {
            "encoding": "raw",
            "sample_rate": settings.sample_rate,
            "channels": 1,
            "bit_depth": 16,
            "frame_size": 0,
        }
        tts = {
            "vcn": settings.vcn,
            "speed": settings.speed,
            "volume": settings.volume,
            "pitch": settings.pitch,
            "bgs": 0,
            "reg": 0,
            "rdn": 0,
            "rhy": 0,
            "audio": audio,
        }
        said = {
            "encoding": "utf8",
            "compress": "raw",
            "format": "plain",
            "status": LAST,
            "seq": 0,
            "text": base64.b64encode(text.encode()).decode(),
        }
        message = {
            "header": {"app_id": settings.keys("tts").app_id, "status": LAST},
            "parameter": {"oral": {"oral_level": settings.oral_level}, "tts": tts},
            "payload": {"text": said},
        }
        return json.dumps(message, ensure_ascii=False)


class _Speech:
    """The sound of one sentence, in its order."""

    def __init__(self) -> None:
        self._sound = asyncio.Queue[bytes | ProviderError | None]()
        self._early: dict[int, bytes] = {}
        self._due: int | None = None
        """The number of the frame that comes next; None: not known before the first one."""
        self._end: int | None = None
        self._odd = b""
        self._over = False
        self._late: asyncio.TimerHandle | None = None

    async def next(self) -> bytes | None:
        """Return the next sound, None behind the last. Raises ProviderError."""
        found = await self._sound.get()
        if isinstance(found, ProviderError):
            raise found
        return found

    def lost(self, error: ProviderError) -> None:
        """Note that the connection is lost, as it is as well behind the last frame."""
        if self._end is not None and error.retryable:
            self._finish()
        else:
            self._finish(error)

    def take(self, data: Frame) -> None:
        """Take a frame of the server. Raises ProviderError."""
        try:
            message: dict[str, Any] = json.loads(data)
            header = message["header"]
            code, words = int(header["code"]), str(header.get("message", ""))
            audio = (message.get("payload") or {}).get("audio") or {}
            number, status = int(audio.get("seq", 0)), int(audio.get("status", 1))
            pcm = base64.b64decode(audio.get("audio") or "", validate=True)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ProviderError(NAME, "the server sends no answer", reason="service") from None
        if code:
            raise of_code("tts", code, words)
        if not audio:
            return
        if status == 0:
            self._due = number
        if status == LAST:
            self._end = number
            if self._due is None and not number:
                self._due = number  # all of it in one frame
        self._early[number] = pcm
        if len(self._early) > MOST_EARLY:
            raise ProviderError(NAME, "the server leaves out some of its sound", reason="service")
        self._deliver()

    def _deliver(self) -> None:
        while self._due is not None and self._due in self._early:
            self._put(self._early.pop(self._due))
            self._due += 1
        if self._end is None or self._over:
            return
        if self._due is not None and self._due > self._end:
            self._finish()
        elif self._late is None:
            self._late = asyncio.get_running_loop().call_later(LATE_S, self._finish)

    def _put(self, pcm: bytes) -> None:
        pcm = self._odd + pcm
        whole = len(pcm) - len(pcm) % BYTES_PER_SAMPLE
        pcm, self._odd = pcm[:whole], pcm[whole:]
        if pcm:
            self._sound.put_nowait(pcm)

    def _finish(self, error: ProviderError | None = None) -> None:
        """End the sound; what waited for a frame that never came is part of it."""
        if self._over:
            return
        self._over = True
        if self._late is not None:
            self._late.cancel()
        if error is None:
            for _, pcm in sorted(self._early.items()):
                self._put(pcm)
        self._early.clear()
        self._sound.put_nowait(error)


FACTORY = ProviderFactory(settings_model=XunfeiTTSSettings, create=XunfeiTTSProvider, servers="url")
