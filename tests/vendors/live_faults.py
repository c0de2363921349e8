"""What can be wrong with an account, and what ``vixio check --live`` says of each.

The page docs/zh/faults.md explains each of them: what a fault ``says`` stands in that page as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from vixio_bench.vendors.base import VendorService, upgrade, within
from vixio_bench.vendors.coze import service as coze
from vixio_bench.vendors.dashscope import service as dashscope
from vixio_bench.vendors.dify import service as dify
from vixio_bench.vendors.knowledge import service as knowledge
from vixio_bench.vendors.minimax import service as minimax
from vixio_bench.vendors.own_voices import service as own_voices
from vixio_bench.vendors.volcengine import service as volcengine
from vixio_bench.vendors.xunfei import service as xunfei

WRONG: Final = "wrong-key-of-a-person-0123456789"
"""A key that no message may quote."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. ``part``: of the settings; ``given``: its options beside those of the stand-in."""

    vendor: str
    part: str
    name: str
    given: Mapping[str, Any]
    says: str
    """What is wrong: the words of the line that docs/zh/faults.md explains."""
    page: str
    """Where it is mended: a page of the vendor's, or the option where there is none."""
    troubles: Sequence[str] = ()
    code: Any = None
    """By which every question is refused (agents)."""
    clock: timedelta = timedelta()
    """By how much the vendor's clock is ahead of ours."""
    down: bool = False

    def service(self) -> VendorService:
        """Return the stand-in, which has the fault as soon as it listens."""
        if self.vendor == "xunfei":
            return xunfei.XunfeiService(clock=lambda: datetime.now(UTC) + self.clock)
        service = _SERVICES[self.vendor]()
        if self.code is not None:
            service.code = self.code  # type: ignore[attr-defined]  # of agents
        if isinstance(service, knowledge.KnowledgeService):
            service.documents = [knowledge.Document("house", "a.md", "vixio")]
        return service

    def settings(self, service: Any) -> dict[str, Any]:  # noqa: ANN401 - any stand-in
        """Return the part of the settings."""
        return {**_OPTIONS[self.vendor](service, self.part, self.given), **self.given}


_SERVICES: Final[Mapping[str, Callable[[], VendorService]]] = {
    "volcengine": volcengine.VolcengineService,
    "dashscope": dashscope.DashScopeService,
    "minimax": minimax.MiniMaxService,
    "http": own_voices.OwnVoices,
    "dify": dify.DifyService,
    "coze": coze.CozeService,
    "ragflow": knowledge.KnowledgeService,
    "dify-knowledge": knowledge.KnowledgeService,
}


