"""Classification of the errors of OpenAI-compatible servers, for all providers.

Importing this module imports the OpenAI client. LiteLLM's errors are subclasses of that client's,
so the same classification covers both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

from vixio.core.errors import REQUEST, ProviderError, ProviderTimeout, ProviderUnavailable

_MAX_DETAIL = 200
_MAX_DEPTH = 8
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "Arrearage"})
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[\w*.-]{6,}|\bBearer\s+\S+|\b[A-Za-z0-9_-]{40,}\b")


def classify(provider: str, error: Exception, timeout: float = 0.0) -> ProviderError:
    """Return ``error`` as a ProviderError: one line, without a key that the server quotes.

    ``timeout``: seconds that the client waits for a response.
    """
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, openai.APITimeoutError) and not _while_connecting(error):
        return ProviderTimeout(provider, "answer", timeout)
    if isinstance(error, openai.APIStatusError):
        return _of_status(provider, error)
    if isinstance(error, openai.APIConnectionError):
        return ProviderError(
            provider,
            f"the model's server cannot be reached: {_cause(error)}",
            reason="unreachable",
        )
    if isinstance(error, openai.APIError):
        return classify_code(provider, str(error.code or ""), one_line(error))
    return ProviderError(provider, f"{type(error).__name__}: {one_line(error)}", reason="service")


def classify_code(provider: str, code: str, message: str) -> ProviderError:
    """Return the error that a server reports within a stream, after the HTTP status."""
    if code in _QUOTA_CODES:
        return ProviderUnavailable(provider, f"the quota is used up ({code})", reason="quota")
    if code == "rate_limit_exceeded":
        return ProviderError(provider, f"too many requests ({code})", reason="busy")
    if code.startswith("invalid_") or code == "context_length_exceeded":
        text = f"the model's server refuses the request: {_clean(message)}"
        return ProviderError(provider, text, retryable=False, reason=REQUEST)
    text = f"the model's server reports: {_clean(message)}"
    return ProviderError(provider, text, reason="service")


def _of_status(provider: str, error: openai.APIStatusError) -> ProviderError:
    status = error.status_code
    # LiteLLM's own error carries neither the code nor the headers.
    original = _original(error)
    code = str(original.code or "")
    if status in (401, 403):
        # The body quotes part of the key, so the message leaves it out.
        text = f"the model's server refuses the api_key ({status})"
        return ProviderUnavailable(provider, text, reason="no_key")
    if status == 404:
        text = f"no such model or base_url (404): {one_line(error)}"
        return ProviderUnavailable(provider, text, reason="no_model")
    if status == 402 or (status == 429 and code in _QUOTA_CODES):
        text = f"the account's quota is used up ({status})"
        return ProviderUnavailable(provider, text, reason="quota")
    pause = _retry_after(original.response.headers)
    if status == 429:
        text = "too many requests for the model's server (429)"
        return ProviderError(provider, text, reason="busy", retry_after=pause)
    retryable = status >= 500 or status in (408, 409)
    return ProviderError(
        provider,
        f"the model's server answers {status}: {one_line(error)}",
        retryable=retryable,
        reason="service" if retryable else REQUEST,
        retry_after=pause,
    )


def _original(error: openai.APIStatusError) -> openai.APIStatusError:
    """Return the client's error of the same status that caused ``error``, or ``error`` itself."""
    found: BaseException = error
    for _ in range(_MAX_DEPTH):
        below = found.__cause__ or found.__context__
        if below is None:
            break
        found = below
        if (
            isinstance(found, openai.APIStatusError)
            and found.status_code == error.status_code
            and isinstance(found.body, dict)
        ):
            return found
    return error


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return ``Retry-After`` in seconds (RFC 9110 §10.2.3: a number or a date), None if absent."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None or (seconds := _number(text)) is not None:
        return None if text is None else seconds
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at - datetime.now(UTC)).total_seconds()) if at.tzinfo else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _while_connecting(error: Exception) -> bool:
    # By name: the client's HTTP library is not a dependency of this package.
    return type(error.__cause__).__name__ in {"ConnectTimeout", "PoolTimeout"}


def one_line(error: Exception) -> str:
    """Return the message of the server or the client, shortened and without keys."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    return _clean(str(message or error))


def _clean(text: str) -> str:
    return _SECRET.sub("***", " ".join(text.split()))[:_MAX_DETAIL]


def _cause(error: Exception) -> str:
    return one_line(error.__cause__) if isinstance(error.__cause__, Exception) else "no connection"
