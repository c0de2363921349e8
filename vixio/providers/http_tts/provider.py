"""TTS by a server of one's own: GPT-SoVITS, IndexTTS, CosyVoice, fish-speech, and others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from vixio.core.errors import ProviderError
from vixio.core.streams import closing
from vixio.core.text_forms import of_form
from vixio.providers.audio_stream import AudioFormatName, AudioStreamDecoder, decoded, load
from vixio.providers.http_tts.presets import PRESETS, Preset
from vixio.providers.registry import ProviderFactory
from vixio.providers.requested_speech import RequestedSpeech
from vixio.providers.service_answer import ServerAnswer
from vixio.providers.service_client import Server, ServiceClient, checked_key
from vixio.providers.service_errors import of_body, one_line
from vixio.providers.spoken_text import spoken_language

NAME: Final = "http"

_url = of_form(r"(https?://[^\s/?#]+\S*)?", "an address such as http://192.168.1.20:9880/tts")


class HttpTTSSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``http``. Times are in seconds.

    In ``body``, ``{text}``, ``{voice}``, ``{language}`` (as ``zh``) and ``{emotion}`` are replaced;
    what is one of them alone and has no value is left out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Literal["", "gpt-sovits", "index-tts", "cosyvoice", "fish-speech"] = ""
    """A server whose request is known; the options below change it."""
    url: Annotated[str, AfterValidator(_url)] = Field(
        default="", description="Empty: that of the preset, on this machine"
    )
    body: dict[str, Any] = Field(default_factory=dict)
    """What is sent, as a template; fields of the preset that are null here are left out."""
    form: bool | None = Field(default=None, description="Send a form instead of JSON")
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    api_key: SecretStr | None = Field(default=None, description="Sent as Authorization: Bearer")
    voice: str = ""
    language: str = Field(default="zh", description="Of texts whose language is not known")
    response_format: Literal["", "pcm", "wav", "mp3", "opus"] = ""
    """Empty: that of the preset, or WAV. MP3 needs the extra ``mp3``. All but raw PCM are
    recognised."""
    sample_rate: int | None = Field(default=None, ge=8_000, le=48_000)
    """Hz of raw PCM, and of this provider's output. Empty: that of the preset, or 24000."""
    max_chars: int = Field(default=300, ge=20, description="Longer texts are several requests")
    connect_timeout: float = Field(default=5.0, gt=0)
    timeout: float = Field(default=20.0, gt=0)
    """For the first audio of a sentence, and then for each next piece."""

    @model_validator(mode="after")
    def _is_a_request(self) -> HttpTTSSettings:
        if not self.preset and not (self.url and self.body):
            raise ValueError("expected a preset, or url and body")
        if "{text}" not in str(self.template):
            raise ValueError('body: expected "{text}" in one of its fields')
        for name, what in self.chosen.needs.items():
            if not _filled(self.template.get(name), {"voice": self.voice}):
                raise ValueError(f"{self.preset} needs {what} (body.{name})")
        return self

    @property
    def chosen(self) -> Preset:
        """The preset, or one that says nothing."""
        return PRESETS[self.preset] if self.preset else Preset("", {})

    @property
    def template(self) -> dict[str, Any]:
        """What is sent."""
        whole = {**self.chosen.body, **self.body}
        return {name: value for name, value in whole.items() if value is not None}


class _Client(ServiceClient):
    option = "tts.url"

    def refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        if status in (400, 404, 422):  # these servers say what they miss, each in its own way
            said = one_line(body.decode("utf-8", "replace")) or "no reason given"
            where = "tts.url" if status == 404 else "tts.body"
            text = f"{self.service} refuses the request ({status}: {said}): see {where}"
            return ProviderError(NAME, text, retryable=False, reason="request")
        return of_body(self.service, status, body, headers)


class HttpTTSProvider(RequestedSpeech):
    """The voice of a server."""

    def __init__(self, settings: HttpTTSSettings) -> None:
        self._settings, preset = settings, settings.chosen
        self._template = settings.template
        self._form = preset.form if settings.form is None else settings.form
        self._format: AudioFormatName = settings.response_format or preset.response_format
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
            settings.sample_rate or preset.sample_rate,
            client,
            longest=settings.max_chars,
            timeout=settings.timeout,
            emotions="{emotion}" in str(self._template),
        )

    async def start(self) -> None:
        """Make the client, import decoders. Raises ProviderUnavailable without an extra."""
        await asyncio.to_thread(load, NAME, self._format)
        await super().start()

    async def request(self, text: str, language: str, emotion: str) -> ServerAnswer:
        settings = self._settings
        spoken = spoken_language(text, language or settings.language).partition("-")[0]
        if (known := settings.chosen.languages) and spoken not in known:
            spoken = "auto"
        values = {
            "text": text,
            "voice": settings.voice,
            "language": spoken,
            "emotion": emotion,
        }
        body = _filled(self._template, values)
        if self._form:
            return await self.client.post_fields("", body)
        return await self.client.post_json("", body)

    async def sound(self, answer: ServerAnswer) -> AsyncIterator[bytes]:
        if "json" in answer.content_type:
            said = one_line((await answer.read()).decode("utf-8", "replace"))
            text = f"{self.client.service} sends no sound: {said}"
            raise ProviderError(NAME, text, reason="service")
        rate = self.sample_rate
        decoder = AudioStreamDecoder(NAME, rate, asked=self._format, pcm_rate=rate)
        async with closing(decoded(answer.pieces(), decoder)) as sound:
            async for pcm in sound:
                yield pcm

    def _server(self) -> Server:
        settings = self._settings
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        if settings.api_key is not None:
            key = checked_key(NAME, "tts", "api_key", settings.api_key.get_secret_value())
            headers["Authorization"] = f"Bearer {key}"
        return Server(settings.url or settings.chosen.url, headers)


def _filled(template: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    """Return a template with its values; without the fields that have none."""
    if isinstance(template, Mapping):
        made = {name: _filled(each, values) for name, each in template.items()}
        return {name: each for name, each in made.items() if each != "" or template[name] == ""}
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    if isinstance(template, str):
        for name, value in values.items():
            template = template.replace(f"{{{name}}}", value)
    return template


FACTORY = ProviderFactory(settings_model=HttpTTSSettings, create=HttpTTSProvider, servers="url")