def _volcengine(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    urls = {"url": service.asr_url if part == "asr" else service.tts_url}
    if given.get("way") == "http":
        urls["http_url"] = service.http_url
    return {"name": "volcengine", "api_key": volcengine.KEY, **urls}


def _dashscope(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    realtime = str(given.get("model", "")).startswith("qwen")
    url = service.sessions_url if realtime else service.tasks_url
    return {"name": "dashscope", "api_key": dashscope.KEY, "url": url}


def _xunfei(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    keys = {"app_id": xunfei.APP_ID, "api_key": xunfei.KEY, "api_secret": xunfei.SECRET}
    url = service.voice_url if part == "tts" else service.model_url
    url = service.old_url if given.get("product") == "iat" else url
    return {"name": "xunfei", **keys, "url": url}


def _minimax(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {"name": "minimax", "api_key": minimax.KEY, "base_url": service.base_url}


def _http(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {"name": "http", "url": service.url(given["preset"])}


def _dify(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {"name": "dify", "api_key": dify.KEY, "base_url": service.base_url}


def _coze(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {
        "name": "coze",
        "api_key": coze.KEY,
        "base_url": service.base_url,
        "bot_id": coze.BOT,
    }


def _knowledge(kind: str) -> Callable[[Any, str, Mapping[str, Any]], dict[str, Any]]:
    def options(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
        return {
            "name": "papers",
            "type": "knowledge",
            "service": kind,
            "base_url": service.http,
            "api_key": knowledge.KEY,
            "datasets": ["house"],
        }

    return options


_OPTIONS: Final[Mapping[str, Callable[[Any, str, Mapping[str, Any]], dict[str, Any]]]] = {
    "volcengine": _volcengine,
    "dashscope": _dashscope,
    "xunfei": _xunfei,
    "minimax": _minimax,
    "http": _http,
    "dify": _dify,
    "coze": _coze,
    "ragflow": _knowledge("ragflow"),
    "dify-knowledge": _knowledge("dify"),
}

_VOLC: Final = "https://console.volcengine.com/speech/app"
_NOT_GRANTED: Final = "[resource_id=volc] requested resource not granted"
_KEYS: Final = "https://bailian.console.aliyun.com/?tab=model#/api-key"
_MODELS: Final = "https://bailian.console.aliyun.com/?tab=model#/model-market"
_BILLING: Final = "https://billing-cost.console.aliyun.com/home"
_XFYUN: Final = "https://console.xfyun.cn/services"
_MINIMAX: Final = "https://platform.minimaxi.com/user-center/"


def _made(vendor: str, part: str, name: str, says: str, page: str, **more: Any) -> Fault:  # noqa: ANN401
    keys = {
        "given",
        "troubles",
        "code",
        "clock",
        "down",
    }
    given = more.pop("given", {}) | {key: more.pop(key) for key in list(more) if key not in keys}
    return Fault(vendor=vendor, part=part, name=name, says=says, page=page, given=given, **more)


def _speech_of_volcengine(part: str, **way: str) -> list[Fault]:
    how = f"{part}{way.get('way', '')}"

    def made(name: str, says: str, page: str = _VOLC, **more: Any) -> Fault:  # noqa: ANN401
        return _made("volcengine", part, f"{how}: {name}", says, page, **way, **more)

    return [
        made("no key", "no key: set", api_key=""),
        made("key", "refuses the key", api_key=WRONG),
        made("key within", "refuses the key", troubles=[within(45000010, "Invalid X-Api-Key")]),
        made(
            "resource",
            "resource_id is not granted",
            resource_id="volc.none" if part == "asr" else "seed-none",
        ),
        made(
            "resource within",
            "resource_id is not granted",
            troubles=[within(45000030, _NOT_GRANTED)],
        ),
        made(
            "quota",
            "the quota is used up",
            troubles=[upgrade(403, 45000292, "quota exceeded for types: audio_duration_lifetime")],
        ),
        made("down", "cannot be reached", "url right, and", down=True),
    ]


FAULTS: Final[Sequence[Fault]] = [
    *_speech_of_volcengine("asr"),
    *_speech_of_volcengine("tts"),
    *_speech_of_volcengine("tts", way="http"),
    *(
        _made("volcengine", "tts", f"voice {way}", says, page, way=way, **more)
        for way in ("bidirectional", "http")
        for says, page, more in (
            (
                "tts.resource_id is not that of tts.speaker",
                "https://www.volcengine.com/docs/6561/1257544",
                {"speaker": "zh_female_x_moon_bigtts", "resource_id": "seed-tts-2.0"},
            ),
            (
                "tts.resource_id is not that of tts.speaker",
                "https://www.volcengine.com/docs/6561/1257544",
                {
                    "troubles": [
                        upgrade(403, 55000000, "resource ID is mismatched with speaker related")
                    ]
                },
            ),
            (
                "tts.speaker is not the account's",
                _VOLC,
                {"troubles": [within(45000000, "speaker permission denied: access denied")]},
            ),
        )
    ),
    *(
        _made(
            "dashscope",
            part,
            f"{part} {model}: {name}",
            says.format(part=part),
            page,
            model=model,
            **more,
        )
        for part, model in (
            ("asr", "fun-asr-realtime"),
            ("asr", "qwen3-asr-flash-realtime"),
            ("tts", "cosyvoice-v3-flash"),
            ("tts", "qwen3-tts-flash-realtime"),
        )
        for name, says, page, more in (
            ("no key", "no key: set", _KEYS, {"api_key": ""}),
            ("key or region", "each for one region", _KEYS, {"api_key": WRONG}),
            (
                "balance",
                "the account has no balance or free quota left",
                _BILLING,
                {"troubles": [within("Arrearage", "Access denied, your account is overdue.")]},
            ),
            (
                "balance at the door",
                "the account has no balance or free quota left",
                _BILLING,
                {"troubles": [upgrade(403, "Arrearage", "Access denied.")]},
            ),
            (
                "activation",
                "is not there, or not activated",
                _MODELS,
                {"troubles": [within("AccessDenied.Unpurchased", "Access to model denied.")]},
            ),
            (
                "activation at the door",
                "is not there, or not activated",
                _MODELS,
                {"troubles": [upgrade(403, "Model.AccessDenied", "Model access denied.")]},
            ),
            ("down", "cannot be reached", "url right", {"down": True}),
        )
    ),
    _made(
        "dashscope",
        "asr",
        "model",
        "is not there, or not activated",
        _MODELS,
        model="fun-asr-none",
    ),
    _made(
        "dashscope",
        "tts",
        "voice",
        "tts.voice does not belong to tts.model",
        _MODELS,
        voice="longcheng_v2",
    ),
    _made(
        "dashscope",
        "tts",
        "voice of qwen",
        "tts.voice does not belong to tts.model",
        _MODELS,
        voice="longcheng_v2",
        model="qwen3-tts-flash-realtime",
    ),
    *(
        _made("xunfei", part, f"{part} {name}", says.format(part=part), page, **given, **more)
        for part, given in (("asr", {}), ("asr", {"product": "iat"}), ("tts", {}))
        for name, says, page, more in (
            ("no key", "no key: set", _XFYUN, {"api_secret": ""}),
            ("key", "refuses the signature", _XFYUN, {"api_key": WRONG}),
            ("secret", "refuses the signature", _XFYUN, {"api_secret": WRONG}),
            (
                "clock ahead",
                "the clock of this machine is",
                "10 minutes ahead; set it, for example by NTP",
                {"clock": -timedelta(minutes=10)},
            ),
            (
                "clock behind",
                "the clock of this machine is",
                "10 minutes behind; set it, for example by NTP",
                {"clock": timedelta(minutes=10)},
            ),
            ("app", "has no licence for this service", _XFYUN, {"app_id": "0000"}),
            (
                "licence",
                "has no licence for this service",
                _XFYUN,
                {"troubles": [within(11200, "licc failed")]},
            ),
            (
                "quota",
                "the calls of today are used up",
                _XFYUN,
                {"troubles": [within(11201, "licc limit")]},
            ),
            (
                "address",
                "refuses this machine's address",
                _XFYUN,
                {"troubles": [upgrade(403, 0, "Your IP address is not allowed")]},
            ),
            ("down", "cannot be reached", "url right", {"down": True}),
        )
    ),
    _made(
        "xunfei",
        "asr",
        "another product",
        "has no licence for this service",
        _XFYUN,
        domain="dialects",
    ),
    _made("xunfei", "tts", "voice", "has no licence for this service", _XFYUN, vcn="x9_none"),
    _made(
        "minimax",
        "tts",
        "no key",
        "no key: set",
        _MINIMAX,
        api_key="",
    ),
    _made(
        "minimax",
        "tts",
        "key or region",
        "refuses tts.api_key or tts.group_id",
        _MINIMAX,
        api_key=WRONG,
    ),
    _made(
        "minimax", "tts", "group", "refuses tts.api_key or tts.group_id", _MINIMAX, group_id="42"
    ),
    _made(
        "minimax",
        "tts",
        "key, by another code",
        "refuses tts.api_key or tts.group_id",
        _MINIMAX,
        troubles=[within(2049, "invalid api key")],
    ),
    _made(
        "minimax",
        "tts",
        "voice",
        "there is no voice tts.voice_id",
        "https://platform.minimaxi.com/document/system-voice-id",
        voice_id="none",
    ),
    _made(
        "minimax",
        "tts",
        "voice of another",
        "there is no voice tts.voice_id",
        "https://platform.minimaxi.com/document/system-voice-id",
        troubles=[within(2042, "you don't have access to this voice_id")],
    ),
    _made(
        "minimax",
        "tts",
        "balance",
        "the account has no balance or quota left",
        _MINIMAX,
        troubles=[within(1008, "insufficient balance")],
    ),
    _made(
        "minimax",
        "tts",
        "plan",
        "the account has no balance or quota left",
        _MINIMAX,
        troubles=[within(2056, "usage limit exceeded")],
    ),
    _made(
        "minimax",
        "tts",
        "model",
        "the account's plan does not have tts.model",
        _MINIMAX,
        troubles=[within(2061, "your current token plan not support model")],
    ),
    _made("minimax", "tts", "down", "cannot be reached", "base_url right", down=True),
    _made(
        "http",
        "tts",
        "recording",
        "refuses the request (400",
        "tts.body",
        preset="gpt-sovits",
        body={"ref_audio_path": "/none.wav"},
    ),
    _made("http", "tts", "character", "answers 500", "KeyError", preset="index-tts", voice="none"),
    _made(
        "http",
        "tts",
        "speaker",
        "cannot be reached",
        "tts.url right",
        preset="cosyvoice",
        voice="none",
    ),
    _made(
        "http",
        "tts",
        "key",
        "refuses the api_key",
        "tts.api_key",
        preset="fish-speech",
        api_key=WRONG,
    ),
    _made(
        "http",
        "tts",
        "memory",
        "sends no sound",
        "CUDA out of memory",
        preset="fish-speech",
        api_key=own_voices.KEY,
        troubles=[own_voices.JSON] * 2,
    ),
    _made(
        "http",
        "tts",
        "down",
        "cannot be reached",
        "tts.url right",
        preset="index-tts",
        voice="xiaoxiao",
        down=True,
    ),
    _made("dify", "agent", "no key", "no key: set", "/apps", api_key=""),
    _made("dify", "agent", "key", "refuses agent.api_key", "/apps", api_key=WRONG),
    *(
        _made("dify", "agent", code, says, page, code=code)
        for code, says, page in (
            ("app_unavailable", "is it published in Dify?", "/apps"),
            ("not_chat_app", "Vixio needs one of a chat", "/apps"),
            ("provider_not_initialize", "has no key for the model", "/apps"),
            ("provider_quota_exceeded", "has no quota left", "/apps"),
            ("model_currently_not_support", "cannot use the application's model", "/apps"),
            ("invalid_param", "does agent.inputs have what the application asks for?", "inputs"),
        )
    ),
    _made("dify", "agent", "down", "cannot be reached", "base_url right", down=True),
    _made(
        "coze",
        "agent",
        "no key",
        "no key: set",
        "https://www.coze.cn/open/oauth/pats",
        api_key="",
    ),
    _made(
        "coze",
        "agent",
        "key or region",
        "Coze refuses agent.api_key",
        "https://www.coze.cn/open/oauth/pats",
        api_key=WRONG,
    ),
    _made(
        "coze",
        "agent",
        "bot",
        "no agent.bot_id is published",
        "https://www.coze.cn/home",
        bot_id="1",
    ),
    _made(
        "coze",
        "agent",
        "rights",
        "Coze refuses agent.api_key",
        "https://www.coze.cn/open/oauth/pats",
        code=4101,
    ),
    _made(
        "coze",
        "agent",
        "unpublished",
        "no agent.bot_id is published",
        "https://www.coze.cn/home",
        code=4015,
    ),
    _made(
        "coze",
        "agent",
        "quota",
        "the account has no quota left",
        "https://www.coze.cn/home",
        code=4028,
    ),
    _made("coze", "agent", "down", "cannot be reached", "base_url right", down=True),
    _made("ragflow", "tools", "key", "API key is invalid", "see api_key", api_key=WRONG),
    _made(
        "ragflow", "tools", "dataset", "You don't own the dataset", "datasets", datasets=["none"]
    ),
    _made(
        "ragflow",
        "tools",
        "down",
        "the connection to the service failed",
        "base_url right",
        down=True,
    ),
    _made("dify-knowledge", "tools", "key", "refuses the access (401)", "/datasets", api_key=WRONG),
    _made(
        "dify-knowledge", "tools", "dataset", "Dataset not found", "/datasets", datasets=["none"]
    ),
    _made(
        "dify-knowledge",
        "tools",
        "down",
        "the connection to the service failed",
        "base_url right",
        down=True,
    ),
]
