"""Options of the providers of Xunfei."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderUnavailable
from vixio.core.text_forms import of_form

NAME: Final = "xunfei"
CONSOLE: Final = "https://console.xfyun.cn/services"
"""Where keys and services are."""

_url = of_form(r"(wss?://[^\s?#]+)?", "an address such as wss://iat.xf-yun.com/v1")
Address = Annotated[str, AfterValidator(_url)]

_URLS: Final = {
    "slm": "wss://iat.xf-yun.com/v1",
    "dialects": "wss://iat.cn-huabei-1.xf-yun.com/v1",
    "iat": "wss://iat-api.xfyun.cn/v2/iat",
}
_DOMAINS: Final = {"slm": "slm", "dialects": "slm", "iat": "iat"}
_ACCENTS: Final = {"slm": "mandarin", "dialects": "mulacc", "iat": "mandarin"}


@dataclass(frozen=True, slots=True)
class Keys:
    """What the console shows for an application."""

    app_id: str
    api_key: str
    api_secret: str


class XunfeiConnection(BaseModel):
    """Options of both. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    app_id: str = Field(default="", description="Default: XFYUN_APP_ID")
    api_key: SecretStr | None = Field(default=None, description="Default: XFYUN_API_KEY")
    api_secret: SecretStr | None = Field(default=None, description="Default: XFYUN_API_SECRET")
    connect_timeout: float = Field(default=5.0, gt=0)
    concurrency: int = Field(default=50, ge=1, le=1_000)
    """Connections that the account may have."""

    def keys(self, section: str) -> Keys:
        """Return what is set. Raises ProviderUnavailable for what is not."""
        found = {
            "app_id": self.app_id or os.environ.get("XFYUN_APP_ID", ""),
            "api_key": _value(self.api_key, "XFYUN_API_KEY"),
            "api_secret": _value(self.api_secret, "XFYUN_API_SECRET"),
        }
        missing = [f"{section}.{name}" for name, value in found.items() if not value]
        if missing:
            text = f"no key: set {', '.join(missing)}, which {CONSOLE} shows"
            raise ProviderUnavailable(NAME, text, reason="no_key")
        return Keys(**found)


class XunfeiASRSettings(XunfeiConnection):
    """Options of the section ``asr`` when its name is ``xunfei``. Times are in seconds.

    The products are licensed separately: the wrong one refuses the key.
    """

    product: Literal["slm", "dialects", "iat"] = "slm"
    """``slm``: the big model for Chinese and English; ``dialects``: that for 202 dialects of
    Chinese; ``iat``: the older service, which has other messages."""
    url: Address = ""
    """Empty: that of the product."""
    domain: str = Field(default="", description="Empty: that of the product")
    language: str = "zh_cn"
    accent: str = Field(default="", description="Empty: that of the product")
    hotwords: list[str] = Field(default_factory=list)
    tool_words: bool = Field(default=True, description="The words of the session's tools as well")
    options: dict[str, str | int] = Field(default_factory=dict)
    """Further parameters of the recogniser, in the vendor's terms."""
    timeout: float = Field(default=10.0, gt=0)
    """From the end of speech to the transcript, and for sending a piece of audio."""

    @property
    def address(self) -> str:
        """Where the product is."""
        return self.url or _URLS[self.product]

    @property
    def spoken(self) -> dict[str, str]:
        """The parameters that say what is spoken."""
        return {
            "domain": self.domain or _DOMAINS[self.product],
            "language": self.language,
            "accent": self.accent or _ACCENTS[self.product],
        }


class XunfeiTTSSettings(XunfeiConnection):
    """Options of the section ``tts`` when its name is ``xunfei``. Times are in seconds."""

    url: Address = "wss://cbm01.cn-huabei-1.xf-yun.com/v1/private/mcd9m97e6"
    vcn: str = Field(default="x5_lingxiaoxuan_flow", description="The voice")
    oral_level: Literal["high", "mid", "low"] = "mid"
    """How colloquial it speaks."""
    sample_rate: Literal[8_000, 16_000, 24_000] = 24_000
    speed: int = Field(default=50, ge=0, le=100)
    volume: int = Field(default=50, ge=0, le=100)
    pitch: int = Field(default=50, ge=0, le=100)
    timeout: float = Field(default=9.0, gt=0)
    """For the first audio of a sentence, and then for each next piece."""


def _value(secret: SecretStr | None, variable: str) -> str:
    given = secret.get_secret_value() if secret is not None else ""
    return given or os.environ.get(variable, "")
