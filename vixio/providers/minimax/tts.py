"""TTS by MiniMax: ``POST /v1/t2a_v2``, answered by server-sent events with sound in hexadecimal."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.core.streams import closing
from vixio.core.text_forms import of_form
from vixio.providers.registry import ProviderFactory
from vixio.providers.requested_speech import RequestedSpeech
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.service_client import Server, ServiceClient, checked_key
from vixio.providers.service_errors import of_body, one_line

NAME: Final = "minimax"
CONSOLE: Final = "https://platform.minimaxi.com/user-center/basic-information/interface-key"
BALANCE: Final = "https://platform.minimaxi.com/user-center/payment/balance"
VOICES: Final = "https://platform.minimaxi.com/document/system-voice-id"

LONGEST: Final = 200
"""Characters of a request. The vendor takes 10,000, but its last event may repeat all sound."""

_MOODS: Final = {
    "happy": "happy",
    "laughing": "happy",
    "funny": "happy",
    "sad": "sad",
    "crying": "sad",
    "angry": "angry",
    "surprised": "surprised",
    "shocked": "surprised",
    "relaxed": "calm",
}
"""The vendor's emotions by ours; with others the voice chooses."""

_url = of_form(r"https?://[^\s/?#]+[^\s?#]*", "an address such as https://api.minimaxi.com/v1")


class MiniMaxTTSSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``minimax``. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: SecretStr | None = Field(default=None, description="Default: MINIMAX_API_KEY")
    group_id: str = Field(default="", description="Default: MINIMAX_GROUP_ID, if it is set")
    base_url: Annotated[str, AfterValidator(_url)] = "https://api.minimaxi.com/v1"
    """``https://api.minimax.io/v1`` for accounts outside China: a key belongs to one of them."""
    model: str = "speech-02-turbo"
    voice_id: str = "female-shaonv"
    """A voice of the vendor, or the id of a cloned one."""
    sample_rate: Literal[8_000, 16_000, 22_050, 24_000, 32_000, 44_100] = 24_000
    speed: float = Field(default=1.0, ge=0.5, le=2.0)
    volume: float = Field(default=1.0, gt=0, le=10.0)
    pitch: int = Field(default=0, ge=-12, le=12)
    language_boost: str = Field(default="", description="As Chinese, Chinese,Yue, English, auto")
    emotions: bool = Field(default=True, description="Send a sentence's emotion")
    connect_timeout: float = Field(default=5.0, gt=0)
    timeout: float = Field(default=9.0, gt=0)
    """For the first audio of a sentence, and then for each next piece."""


class _Client(ServiceClient):
    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        if status in (401, 403):
            text = f"{self.service} refuses tts.api_key ({status}); {_KEYS}"
            return ProviderUnavailable(NAME, text + self.service.proxy_hint, reason="no_key")
        return of_body(self.service, status, body, headers)


class MiniMaxTTSProvider(RequestedSpeech):
    """Voices of MiniMax."""

    def __init__(self, settings: MiniMaxTTSSettings | None = None) -> None:
        self._settings = settings = settings or MiniMaxTTSSettings()
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

    async def request(self, text: str, language: str, emotion: str) -> ServerAnswer:
        settings = self._settings
        voice: dict[str, Any] = {
            "voice_id": settings.voice_id,
            "speed": settings.speed,
            "vol": settings.volume,
            "pitch": settings.pitch,
        }
        if emotion in _MOODS:
            voice["emotion"] = _MOODS[emotion]
        body: dict[str, Any] = {
            "model": settings.model,
            "text": text,
            "stream": True,
            "stream_options": {"exclude_aggregated_audio": True},
            "voice_setting": voice,
            "audio_setting": {
                "sample_rate": settings.sample_rate,
                "format": "pcm",
                "channel": 1,
            },
        }
        if settings.language_boost:
            body["language_boost"] = settings.language_boost
        return await self.client.post_json("t2a_v2", body)

    async def sound(self, answer: ServerAnswer) -> AsyncIterator[bytes]:
        if "event-stream" not in answer.content_type:
            # An error comes with the status 200, as JSON.
            raise _refused(await answer.read())
        async with closing(answer.events()) as events:
            async for event in events:
                if (error := _error(event)) is not None:
                    raise error
                data = event.get("data")
                if not isinstance(data, dict):
                    continue
                if data.get("status") == 2:
                    return  # repeats the sound of all before
                try:
                    yield bytes.fromhex(str(data.get("audio") or ""))
                except ValueError:
                    text = "the server sends sound that is no hexadecimal"
                    raise ProviderError(NAME, text, reason="service") from None
        raise ProviderError(NAME, "the speech has no end", reason="service")

    def _server(self) -> Server:
        settings = self._settings
        given = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        key = given or os.environ.get("MINIMAX_API_KEY", "")
        if not key:
            text = f"no key: set tts.api_key or MINIMAX_API_KEY; {_KEYS}"
            raise ProviderUnavailable(NAME, text, reason="no_key")
        group = settings.group_id or os.environ.get("MINIMAX_GROUP_ID", "")
        url = f"{settings.base_url}?GroupId={group}" if group else settings.base_url
        return Server(url, {"Authorization": f"Bearer {checked_key(NAME, 'tts', 'api_key', key)}"})


_KEYS: Final = f"keys are made at {CONSOLE}, those of other countries need another tts.base_url"


def _refused(body: bytes) -> ProviderError:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    error = _error(found) if isinstance(found, dict) else None
    return error or ProviderError(NAME, "the server's answer is no stream", reason="service")


def _error(answer: Mapping[str, Any]) -> ProviderError | None:
    """Return what a part of an answer says that went wrong, None for nothing."""
    base = answer.get("base_resp")
    if not isinstance(base, dict) or not (code := base.get("status_code")):
        return None
    said = f"{one_line(str(base.get('status_msg') or 'no reason given'))} ({code})"
    match code:
        case 1004 | 2049:
            text = f"the service refuses tts.api_key or tts.group_id: {said}; {_KEYS}"
            return ProviderUnavailable(NAME, text, reason="no_key")
        case 1008 | 2056:
            text = f"the account has no balance or quota left: {said}; see {BALANCE}"
            return ProviderUnavailable(NAME, text, reason="quota")
        case 2042 | 2053 | 2054:
            text = f"there is no voice tts.voice_id, or it is not the account's: {said}; {VOICES}"
            return ProviderUnavailable(NAME, text, reason="no_model")
        case 2061:
            text = f"the account's plan does not have tts.model: {said}; see {BALANCE}"
            return ProviderUnavailable(NAME, text, reason="no_model")
        case 1002 | 1039 | 1041:
            return ProviderError(NAME, f"the service is busy: {said}", reason="busy")
        case 2013 | 1042:
            text = f"the service refuses the request: {said}; see tts.model and its options"
            return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    return ProviderError(NAME, f"the service reports: {said}", reason="service")


FACTORY = ProviderFactory(
    settings_model=MiniMaxTTSSettings, create=MiniMaxTTSProvider, servers="base_url"
)
