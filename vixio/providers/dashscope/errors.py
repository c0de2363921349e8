"""What the codes of DashScope mean, and what to do about each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.providers.dashscope.settings import CONSOLE, MODELS, NAME
from vixio.providers.service_errors import Service, one_line

BILLING: Final = "https://billing-cost.console.aliyun.com/home"


def of_code(section: str, code: str, text: str) -> ProviderError:
    """Return the error of a code within a conversation; ``text``: the vendor's own words."""
    said = f"{one_line(text) or 'no reason given'} ({code or 'no code'})"
    plain = code.replace(".", "").replace("_", "").lower()
    if "apikey" in plain or plain in ("unauthorized", "authenticationerror"):
        text = f"the service refuses {section}.api_key: {said}; {_keys(section)}"
        return ProviderUnavailable(NAME, text, reason="no_key")
    if "arrearage" in plain or "quotaexceeded" in plain or "freetieronly" in plain:
        text = f"the account has no balance or free quota left: {said}; see {BILLING}"
        return ProviderUnavailable(NAME, text, reason="quota")
    if "accessdenied" in plain or "modelnotfound" in plain or "workspaceaccess" in plain:
        text = f"{section}.model is not there, or not activated: {said}; see {MODELS}"
        return ProviderUnavailable(NAME, text, reason="no_model")
    if "throttling" in plain or "ratelimit" in plain or "limitrequests" in plain:
        return ProviderError(NAME, f"the service is busy: {said}", reason="busy")
    if "return error code: 418" in text or (plain == "invalidvalue" and "voice" in text.lower()):
        text = f"{section}.voice does not belong to {section}.model: {said}; voices are at {MODELS}"
        return ProviderUnavailable(NAME, text, reason="no_model")
    if plain.startswith("invalidparameter") or "badrequest" in plain or plain == "invalidvalue":
        text = f"the service refuses the request: {said}; see {section}.model and its options"
        return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    return ProviderError(NAME, f"the service reports: {said}", reason="service")


def refused(
    service: Service, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    """Return the error of an upgrade that is refused."""
    section, (code, said) = service.section, _words(body.decode("utf-8", "replace"))
    known = of_code(section, code, said)
    if isinstance(known, ProviderUnavailable) and known.reason != "no_key":
        return known
    if status in (401, 403):
        text = f"{service} refuses {section}.api_key ({status}: {said}); {_keys(section)}"
        return ProviderUnavailable(NAME, text + service.proxy_hint, reason="no_key")
    if status == 404:
        text = f"{service} has nothing at this path (404): see {section}.url and {section}.model"
        return ProviderUnavailable(NAME, text, reason="no_model")
    if code:
        return known
    text = f"{service} answers {status}: {said}"
    return ProviderError(NAME, text, reason="busy" if status in (429, 503) else "service")


def _keys(section: str) -> str:
    return f"keys are made at {CONSOLE}, each for one region: see {section}.url"


def _words(text: str) -> tuple[str, str]:
    """Return the code and the words of a body."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return "", one_line(text) or "no reason given"
    inner = found.get("error")
    found = inner if isinstance(inner, dict) else found
    return str(found.get("code") or ""), one_line(str(found.get("message") or "no reason given"))
