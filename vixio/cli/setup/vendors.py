"""Vendors that have accounts of their own: ears, voices and agents that are offered in Chinese.

What they need is asked for in their own terms, and stands in ``.env`` under the names that their
documents have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vixio.cli.setup.choices import COMMANDS, EARS, SERVICE, VOICES, Choice
from vixio.core.language_tags import covers
from vixio.providers.coze.agent import TOKENS
from vixio.providers.dashscope.settings import CONSOLE as BAILIAN
from vixio.providers.minimax.tts import CONSOLE as MINIMAX
from vixio.providers.volcengine.settings import CONSOLE as VOLCENGINE
from vixio.providers.xunfei.settings import CONSOLE as XUNFEI


@dataclass(frozen=True, slots=True)
class Asked:
    """An option of the section. ``what``: as the vendor calls it. ``variable``: of ``.env``; empty:
    it stands in the settings. ``hidden``: not shown while it is typed."""

    option: str
    what: str
    variable: str = ""
    hidden: bool = True
    default: str = ""


@dataclass(frozen=True, slots=True)
class Vendor:
    """``page``: of its console, that shows what is asked for. ``ways``: to show an account; who has
    nothing for the first one is asked for the next."""

    page: str
    ways: tuple[tuple[Asked, ...], ...]

    @property
    def secrets(self) -> list[Asked]:
        """What is not shown, of all ways."""
        return [each for each in sum(self.ways, ()) if each.hidden]


VENDORS: Final[Mapping[str, Vendor]] = {
    "volcengine": Vendor(
        VOLCENGINE,
        (
            (Asked("api_key", "API Key", "VOLCENGINE_API_KEY"),),
            (
                Asked("appid", "APP ID", "VOLCENGINE_APP_ID", hidden=False),
                Asked("access_token", "Access Token", "VOLCENGINE_ACCESS_TOKEN"),
            ),
        ),
    ),
    "dashscope": Vendor(BAILIAN, ((Asked("api_key", "API Key", "DASHSCOPE_API_KEY"),),)),
    "xunfei": Vendor(
        XUNFEI,
        (
            (
                Asked("app_id", "APPID", "XFYUN_APP_ID", hidden=False),
                Asked("api_secret", "APISecret", "XFYUN_API_SECRET"),
                Asked("api_key", "APIKey", "XFYUN_API_KEY"),
            ),
        ),
    ),
    "minimax": Vendor(MINIMAX, ((Asked("api_key", "API Key", "MINIMAX_API_KEY"),),)),
    "funasr-server": Vendor(
        "", ((Asked("url", "URL", hidden=False, default="wss://127.0.0.1:10095"),),)
    ),
    "dify": Vendor(
        "https://cloud.dify.ai/apps",
        (
            (
                Asked("base_url", "Base URL", hidden=False, default="https://api.dify.ai/v1"),
                Asked("api_key", "API Key (app-…)", "DIFY_API_KEY"),
            ),
        ),
    ),
    "coze": Vendor(
        TOKENS,
        (
            (
                Asked("bot_id", "Bot ID", hidden=False),
                Asked("api_key", "Personal Access Token", "COZE_API_TOKEN"),
            ),
        ),
    ),
}

_EARS: Final = tuple(
    Choice(name=name, kind="asr", section={"name": name}, account=True)
    for name in ("funasr-server", "volcengine", "dashscope", "xunfei")
)
_VOICES: Final = tuple(
    Choice(name=name, kind="tts", section={"name": name}, account=True)
    for name in ("volcengine", "dashscope", "xunfei", "minimax")
)
AGENTS: Final = tuple(
    Choice(name=name, kind="agent", section={"name": name}, account=True)
    for name in ("dify", "coze")
)

EVERY_EAR: Final = (*EARS, *_EARS)
EVERY_VOICE: Final = (*VOICES, *_VOICES)


def offered(choices: Sequence[Choice], language: str) -> list[Choice]:
    """Return those that are proposed for a language, those of vendors in Chinese alone."""
    shown = [
        each for each in choices if each.name not in VENDORS or covers(("zh", "yue"), language)
    ]
    return sorted(shown, key=lambda each: each.name in (SERVICE, COMMANDS, "espeak"))
