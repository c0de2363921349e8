"""Options of Edge TTS, and the selection of the voice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from vixio.core.environment_proxy import proxy_for
from vixio.core.text_forms import of_form
from vixio.providers.spoken_text import spoken_language

NAME: Final = "edge"

SERVICE: Final = "https://speech.platform.bing.com"
"""Where the package finds the service."""

_voice = of_form(
    r"[a-z]{2,3}-[A-Z]{2,}-[A-Za-z0-9-]+Neural",
    "the whole name of a voice, such as zh-CN-XiaoxiaoNeural or en-US-EmmaMultilingualNeural",
)
_percent = of_form(r"[+-]\d{1,3}%", "a change in percent with its sign, such as +20% or -10%")
_hertz = of_form(r"[+-]\d{1,3}Hz", "a change in hertz with its sign, such as +5Hz or -20Hz")

VoiceName = Annotated[str, AfterValidator(_voice)]
Percent = Annotated[str, AfterValidator(_percent)]
Hertz = Annotated[str, AfterValidator(_hertz)]

VOICES: Final[Mapping[str, str]] = {
    "de": "de-DE-KatjaNeural",
    "en": "en-US-EmmaMultilingualNeural",
    "en-gb": "en-GB-SoniaNeural",
    "es": "es-ES-ElviraNeural",
    "fr": "fr-FR-DeniseNeural",
    "it": "it-IT-ElsaNeural",
    "ja": "ja-JP-NanamiNeural",
    "ko": "ko-KR-SunHiNeural",
    "pt": "pt-BR-FranciscaNeural",
    "ru": "ru-RU-SvetlanaNeural",
    "yue": "zh-HK-HiuMaanNeural",
    "zh": "zh-CN-XiaoxiaoNeural",
    "zh-hk": "zh-HK-HiuMaanNeural",
    "zh-tw": "zh-TW-HsiaoChenNeural",
}
"""Default voice by language. ``vixio voices --provider edge`` lists about 400."""


class EdgeTTSSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``edge``. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    voice: VoiceName | None = None
    """Default: by the language; ``zh-CN-XiaoxiaoNeural`` for an unknown one."""
    voices: dict[str, VoiceName] = Field(default_factory=dict)
    """Voice by language (BCP 47, lower case); these take precedence over ``voice``."""
    rate: Percent = "+0%"
    pitch: Hertz = "+0Hz"
    volume: Percent = "+0%"
    proxy: str | None = None
    """``http://…``. Default: HTTPS_PROXY of the environment."""

    @property
    def used_proxy(self) -> str | None:
        """``proxy``, or that of the environment. edge-tts alone would use the latter only for the
        list of voices: it takes WSS_PROXY for the speech."""
        found = proxy_for(SERVICE)
        return self.proxy or (found.url if found is not None else None)

    connect_timeout: int = Field(default=5, ge=1)
    timeout: float = Field(default=10.0, gt=0)
    """For the first audio, and then for each next piece."""


def voice_for(settings: EdgeTTSSettings, text: str, language: str) -> str:
    """Return the voice for ``text``. ``language``: BCP 47, empty if unknown.

    ``voices`` takes precedence, then ``voice``. A voice that cannot read the text's Chinese or
    Japanese script is not used, because the service returns no audio for it.
    """
    wanted = spoken_language(text, language)
    if found := _of(settings.voices, wanted):
        return found
    script = spoken_language(text, "")
    if settings.voice is not None and (not script or _reads(settings.voice, script)):
        return settings.voice
    return _of(VOICES, wanted) or settings.voice or VOICES["zh"]


def spoken_by(settings: EdgeTTSSettings) -> Collection[str] | None:
    """Return the languages that have a voice by :func:`voice_for`; None if ``voice`` has many."""
    if settings.voice is None:
        return {*settings.voices, *VOICES}
    if "Multilingual" in settings.voice:
        return None
    return {*settings.voices, settings.voice.partition("-")[0], "zh", "ja"}  # by their script


def _of(voices: Mapping[str, str], language: str) -> str | None:
    """Return the voice of a language tag, or of its longest prefix that has one."""
    tag = language.lower().replace("_", "-")
    while tag:
        if tag in voices:
            return voices[tag]
        tag = tag.rpartition("-")[0]
    return None


def _reads(voice: str, script: str) -> bool:
    spoken = voice.partition("-")[0]
    return spoken == script or "Multilingual" in voice or (script == "zh" and spoken == "ja")
