"""Built-in messages of the assistant: apologies and short failure reasons, by language."""

from __future__ import annotations

from collections.abc import Mapping

LOADING = "loading"
"""The reason of a failure that passes by itself: something that the turn needs is still loading."""

MESSAGES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "not_understood": "Sorry, I did not understand that. Please say it again.",
        "failed": "Sorry, something went wrong. Please try again.",
        "timeout": "Sorry, that took too long. Please try again.",
        "no_answer": "Sorry, I have no answer to that.",
        "late_started": "I am working on it and will tell you when it is done.",
        "late_done": "What you asked for earlier is done.",
        "late_failed": "Sorry, what you asked for earlier did not work.",
        "loading": "I am still starting up. Please try again in a moment.",
        "vad_not_ready": "My speech detection is not ready.",
        "asr_not_ready": "My speech recognition is not ready.",
        "agent_not_ready": "My language model is not ready.",
        "tts_not_ready": "My voice is not ready.",
        "error_status": "Error",
        "loading_status": "Starting",
    },
    "zh": {
        "not_understood": "抱歉，我没有听懂，请再说一遍。",
        "failed": "抱歉，出了点问题，请再试一次。",
        "timeout": "抱歉，等待时间太长了，请再试一次。",
        "no_answer": "抱歉，这个我回答不了。",
        "late_started": "我正在处理，完成后告诉您。",
        "late_done": "您之前让我做的事已经完成了。",
        "late_failed": "抱歉，您之前让我做的事没有成功。",
        "loading": "我还在启动中，请稍等一下再说。",
        "vad_not_ready": "我的语音检测还没有准备好。",
        "asr_not_ready": "我的语音识别还没有准备好。",
        "agent_not_ready": "我的语言模型还没有准备好。",
        "tts_not_ready": "我的声音还没有准备好。",
        "error_status": "错误",
        "loading_status": "启动中",
    },
}
"""Language (the first part of BCP 47) → key → words."""

REASONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "not_ready": "Not set up",
        "no_key": "No valid key",
        "no_model": "Model not found",
        "quota": "Quota exhausted",
        "busy": "Service busy",
        "unreachable": "Service unreachable",
        "service": "Service error",
        "request": "Request refused",
        "timeout": "Took too long",
    },
    "zh": {
        "not_ready": "尚未配置",
        "no_key": "密钥无效",
        "no_model": "找不到模型",
        "quota": "额度已用完",
        "busy": "服务繁忙",
        "unreachable": "无法连接服务",
        "service": "服务出错",
        "request": "请求被拒绝",
        "timeout": "等待超时",
    },
}
"""Language → key → why a provider failed, short enough for a small screen."""

FALLBACK_LANGUAGE = "en"


def message(key: str, language: str) -> str:
    """Return the words of ``key`` in ``language``, in English where it has none."""
    return MESSAGES.get(_base(language), MESSAGES[FALLBACK_LANGUAGE])[key]


def failure_key(reason: str, part: str = "") -> str:
    """Return the key of the message for a failure of this reason.

    ``part``: the kind of provider that cannot serve at all, if that is the cause.
    """
    if part and reason != LOADING and (key := f"{part}_not_ready") in MESSAGES[FALLBACK_LANGUAGE]:
        return key
    return reason if reason in {"timeout", LOADING} else "failed"


def reason(key: str, language: str) -> str:
    """Return the reason ``key`` in ``language``, in English where it has none; empty if unknown."""
    return REASONS.get(_base(language), REASONS[FALLBACK_LANGUAGE]).get(key, "")


def _base(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].lower()
