"""What the codes of Volcengine's speech services mean, and what to do about each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.providers.service_errors import Service, one_line
from vixio.providers.volcengine.settings import CONSOLE, NAME

OK: Final = 20_000_000
SILENCE: Final = 45_000_002
"""An utterance without a sound: no words, and no error."""
_PARAMETERS: Final = frozenset({45_000_001, 45_000_151})
_NO_KEY: Final = 45_000_010
_NOT_GRANTED: Final = 45_000_030
_PAUSED: Final = 45_000_081
_BUSY: Final = frozenset({55_000_031, 45_000_292})

VOICES: Final = "https://www.volcengine.com/docs/6561/1257544"
_NO_SPEAKER: Final = re.compile(r"speaker\b.*(permission|denied|not (found|exist))")
_ACTIVATE: Final = f"is the service activated, and the trial not over? See {CONSOLE}"


def of_code(section: str, code: int, text: str) -> ProviderError:
    """Return the error of a code within a conversation; ``text``: the vendor's own words."""
    said = f"{one_line(_words(text))} ({code})"
    if found := _unavailable(section, code, text):
        what, where, reason = found
        return ProviderUnavailable(NAME, f"{what}: {said}; {where}", reason=reason)
    if code in _PARAMETERS:
        text = f"the service refuses the request: {said}; see {section}"
        return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    if code == _PAUSED:
        return ProviderError(NAME, f"no audio came for too long: {said}", reason="service")
    if code in _BUSY:
        return ProviderError(NAME, f"the service is busy: {said}", reason="busy")
    return ProviderError(NAME, f"the service reports: {said}", reason="service")


def _unavailable(section: str, code: int, text: str) -> tuple[str, str, str] | None:
    """Return what an operator mends, where, and the reason; None for what passes."""
    if "quota exceeded" in text and "concurrency" not in text:
        return "the quota is used up", _ACTIVATE, "quota"
    if code == _NOT_GRANTED or "not granted" in text:
        return f"{section}.resource_id is not granted", _ACTIVATE, "no_key"
    if "mismatched" in text:
        what = "tts.resource_id is not that of tts.speaker"
        return what, f"voices are listed at {VOICES}", "no_model"
    if _NO_SPEAKER.search(text):
        what = "tts.speaker is not the account's"
        return what, f"is the voice activated? See {CONSOLE}", "no_model"
    if code == _NO_KEY:
        return f"the service refuses the key of {section}", _ACTIVATE, "no_key"
    return None


def refused(
    service: Service, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    """Return the error of an answer with another status than it should have."""
    words = body.decode("utf-8", "replace")
    known = of_code(service.section, code := _code(words), words)
    if code != _NO_KEY and isinstance(known, ProviderUnavailable):
        return known
    said = one_line(_words(words) or "no reason given")
    log = headers.get("X-Tt-Logid", "")
    said += f", log id {one_line(log)}" if log else ""
    if status in (401, 403):
        text = f"{service} refuses the key ({status}: {said}): {_ACTIVATE}{service.proxy_hint}"
        return ProviderUnavailable(NAME, text, reason="no_key")
    if status in (400, 404):
        text = f"{service} refuses us ({status}: {said}): see {service.section}.resource_id and url"
        return ProviderUnavailable(NAME, text, reason="no_model")
    text = f"{service} answers {status}: {said}"
    return ProviderError(NAME, text, reason="busy" if status in (429, 503) else "service")


def _code(text: str) -> int:
    found = re.search(r'"code" *: *(\d{8})\b', text)
    return int(found[1]) if found else 0


def _words(text: str) -> str:
    """Return the vendor's words, which stand in JSON of several forms."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for key in ("error", "message", "header", "err_msg"):
        if isinstance(found, dict) and key in found:
            inner = found[key]
            if isinstance(inner, dict):
                inner = inner.get("message") or inner.get("msg")
            if isinstance(inner, str) and inner:
                return inner
    return text
