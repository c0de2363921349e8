"""What the assistant says for itself when there is nobody else to say it."""

from __future__ import annotations

from collections.abc import Mapping

MESSAGES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "not_understood": "Sorry, I did not understand that. Please say it again.",
        "failed": "Sorry, something went wrong. Please try again.",
        "timeout": "Sorry, that took too long. Please try again.",
        "no_answer": "Sorry, I have no answer to that.",
        "error_status": "Error",
    },
    "zh": {
        "not_understood": "抱歉，我没有听懂，请再说一遍。",
        "failed": "抱歉，出了点问题，请再试一次。",
        "timeout": "抱歉，等待时间太长了，请再试一次。",
        "no_answer": "抱歉，这个我回答不了。",
        "error_status": "错误",
    },
}
"""Language (the first part of BCP 47) → key → words."""

FALLBACK_LANGUAGE = "en"


def message(key: str, language: str) -> str:
    """Return the words of ``key`` in ``language``, in English where it has none."""
    base = language.replace("_", "-").partition("-")[0].lower()
    return MESSAGES.get(base, MESSAGES[FALLBACK_LANGUAGE])[key]
