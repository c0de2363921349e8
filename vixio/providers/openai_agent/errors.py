"""What goes wrong between the agent and its model, classified once. Importing this imports the SDK.

LiteLLM's errors are subclasses of the OpenAI client's, so one table serves both.
"""

from __future__ import annotations

import re

import openai
from agents.exceptions import AgentsException, MaxTurnsExceeded

from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable

_MAX_DETAIL = 200
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[\w*.-]{6,}|\bBearer\s+\S+|\b[A-Za-z0-9_-]{40,}\b")


def classify(provider: str, error: Exception, first_token_timeout: float = 0.0) -> ProviderError:
    """Return ``error`` as a ProviderError: one line, without the key that the server may quote."""
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, MaxTurnsExceeded):
        return ProviderError(provider, "too many rounds of tool calls", retryable=False)
    if isinstance(error, AgentsException):
        return ProviderError(provider, f"unusable answer: {_one_line(error)}")
    if isinstance(error, openai.APITimeoutError):
        return ProviderTimeout(provider, "answer", first_token_timeout)
    if isinstance(error, openai.APIStatusError):
        return _of_status(provider, error)
    if isinstance(error, openai.APIConnectionError):
        return ProviderError(provider, f"the model's server cannot be reached: {_cause(error)}")
    if isinstance(error, openai.APIError):
        return ProviderError(provider, f"the model's server reports: {_one_line(error)}")
    return ProviderError(provider, f"{type(error).__name__}: {_one_line(error)}")


def retry_after(error: Exception) -> float | None:
    """Return the seconds that the server asks to wait; None if it asks for none."""
    if not isinstance(error, openai.APIStatusError):
        return None
    try:
        return float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None


def _of_status(provider: str, error: openai.APIStatusError) -> ProviderError:
    status = error.status_code
    if status in (401, 403):
        # The body quotes part of the key, so none of it is repeated.
        return ProviderUnavailable(provider, f"the model's server refuses the api_key ({status})")
    if status == 404:
        return ProviderUnavailable(provider, f"no such model or base_url (404): {_one_line(error)}")
    if status == 429:
        if getattr(error, "code", None) == "insufficient_quota":
            return ProviderUnavailable(provider, "the account's quota is used up (429)")
        return ProviderError(provider, "too many requests for the model's server (429)")
    retryable = status >= 500 or status in (408, 409)
    message = f"the model's server answers {status}: {_one_line(error)}"
    return ProviderError(provider, message, retryable=retryable)


def _one_line(error: Exception) -> str:
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    text = " ".join(str(message or error).split())
    return _SECRET.sub("***", text)[:_MAX_DETAIL]


def _cause(error: Exception) -> str:
    return _one_line(error.__cause__) if isinstance(error.__cause__, Exception) else "no connection"
