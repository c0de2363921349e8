"""Options of the providers of Volcengine, and the headers of their requests."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderUnavailable
from vixio.core.text_forms import of_form
from vixio.providers.service_client import checked_key

NAME: Final = "volcengine"
CONSOLE: Final = "https://console.volcengine.com/speech/app"
"""Where keys and resources are."""

_url = of_form(r"wss?://[^\s/?#]+.*", "an address such as wss://openspeech.bytedance.com/api/v3/…")
_http_url = of_form(
    r"https?://[^\s/?#]+.*", "an address such as https://openspeech.bytedance.com/api/v3/…"
)


class VolcengineConnection(BaseModel):
    """Options of both. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: SecretStr | None = Field(
        default=None, description="Of the new console. Default: VOLCENGINE_API_KEY"
    )
    appid: str = Field(default="", description="Of the old console. Default: VOLCENGINE_APP_ID")
    access_token: SecretStr | None = Field(
        default=None, description="Of the old console. Default: VOLCENGINE_ACCESS_TOKEN"
    )
    connect_timeout: float = Field(default=5.0, gt=0)

    def headers(self, section: str, resource: str, *, app_header: str) -> dict[str, str]:
        """Return the headers that say who asks for what; a new id each time.

        ``app_header``: the name of that with the ``appid``, which is not the same everywhere.
        Raises ProviderUnavailable without a key.
        """
        key = _value(self.api_key, "VOLCENGINE_API_KEY")
        appid = self.appid or os.environ.get("VOLCENGINE_APP_ID", "")
        token = _value(self.access_token, "VOLCENGINE_ACCESS_TOKEN")
        common = {"X-Api-Resource-Id": resource, "X-Api-Connect-Id": str(uuid.uuid4())}
        if key:
            return {"X-Api-Key": checked_key(NAME, section, "api_key", key), **common}
        if appid and token:
            token = checked_key(NAME, section, "access_token", token)
            return {app_header: appid, "X-Api-Access-Key": token, **common}
        raise ProviderUnavailable(
            NAME,
            f"no key: set {section}.api_key (or appid and access_token), which {CONSOLE} shows",
            reason="no_key",
        )


class VolcengineASRSettings(VolcengineConnection):
    """Options of the section ``asr`` when its name is ``volcengine``. Times are in seconds."""

    endpoint: Literal["bigmodel_async", "bigmodel", "bigmodel_nostream"] = "bigmodel_async"
    """``bigmodel_async`` reports words when they change, ``bigmodel`` with each packet;
    ``bigmodel_nostream`` at the end, the most exact, and the only one that reads ``language``."""
    url: Annotated[str, AfterValidator(_url)] = "wss://openspeech.bytedance.com/api/v3/sauc"
    """Without the endpoint."""
    resource_id: str = "volc.bigasr.sauc.duration"
    """What the account has: ``volc.bigasr.sauc.duration`` or ``….concurrent`` for model 1.0,
    ``volc.seedasr.sauc.…`` for 2.0."""
    model_name: str = "bigmodel"
    language: str = ""
    """As ``zh-CN``, ``en-US``; empty: Chinese and English."""
    itn: bool = Field(default=True, description="Numbers in digits")
    punctuation: bool = True
    disfluency_removal: bool = Field(default=False, description="Without hesitation (enable_ddc)")
    end_window_ms: int = Field(default=800, ge=200, le=10_000)
    """Silence that ends one of the vendor's sentences (end_window_size)."""
    hotwords: list[str] = Field(default_factory=list)
    tool_words: bool = Field(default=True, description="The words of the session's tools as well")
    timeout: float = Field(default=10.0, gt=0)
    """From the end of speech to the transcript, and for sending a piece of audio."""


class VolcengineTTSSettings(VolcengineConnection):
    """Options of the section ``tts`` when its name is ``volcengine``. Times are in seconds."""

    way: Literal["bidirectional", "http"] = "bidirectional"
    """``bidirectional``: one session for a reply, with its melody; ``http``: one request for each
    sentence."""
    url: Annotated[str, AfterValidator(_url)] = (
        "wss://openspeech.bytedance.com/api/v3/tts/bidirection"
    )
    http_url: Annotated[str, AfterValidator(_http_url)] = (
        "https://openspeech.bytedance.com/api/v3/tts/unidirectional"
    )
    speaker: str = "zh_female_vv_uranus_bigtts"
    """A voice of the vendor, or the id of a cloned one (``S_…``)."""
    resource_id: str = ""
    """Must fit the speaker; empty: by its name (``seed-tts-1.0`` for ``…_moon_bigtts`` and the
    like, ``seed-tts-2.0`` for ``…_uranus_bigtts``, ``seed-icl-2.0`` for clones)."""
    sample_rate: Literal[8_000, 16_000, 24_000, 32_000, 44_100, 48_000] = 24_000
    speech_rate: int = Field(default=0, ge=-50, le=100, description="Per cent faster or slower")
    loudness_rate: int = Field(default=0, ge=-50, le=100)
    emotions: bool = False
    """Send the sentence's emotion; only some voices have them."""
    concurrency: int = Field(default=2, ge=1, le=1_000)
    """Connections that the account may have; 2 in the free tier."""
    kept: int = Field(default=1, ge=0, le=64)
    """Of them, how many stay open for the next reply."""
    keep: float = Field(default=30.0, gt=0, description="How long")
    timeout: float = Field(default=9.0, gt=0)
    """For the first audio of a sentence, and then for each next piece."""

    @property
    def resource(self) -> str:
        """The resource that is asked for."""
        if self.resource_id:
            return self.resource_id
        if self.speaker.startswith(("S_", "ICL_")):
            return "seed-icl-2.0"
        return "seed-tts-2.0" if "_uranus_" in self.speaker else "seed-tts-1.0"


def _value(secret: SecretStr | None, variable: str) -> str:
    given = secret.get_secret_value() if secret is not None else ""
    return given or os.environ.get(variable, "")


Headers = Mapping[str, str]
