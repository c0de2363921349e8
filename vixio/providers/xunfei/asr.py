"""ASR by Xunfei: an utterance a connection, words while it is spoken; two forms of messages."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import WeakSet

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.registry import ProviderFactory
from vixio.providers.sent_utterance import SentUtterance
from vixio.providers.service_client import authorities
from vixio.providers.service_errors import Service
from vixio.providers.service_socket import (
    Endpoint,
    Frame,
    ServiceSocket,
    SocketPool,
    open_socket,
)
from vixio.providers.tool_words import tool_words
from vixio.providers.xunfei.settings import NAME, XunfeiASRSettings
from vixio.providers.xunfei.signing import now, of_code, refused, signed

PIECE_S: Final = 0.04
"""Of audio in a frame: 1,280 bytes, as the vendor wants it."""

LONGEST_S: Final = 59.0
"""Of an utterance; the vendor ends a session at 60."""

MAX_HOTWORDS: Final = 100

FIRST, MIDDLE, LAST = 0, 1, 2
"""The status of frames."""


class XunfeiASRProvider(ASRProvider):
    """Opens a connection for each utterance, signed anew."""

    name = NAME

    def __init__(self, settings: XunfeiASRSettings | None = None) -> None:
        self.settings = settings = settings or XunfeiASRSettings()
        self.sockets = SocketPool[ServiceSocket](NAME, keep=0, keep_s=0, most=settings.concurrency)
        self._context: ssl.SSLContext | None = None
        self._started = False
        self._streams = WeakSet[XunfeiStream]()

    async def start(self) -> None:
        """Read the certificates, in a thread. Raises ProviderUnavailable without keys."""
        self.sockets.check()
        self.settings.keys("asr")
        if not self._started and self.settings.address.startswith("wss"):
            self._context = await asyncio.to_thread(authorities)
        self._started = True

    async def verify(self) -> bool:
        """Open a connection, which shows that the signature is right. Raises ProviderError."""
        self.sockets.discard(await self.acquire(self.open(SpeechHints())))
        return True

    def open(self, hints: SpeechHints) -> XunfeiStream:
        stream = (OldStream if self.settings.product == "iat" else ModelStream)(self, hints)
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        await self.sockets.close()
        for stream in list(self._streams):
            stream.changed()  # what waits for words learns of it

    async def acquire(self, stream: XunfeiStream) -> ServiceSocket:
        """Return a connection for an utterance. Raises ProviderError."""
        if not self._started:
            raise ProviderError(NAME, "it is not started", retryable=False)
        return await self.sockets.acquire(lambda: self._connected(stream))

    async def _connected(self, stream: XunfeiStream) -> ServiceSocket:
        settings = self.settings
        endpoint = Endpoint(
            Service(NAME, "asr"),
            signed(settings.address, settings.keys("asr"), now()),
            context=self._context,
            connect_timeout=settings.connect_timeout,
            refused=refused,
        )
        return await open_socket(endpoint, stream.take, stream.lost)


class XunfeiStream(SentUtterance[ServiceSocket]):
    """One utterance."""

    def __init__(self, provider: XunfeiASRProvider, hints: SpeechHints) -> None:
        self.settings = settings = provider.settings
        super().__init__(NAME, piece_s=PIECE_S, timeout=settings.timeout, longest_s=LONGEST_S)
        self.app_id = settings.keys("asr").app_id
        words = [*settings.hotwords, *hints.phrases]
        words += tool_words(hints.tools) if settings.tool_words else ()
        self.hotwords = list(dict.fromkeys(words))[:MAX_HOTWORDS]
        self._provider = provider
        self._parts: dict[int, str] = {}
        """Words by the number of the result."""
        self._complete = False

    def take(self, data: Frame) -> None:
        """Take a frame of the server. Raises ProviderError."""
        try:
            message = json.loads(data)
            code, words, result, last = self.read(message)
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            raise ProviderError(NAME, "the server sends no answer", reason="service") from None
        if code:
            raise of_code("asr", code, words)
        if result:
            self._took(result)
        self._complete = self._complete or last
        self.changed()

    def read(self, message: Mapping[str, Any]) -> tuple[int, str, Mapping[str, Any], bool]:
        """Return code, words about it, result, and whether it is the last one."""
        raise NotImplementedError

    def lost(self, error: ProviderError) -> None:
        """Note that the connection is lost, as it is as well behind the last result."""
        if not self._complete:
            self.failed(error)

    async def connect(self, *, fresh: bool) -> ServiceSocket:
        return await self._provider.acquire(self)

    async def introduce(self, link: ServiceSocket) -> None:
        """Has no effect: the first audio says what comes."""

    def release(self, link: ServiceSocket) -> None:
        self._provider.sockets.release(link)

    def discard(self, link: ServiceSocket) -> None:
        self._provider.sockets.discard(link)

    def result(self) -> Recognition:
        return Recognition("".join(text for _, text in sorted(self._parts.items())).strip())

    @property
    def complete(self) -> bool:
        return self._complete

    def begin(self) -> None:
        self._complete = False
        self._parts.clear()

    def check_provider(self) -> None:
        self._provider.sockets.check()

    def audio(self, pcm: bytes, number: int) -> Frame:
        return self.frame(pcm, number, MIDDLE if number else FIRST)

    def last(self, number: int) -> Sequence[Frame]:
        return (self.frame(b"", number, LAST),)

    def frame(self, pcm: bytes, number: int, status: int) -> str:
        """Return a frame of audio; the first one says what is spoken."""
        raise NotImplementedError

    def _took(self, result: Mapping[str, Any]) -> None:
        """Take a result, which may take the place of earlier ones."""
        if result.get("pgs") == "rpl":
            first, last = result["rg"]
            for number in [each for each in self._parts if first <= each <= last]:
                del self._parts[number]
        words = "".join(str(each["cw"][0]["w"]) for each in result["ws"])
        self._parts[int(result["sn"])] = words
        self.report(self.result().text)


class ModelStream(XunfeiStream):
    """The messages of the big models."""

    def frame(self, pcm: bytes, number: int, status: int) -> str:
        audio = {
            "encoding": "raw",
            "sample_rate": LISTEN_RATE,
            "channels": 1,
            "bit_depth": 16,
            "seq": number + 1,
            "status": status,
            "audio": base64.b64encode(pcm).decode(),
        }
        message: dict[str, Any] = {
            "header": {"app_id": self.app_id, "status": status},
            "payload": {"audio": audio},
        }
        if status == FIRST:
            iat: dict[str, Any] = {
                **self.settings.spoken,
                "eos": 60_000,  # Vixio finds the end
                "dwa": "wpgs",
                "result": {"encoding": "utf8", "compress": "raw", "format": "json"},
            }
            if self.hotwords:
                iat["dhw"] = "dhw=utf-8;" + "|".join(self.hotwords)
            message["parameter"] = {"iat": iat | self.settings.options}
        return json.dumps(message, ensure_ascii=False)

    def read(self, message: Mapping[str, Any]) -> tuple[int, str, Mapping[str, Any], bool]:
        header = message["header"]
        payload = message.get("payload") or {}
        text = (payload.get("result") or {}).get("text")
        result = json.loads(base64.b64decode(text, validate=True)) if text else {}
        words = str(header.get("message", ""))
        return int(header["code"]), words, result, header.get("status") == LAST


class OldStream(XunfeiStream):
    """The messages of the older service."""

    def frame(self, pcm: bytes, number: int, status: int) -> str:
        data = {
            "status": status,
            "format": f"audio/L16;rate={LISTEN_RATE}",
            "encoding": "raw",
            "audio": base64.b64encode(pcm).decode(),
        }
        message: dict[str, Any] = {"data": data}
        if status == FIRST:
            message["common"] = {"app_id": self.app_id}
            business = {**self.settings.spoken, "vad_eos": 10_000, "dwa": "wpgs", "ptt": 1}
            message["business"] = business | self.settings.options
        return json.dumps(message, ensure_ascii=False)

    def read(self, message: Mapping[str, Any]) -> tuple[int, str, Mapping[str, Any], bool]:
        data = message.get("data") or {}
        words = str(message.get("message", ""))
        return int(message["code"]), words, data.get("result") or {}, data.get("status") == LAST


FACTORY = ProviderFactory(
    settings_model=XunfeiASRSettings,
    create=XunfeiASRProvider,
    servers="url",
    languages=lambda settings: ("zh", "en") if settings.language == "zh_cn" else None,
)
