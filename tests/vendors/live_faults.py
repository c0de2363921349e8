"""What can be wrong with an account, and what ``vixio check --live`` says of each.

The page docs/zh/faults.md explains each of them: what a fault ``says`` stands in that page as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from tests.vendors.live_fault import WRONG, Fault, made
from vixio_bench.vendors.base import upgrade, within
from vixio_bench.vendors.own_voices import service as own_voices

_VOLC: Final = "https://console.volcengine.com/speech/app"
_NOT_GRANTED: Final = "[resource_id=volc] requested resource not granted"
_KEYS: Final = "https://bailian.console.aliyun.com/?tab=model#/api-key"
_MODELS: Final = "https://bailian.console.aliyun.com/?tab=model#/model-market"
_BILLING: Final = "https://billing-cost.console.aliyun.com/home"
_XFYUN: Final = "https://console.xfyun.cn/services"
_MINIMAX: Final = "https://platform.minimaxi.com/user-center/"


def _speech_of_volcengine(part: str, **way: str) -> list[Fault]:
    how = f"{part}{way.get('way', '')}"

    def of_speech(name: str, says: str, page: str = _VOLC, **more: Any) -> Fault:  # noqa: ANN401
        return made("volcengine", part, f"{how}: {name}", says, page, **way, **more)

    return [
        of_speech("no key", "no key: set", api_key=""),
        of_speech("key", "refuses the key", api_key=WRONG),
        of_speech(
            "key within", "refuses the key", troubles=[within(45000010, "Invalid X-Api-Key")]
        ),
        of_speech(
            "resource",
            "resource_id is not granted",
            resource_id="volc.none" if part == "asr" else "seed-none",
        ),
        of_speech(
            "resource within",
            "resource_id is not granted",
            troubles=[within(45000030, _NOT_GRANTED)],
        ),
        of_speech(
            "quota",
            "the quota is used up",
            troubles=[upgrade(403, 45000292, "quota exceeded for types: audio_duration_lifetime")],
        ),
        of_speech("down", "cannot be reached", "url right, and", down=True),
    ]


FAULTS: Final[Sequence[Fault]] = [
    *_speech_of_volcengine("asr"),
    *_speech_of_volcengine("tts"),
    *_speech_of_volcengine("tts", way="http"),
    *(
        made("volcengine", "tts", f"voice {way}", says, page, way=way, **more)
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
        made(
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
    made(
        "dashscope",
        "asr",
        "model",
        "is not there, or not activated",
        _MODELS,
        model="fun-asr-none",
    ),
    made(
        "dashscope",
        "tts",
        "voice",
        "tts.voice does not belong to tts.model",
        _MODELS,
        voice="longcheng_v2",
    ),
    made(
        "dashscope",
        "tts",
        "voice of qwen",
        "tts.voice does not belong to tts.model",
        _MODELS,
        voice="longcheng_v2",
        model="qwen3-tts-flash-realtime",
    ),
    *(
        made("xunfei", part, f"{part} {name}", says.format(part=part), page, **given, **more)
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
    made(
        "xunfei",
        "asr",
        "another product",
        "has no licence for this service",
        _XFYUN,
        domain="dialects",
    ),
    made("xunfei", "tts", "voice", "has no licence for this service", _XFYUN, vcn="x9_none"),
    made(
        "minimax",
        "tts",
        "no key",
        "no key: set",
        _MINIMAX,
        api_key="",
    ),
    made(
        "minimax",
        "tts",
        "key or region",
        "refuses tts.api_key or tts.group_id",
        _MINIMAX,
        api_key=WRONG,
    ),
    made("minimax", "tts", "group", "refuses tts.api_key or tts.group_id", _MINIMAX, group_id="42"),
    made(
        "minimax",
        "tts",
        "key, by another code",
        "refuses tts.api_key or tts.group_id",
        _MINIMAX,
        troubles=[within(2049, "invalid api key")],
    ),
    made(
        "minimax",
        "tts",
        "voice",
        "there is no voice tts.voice_id",
        "https://platform.minimaxi.com/document/system-voice-id",
        voice_id="none",
    ),
    made(
        "minimax",
        "tts",
        "voice of another",
        "there is no voice tts.voice_id",
        "https://platform.minimaxi.com/document/system-voice-id",
        troubles=[within(2042, "you don't have access to this voice_id")],
    ),
    made(
        "minimax",
        "tts",
        "balance",
        "the account has no balance or quota left",
        _MINIMAX,
        troubles=[within(1008, "insufficient balance")],
    ),
    made(
        "minimax",
        "tts",
        "plan",
        "the account has no balance or quota left",
        _MINIMAX,
        troubles=[within(2056, "usage limit exceeded")],
    ),
    made(
        "minimax",
        "tts",
        "model",
        "the account's plan does not have tts.model",
        _MINIMAX,
        troubles=[within(2061, "your current token plan not support model")],
    ),
    made("minimax", "tts", "down", "cannot be reached", "base_url right", down=True),
    made(
        "http",
        "tts",
        "recording",
        "refuses the request (400",
        "tts.body",
        preset="gpt-sovits",
        body={"ref_audio_path": "/none.wav"},
    ),
    made("http", "tts", "character", "answers 500", "KeyError", preset="index-tts", voice="none"),
    made(
        "http",
        "tts",
        "speaker",
        "cannot be reached",
        "tts.url right",
        preset="cosyvoice",
        voice="none",
    ),
    made(
        "http",
        "tts",
        "key",
        "refuses the api_key",
        "tts.api_key",
        preset="fish-speech",
        api_key=WRONG,
    ),
    made(
        "http",
        "tts",
        "memory",
        "sends no sound",
        "CUDA out of memory",
        preset="fish-speech",
        api_key=own_voices.KEY,
        troubles=[own_voices.JSON] * 2,
    ),
    made(
        "http",
        "tts",
        "down",
        "cannot be reached",
        "tts.url right",
        preset="index-tts",
        voice="xiaoxiao",
        down=True,
    ),
    made("dify", "agent", "no key", "no key: set", "/apps", api_key=""),
    made("dify", "agent", "key", "refuses agent.api_key", "/apps", api_key=WRONG),
    *(
        made("dify", "agent", code, says, page, code=code)
        for code, says, page in (
            ("app_unavailable", "is it published in Dify?", "/apps"),
            ("not_chat_app", "Vixio needs one of a chat", "/apps"),
            ("provider_not_initialize", "has no key for the model", "/apps"),
            ("provider_quota_exceeded", "has no quota left", "/apps"),
            ("model_currently_not_support", "cannot use the application's model", "/apps"),
            ("invalid_param", "does agent.inputs have what the application asks for?", "inputs"),
        )
    ),
    made("dify", "agent", "down", "cannot be reached", "base_url right", down=True),
    made(
        "coze",
        "agent",
        "no key",
        "no key: set",
        "https://www.coze.cn/open/oauth/pats",
        api_key="",
    ),
    made(
        "coze",
        "agent",
        "key or region",
        "Coze refuses agent.api_key",
        "https://www.coze.cn/open/oauth/pats",
        api_key=WRONG,
    ),
    made(
        "coze",
        "agent",
        "bot",
        "no agent.bot_id is published",
        "https://www.coze.cn/home",
        bot_id="1",
    ),
    made(
        "coze",
        "agent",
        "rights",
        "Coze refuses agent.api_key",
        "https://www.coze.cn/open/oauth/pats",
        code=4101,
    ),
    made(
        "coze",
        "agent",
        "unpublished",
        "no agent.bot_id is published",
        "https://www.coze.cn/home",
        code=4015,
    ),
    made(
        "coze",
        "agent",
        "quota",
        "the account has no quota left",
        "https://www.coze.cn/home",
        code=4028,
    ),
    made("coze", "agent", "down", "cannot be reached", "base_url right", down=True),
    made("ragflow", "tools", "key", "API key is invalid", "see api_key", api_key=WRONG),
    made("ragflow", "tools", "dataset", "You don't own the dataset", "datasets", datasets=["none"]),
    made(
        "ragflow",
        "tools",
        "down",
        "the connection to the service failed",
        "base_url right",
        down=True,
    ),
    made("dify-knowledge", "tools", "key", "refuses the access (401)", "/datasets", api_key=WRONG),
    made("dify-knowledge", "tools", "dataset", "Dataset not found", "/datasets", datasets=["none"]),
    made(
        "dify-knowledge",
        "tools",
        "down",
        "the connection to the service failed",
        "base_url right",
        down=True,
    ),
]
