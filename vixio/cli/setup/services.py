"""Services of language models: the table behind the question about the model.

All of them speak the Chat Completions API. Names of models change often, so they are asked for, and
the default is only a proposal. Sources: docs/models.md, docs/providers.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OTHER: Final = "url"
"""Any other server with this API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service. ``base_url`` empty: OpenAI's own. ``key``: the variable that holds its key."""

    name: str
    title: str
    base_url: str
    key: str = ""
    model: str
    """What is proposed."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the section ``agent``."""
    asr: Mapping[str, Any] | None = None
    """Of the section ``asr``, for a service that recognises speech."""
    tts: Mapping[str, Any] | None = None

    def connection(self) -> dict[str, Any]:
        """Return the options of every provider of this service."""
        url = {"base_url": self.base_url} if self.base_url else {}
        return {**url, "api_key": f"${{{self.key}}}"} if self.key else url


OLLAMA: Final = Service(
    name="ollama",
    title="Ollama",
    base_url="http://127.0.0.1:11434/v1",
    model="qwen3:8b",
    options={"reasoning_effort": "none"},
)

SERVICES: Final[tuple[Service, ...]] = (
    OLLAMA,
    Service(
        name="openai",
        title="OpenAI",
        base_url="",
        key="OPENAI_API_KEY",
        model="gpt-4.1-mini",
        asr={"model": "gpt-transcribe"},
        tts={"model": "gpt-4o-mini-tts", "voice": "alloy"},
    ),
    Service(
        name="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key="DEEPSEEK_API_KEY",
        model="deepseek-chat",
    ),
    Service(
        name="qwen",
        title="Qwen (DashScope)",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key="DASHSCOPE_API_KEY",
        model="qwen-flash",
    ),
    Service(
        name="ark",
        title="Doubao (Ark, 火山方舟)",
        base_url="https://ark.cn-beijing.volces.com/api/v3",
        key="ARK_API_KEY",
        model="doubao-seed-1-6-flash-250828",
    ),
    Service(
        name="glm",
        title="GLM (bigmodel.cn)",
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key="ZHIPUAI_API_KEY",
        model="glm-4-flash",
    ),
    Service(
        name="moonshot",
        title="Moonshot (Kimi)",
        base_url="https://api.moonshot.cn/v1",
        key="MOONSHOT_API_KEY",
        model="moonshot-v1-8k",
    ),
    Service(
        name="siliconflow",
        title="SiliconFlow",
        base_url="https://api.siliconflow.cn/v1",
        key="SILICONFLOW_API_KEY",
        model="Qwen/Qwen3-8B",
        asr={"model": "FunAudioLLM/SenseVoiceSmall"},
        tts={
            "model": "FunAudioLLM/CosyVoice2-0.5B",
            "voice": "FunAudioLLM/CosyVoice2-0.5B:anna",
            "sample_rate": 24000,
            "extra_body": {"stream": True, "sample_rate": 24000},
        },
    ),
)


def other(url: str) -> Service:
    """Return the service at ``url``, which may need a key or not."""
    return Service(name=OTHER, title=url, base_url=url, key="LLM_API_KEY", model="")


def find(name: str) -> Service | None:
    """Return the service of this name; None: there is none."""
    return next((each for each in SERVICES if each.name == name), None)
