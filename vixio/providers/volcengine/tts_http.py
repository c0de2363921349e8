"""TTS by Volcengine over HTTP: one request a sentence, the answer a stream of JSON objects."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.service_client import Server, ServiceClient
from vixio.providers.spoken_text import clean, split
from vixio.providers.tts import TTSProvider
from vixio.providers.volcengine.errors import OK, of_code, refused
from vixio.providers.volcengine.settings import NAME, VolcengineTTSSettings

LONGEST: Final = 1_000
"""Characters of a request."""

MAX_OBJECT: Final = 4 * 2**20
"""Characters of one object of the answer."""


class _Client(ServiceClient):
    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        return refused(self.service, status, body, headers)


class VolcengineHttpVoice(TTSProvider):
    """Voices of the one-way interface."""

    name = NAME

    def __init__(self, settings: VolcengineTTSSettings) -> None:
        self._settings = settings
        self.sample_rate = settings.sample_rate
        self._client = _Client(
            NAME,
            "tts",
            self._server,
            timeout=settings.timeout,
            connect_timeout=settings.connect_timeout,
            retries=1,
        )

    async def start(self) -> None:
        """Prepare the client. Raises ProviderUnavailable without a key."""
        await self._client.start()

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM as it arrives. Raises ProviderError. Closing the iterator ends the request."""
        self._client.check()
        for piece in split(clean(text), lambda _: LONGEST):
            async with closing(self._speak(piece)) as speech:
                async for pcm in speech:
                    self._client.check()
                    yield pcm

    async def close(self) -> None:
        """End the speech in progress and close the connections. Idempotent."""
        await self._client.close()

    def _server(self) -> Server:
        settings = self._settings
        headers = settings.headers("tts", settings.resource, app_header="X-Api-App-Id")
        return Server(settings.http_url, headers)

    async def _speak(self, text: str) -> AsyncIterator[bytes]:
        client, settings = self._client, self._settings
        body: dict[str, Any] = {
            "user": {"uid": f"vixio-{uuid.uuid4().hex[:8]}"},
            "req_params": {
                "text": text,
                "speaker": settings.speaker,
                "audio_params": {
                    "format": "pcm",
                    "sample_rate": settings.sample_rate,
                    "speech_rate": settings.speech_rate,
                    "loudness_rate": settings.loudness_rate,
                },
                "additions": '{"disable_markdown_filter":true}',
            },
        }
        asked = client.retried(lambda: client.post_json("", body))
        answer = await client.bounded(asked, "speech", settings.timeout)
        try:
            odd = b""
            async with closing(self._objects(answer)) as objects:
                async for each in objects:
                    code = each.get("code")
                    if code == OK:
                        return
                    if code != 0:
                        number = code if isinstance(code, int) else 0
                        raise of_code("tts", number, str(each.get("message", "")))
                    pcm = odd + _sound(each.get("data"))
                    whole = len(pcm) - len(pcm) % BYTES_PER_SAMPLE
                    pcm, odd = pcm[:whole], pcm[whole:]
                    if pcm:
                        yield pcm
            raise ProviderError(NAME, "the speech has no end", reason="service")
        finally:
            answer.close()

    async def _objects(self, answer: ServerAnswer) -> AsyncIterator[dict[str, Any]]:
        """Yield the objects of the answer, wherever its lines end."""
        client, text = self._client, ""
        decoder = json.JSONDecoder()
        async with closing(answer.pieces()) as pieces:
            while True:
                piece = await client.bounded(
                    client.run(_next(pieces)), "speech", self._settings.timeout
                )
                if piece is None:
                    return
                text += piece.decode("utf-8", "replace")
                while text := text.lstrip():
                    try:
                        found, end = decoder.raw_decode(text)
                    except ValueError:
                        break  # not whole yet
                    text = text[end:]
                    if not isinstance(found, dict):
                        raise _strange("JSON that is no object")
                    yield found
                if len(text) > MAX_OBJECT or (text and text[0] != "{"):
                    raise _strange("an answer that is no JSON")


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


def _sound(data: object) -> bytes:
    try:
        return base64.b64decode(data or "", validate=True) if isinstance(data, str | None) else b""
    except (binascii.Error, ValueError):
        raise _strange("sound that is no base64") from None


def _strange(what: str) -> ProviderError:
    return ProviderError(NAME, f"the server sends {what}: see tts.http_url", reason="service")
