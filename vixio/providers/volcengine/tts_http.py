"""TTS by Volcengine over HTTP: one request a sentence, the answer a stream of JSON objects."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.providers.requested_speech import RequestedSpeech
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.service_client import Server, ServiceClient
from vixio.providers.volcengine.errors import OK, of_code, refused
from vixio.providers.volcengine.settings import NAME, VolcengineTTSSettings

LONGEST: Final = 1_000
"""Characters of a request."""

MAX_OBJECT: Final = 4 * 2**20
"""Characters of one object of the answer."""


class _Client(ServiceClient):
    option = "tts.http_url"

    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        return refused(self.service, status, body, headers)


class VolcengineHttpVoice(RequestedSpeech):
    """Voices of the one-way interface."""

    def __init__(self, settings: VolcengineTTSSettings) -> None:
        self._settings = settings
        client = _Client(
            NAME,
            "tts",
            self._server,
            timeout=settings.timeout,
            connect_timeout=settings.connect_timeout,
            retries=1,
        )
        super().__init__(
            NAME,
            settings.sample_rate,
            client,
            longest=LONGEST,
            timeout=settings.timeout,
            emotions=settings.emotions,
        )

    def _server(self) -> Server:
        settings = self._settings
        headers = settings.headers("tts", settings.resource, app_header="X-Api-App-Id")
        return Server(settings.http_url, headers)

    async def request(self, text: str, language: str, emotion: str) -> ServerAnswer:
        settings = self._settings
        sound: dict[str, Any] = {
            "format": "pcm",
            "sample_rate": settings.sample_rate,
            "speech_rate": settings.speech_rate,
            "loudness_rate": settings.loudness_rate,
        }
        if emotion and emotion != "neutral":
            sound["emotion"] = emotion
        body = {
            "user": {"uid": f"vixio-{uuid.uuid4().hex[:8]}"},
            "req_params": {
                "text": text,
                "speaker": settings.speaker,
                "audio_params": sound,
                "additions": '{"disable_markdown_filter":true}',
            },
        }
        return await self.client.post_json("", body)

    async def sound(self, answer: ServerAnswer) -> AsyncIterator[bytes]:
        async with closing(_objects(answer)) as objects:
            async for each in objects:
                code = each.get("code")
                if code == OK:
                    return
                if code != 0:
                    number = code if isinstance(code, int) else 0
                    raise of_code("tts", number, str(each.get("message", "")))
                yield _sound(each.get("data"))
        raise ProviderError(NAME, "the speech has no end", reason="service")


async def _objects(answer: ServerAnswer) -> AsyncIterator[dict[str, Any]]:
    """Yield the objects of an answer, wherever its lines end."""
    text, decoder = "", json.JSONDecoder()
    async with closing(answer.pieces()) as pieces:
        async for piece in pieces:
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


def _sound(data: object) -> bytes:
    try:
        return base64.b64decode(data or "", validate=True) if isinstance(data, str | None) else b""
    except (binascii.Error, ValueError):
        raise _strange("sound that is no base64") from None


def _strange(what: str) -> ProviderError:
    return ProviderError(NAME, f"the server sends {what}: see tts.http_url", reason="service")
