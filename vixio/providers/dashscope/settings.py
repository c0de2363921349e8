"""Options of the providers of DashScope (Bailian), and the headers of their connections."""

from __future__ import annotations

import os
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderUnavailable
from vixio.core.text_forms import of_form
from vixio.providers.service_client import checked_key

NAME: Final = "dashscope"
CONSOLE: Final = "https://bailian.console.aliyun.com/?tab=model#/api-key"
"""Where keys are made."""
MODELS: Final = "https://bailian.console.aliyun.com/?tab=model#/model-market"
"""Where models are activated."""

_HOST: Final = "wss://dashscope.aliyuncs.com/api-ws/v1"

_url = of_form(
    r"(wss?://[^\s/?#]+.*)?", "an address such as wss://dashscope.aliyuncs.com/api-ws/v1/inference"
)
Address = Annotated[str, AfterValidator(_url)]


class DashScopeConnection(BaseModel):
    """Options of both. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: SecretStr | None = Field(default=None, description="Default: DASHSCOPE_API_KEY")
    workspace: str = Field(default="", description="Id of a workspace, empty: the account's own")
    model: str
    url: Address = ""
    """Empty: that of the model's family in Beijing. A key of another region needs its address:
    ``wss://dashscope-intl.aliyuncs.com/api-ws/v1/inference`` (or ``…/realtime``) for Singapore."""
    connect_timeout: float = Field(default=5.0, gt=0)
    concurrency: int = Field(default=20, ge=1, le=1_000)
    """Connections that the account may have."""
    kept: int = Field(default=2, ge=0, le=64)
    """Of them, how many stay open for the next use; none with models of the realtime family."""
    keep: float = Field(default=50.0, gt=0, lt=60)
    """How long. The vendor closes a connection that was idle for 60 seconds."""

    @property
    def realtime(self) -> bool:
        """Whether the model is of the realtime family, which has another protocol."""
        return self.model.startswith("qwen")

    @property
    def address(self) -> str:
        """Where the model is."""
        if not self.realtime:
            return self.url or f"{_HOST}/inference"
        return f"{self.url or f'{_HOST}/realtime'}?model={self.model}"

    def headers(self, section: str) -> dict[str, str]:
        """Return the headers that say who asks. Raises ProviderUnavailable without a key."""
        given = self.api_key.get_secret_value() if self.api_key is not None else ""
        key = given or os.environ.get("DASHSCOPE_API_KEY", "")
        if not key:
            text = f"no key: set {section}.api_key or DASHSCOPE_API_KEY; keys are made at {CONSOLE}"
            raise ProviderUnavailable(NAME, text, reason="no_key")
        headers = {"Authorization": f"Bearer {checked_key(NAME, section, 'api_key', key)}"}
        if self.workspace:
            headers["X-DashScope-WorkSpace"] = self.workspace
        return headers


class DashScopeASRSettings(DashScopeConnection):
    """Options of the section ``asr`` when its name is ``dashscope``. Times are in seconds."""

    model: str = "fun-asr-realtime"
    """``fun-asr-realtime``, ``paraformer-realtime-v2``, or ``qwen3-asr-flash-realtime``, which
    tells the speaker's mood."""
    languages: list[str] = Field(default_factory=list)
    """As ``zh``, ``en``; empty: the vendor finds it. Models of the realtime family read one."""
    vocabulary_id: str = ""
    """A list of hot words that was made at the vendor, which reads no others; models of the
    realtime family get the words themselves."""
    hotwords: list[str] = Field(default_factory=list)
    tool_words: bool = Field(default=True, description="The words of the session's tools as well")
    semantic_punctuation: bool = False
    """Sentences by their meaning instead of by silence: more exact, later."""
    max_sentence_silence_ms: int = Field(default=800, ge=200, le=6_000)
    """Silence that ends one of the vendor's sentences."""
    disfluency_removal: bool = Field(default=False, description="Without hesitation")
    timeout: float = Field(default=10.0, gt=0)
    """From the end of speech to the transcript, and for sending a piece of audio."""


class DashScopeTTSSettings(DashScopeConnection):
    """Options of the section ``tts`` when its name is ``dashscope``. Times are in seconds."""

    model: str = "cosyvoice-v3-flash"
    """``cosyvoice-v3-flash``, ``cosyvoice-v3-plus``, ``cosyvoice-v2``, or
    ``qwen3-tts-flash-realtime``."""
    voice: str = ""
    """A voice of the model, or the id of a cloned one; empty: ``longanyang`` of CosyVoice 3,
    ``longcheng_v2`` of 2, ``Cherry`` of Qwen."""
    sample_rate: Literal[8_000, 16_000, 22_050, 24_000, 44_100, 48_000] = 24_000
    volume: int = Field(default=50, ge=0, le=100)
    rate: float = Field(default=1.0, ge=0.5, le=2.0, description="Of speech")
    pitch: float = Field(default=1.0, ge=0.5, le=2.0)
    instruction: str = ""
    """How to speak, in words, for voices that read it."""
    emotions: bool = False
    """Add a sentence's emotion to the instruction, for voices that read it (CosyVoice 3)."""
    timeout: float = Field(default=9.0, gt=0)
    """For the first audio of a sentence, and then for each next piece."""

    @property
    def speaker(self) -> str:
        """The voice that is asked for."""
        if self.voice:
            return self.voice
        if self.realtime:
            return "Cherry"
        return "longcheng_v2" if "v2" in self.model else "longanyang"
