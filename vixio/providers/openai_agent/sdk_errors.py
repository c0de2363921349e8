"""Classification of the errors of the SDK and of OpenAI's client. Importing this imports both.

LiteLLM's errors are subclasses of that client's, so the same classification covers both.
"""

from __future__ import annotations

import openai
from agents.exceptions import AgentsException

from vixio.core.environment_proxy import EnvironmentProxy
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers import service_errors
from vixio.providers.service_errors import Service

_MAX_DEPTH = 8


def classify(
    provider: str,
    error: Exception,
    timeout: float = 0.0,
    proxy: EnvironmentProxy | None = None,
) -> ProviderError:
    """Return ``error`` as a ProviderError: one line, without a key that the server quotes.

    ``timeout``: seconds that the client waits for a response. ``proxy``: which the client uses.
    """
    service = Service(provider, proxy=proxy)
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, AgentsException):
        text = f"unusable answer: {service_errors.one_line(_message_of(error))}"
        return ProviderError(provider, text, reason="service")
    if isinstance(error, openai.APITimeoutError) and not _while_connecting(error):
        return ProviderTimeout(provider, "answer", timeout)
    if isinstance(error, openai.APIStatusError):
        return _of_status(service, error)
    if isinstance(error, openai.APIConnectionError):
        return service_errors.unreachable(service, _cause(error))
    if isinstance(error, openai.APIError):
        return service_errors.of_code(service, str(error.code or ""), _message_of(error))
    return service_errors.unexpected(provider, error, _message_of(error))


def _of_status(service: Service, error: openai.APIStatusError) -> ProviderError:
    # LiteLLM's own error carries neither the code nor the headers.
    original = _original(error)
    code, headers = str(original.code or ""), original.response.headers
    return service_errors.of_status(
        service,
        error.status_code,
        code,
        _message_of(error),
        headers,
        f"{original.param or ''} {original.body or ''}",
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
            and isinstance(found.body, dict | list)
        ):
            return found
    return error


def _while_connecting(error: Exception) -> bool:
    return type(error.__cause__).__name__ in {"ConnectTimeout", "PoolTimeout"}


def _message_of(error: Exception) -> str:
    """Return the message of the server or the client."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or error)


def _cause(error: Exception) -> str:
    if not isinstance(error.__cause__, Exception):
        return "no connection"
    return _message_of(error.__cause__)
