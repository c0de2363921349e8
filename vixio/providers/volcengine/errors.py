"""What the codes of Volcengine's speech services mean, and what to do about each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.providers.service_errors import Service, one_line
from vixio.providers.volcengine.settings import CONSOLE, NAME

OK: Final = 20_000_000
SILENCE: Final = 45_000_002
"""An utterance without a sound: no words, and no error."""
_PARAMETERS: Final = frozenset({45_000_001, 45_000_151})
_NOT_GRANTED: Final = frozenset({45_000_010, 45_000_030})
_PAUSED: Final = 45_000_081
_BUSY: Final = frozenset({55_000_031, 45_000_292})

_ACTIVATE: Final = f"is the service activated, and the trial not over? See {CONSOLE}"


def of_code(section: str, code: int, text: str) -> ProviderError:
    """Return the error of a code within a conversation; ``text``: the vendor's own words."""
    said = f"{one_line(_words(text))} ({code})"
    if code in _NOT_GRANTED or "not granted" in text or "quota exceeded" in text:
        quota = "quota" in text
        what = "the quota is used up" if quota else f"{section}.resource_id is not granted"
        reason = "quota" if quota else "no_key"
        return ProviderUnavailable(NAME, f"{what}: {said}; {_ACTIVATE}", reason=reason)
    if code in _PARAMETERS:
        text = f"the service refuses the request: {said}; see {section}"
        return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    if code == _PAUSED:
        return ProviderError(NAME, f"no audio came for too long: {said}", reason="service")
    if code in _BUSY:
        return ProviderError(NAME, f"the service is busy: {said}", reason="busy")
    return ProviderError(NAME, f"the service reports: {said}", reason="service")


def refused(
    service: Service, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    """Return the error of an answer with another status than it should have."""
    said = one_line(_words(body.decode("utf-8", "replace")) or "no reason given")
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
