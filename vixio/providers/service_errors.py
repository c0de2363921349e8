"""What an answer of a service means that is none: status and code, for people.

The statuses and codes are OpenAI's, which most servers have; a vendor's own are worded by its
provider. Used for answers that Vixio reads itself and, by ``openai_agent``, for those that a client
read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from vixio.core.environment_proxy import EnvironmentProxy
from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable

_MAX_DETAIL = 200
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "Arrearage"})
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[\w*.-]{6,}|\bBearer\s+\S+|\b[A-Za-z0-9_-]{40,}\b")


_PARTS: Mapping[str, str] = MappingProxyType(
    {
        "agent": "the language model's server",
        "asr": "the speech recognition service",
        "tts": "the voice service",
        "vision": "the vision service",
    }
)
"""What messages call a server, by the section of the settings that chooses it."""


@dataclass(frozen=True, slots=True)
class Service:
    """The server of a provider, as messages name it."""

    provider: str
    """The provider's registered name."""
    section: str = "agent"
    host: str = ""
    """Host and port, empty if they are not known."""
    proxy: EnvironmentProxy | None = None
    """Through which it is reached: an answer may be the proxy's."""
    option: str = "base_url"
    """Of the section: its address."""

    def __str__(self) -> str:
        way = f" through {self.proxy}" if self.proxy is not None else ""
        return _PARTS[self.section] + (f" at {self.host}" if self.host else "") + way

    @property
    def proxy_hint(self) -> str:
        """What to do about the proxy, as the end of a message; empty without one."""
        return f"; {self.proxy.hint}" if self.proxy is not None else ""


def of_host(service: Service, url: str, proxy: EnvironmentProxy | None) -> Service:
    """Return ``service`` as it is reached at ``url``."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    return Service(service.provider, service.section, host, proxy)


def of_status(
    service: Service,
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str],
    place: str = "",
) -> ProviderError:
    """Return the error of an answer with an HTTP ``status``.

    ``code`` and ``message``: of its body. ``place``: what else it says of the mistake, such as
    ``tools[3].function.name`` (``param``).
    """
    if status in (401, 403):
        # The body quotes part of the key, so the message leaves it out.
        text = f"{service} refuses the api_key ({status}): see {service.section}.api_key"
        text += service.proxy_hint
        return ProviderUnavailable(service.provider, text, reason="no_key")
    if status == 404:
        said = "no page there" if message.lstrip().startswith("<") else one_line(message)
        text = (
            f"{service} answers 404 ({said}): see {service.section}.model, and base_url, which "
            f"ends in /v1 for most servers{service.proxy_hint}"
        )
        return ProviderUnavailable(service.provider, text, reason="no_model")
    if status == 402 or (status == 429 and code in _QUOTA_CODES):
        text = f"{service} says that the account's quota is used up ({status})"
        return ProviderUnavailable(service.provider, text, reason="quota")
    pause = _retry_after(headers)
    if status == 429:
        text = f"{service} has too many requests (429): try again later"
        return ProviderError(service.provider, text, reason="busy", retry_after=pause)
    text = f"{service} answers {status}: {one_line(message)}{service.proxy_hint}"
    if status >= 500 or status in (408, 409):
        return ProviderError(service.provider, text, reason="service", retry_after=pause)
    return _refused(service, text, f"{message} {place}")


def _refused(service: Service, text: str, detail: str) -> ProviderError:
    """Return the error of a service that does not take a request as it is."""
    error = ProviderError(service.provider, text, retryable=False, reason=REQUEST)
    error.detail = detail
    return error


def of_body(
    service: Service, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    """Return the error of an answer with an HTTP ``status`` and ``body``, JSON or not."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    if isinstance(parsed, list) and parsed:  # Gemini's, in a list of one
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        said = body.decode("utf-8", "replace") or "no reason given"
        return of_status(service, status, "", said, headers)
    error = parsed.get("error") or parsed
    code, message = _told(error)
    place = str(error.get("param") or "") if isinstance(error, dict) else ""
    return of_status(service, status, code, message, headers, place)


def raise_error(body: Mapping[str, Any], service: Service) -> None:
    """Raise the ``error`` of an answer or an event, as ProviderError; nothing if it has none."""
    if error := body.get("error"):
        raise of_code(service, *_told(error))


def _told(error: object) -> tuple[str, str]:
    """Return the code and the message of an error, which may be a text alone."""
    if not isinstance(error, dict):
        return "", str(error)
    return str(error.get("code") or ""), str(error.get("message") or error)


def of_code(service: Service, code: str, message: str) -> ProviderError:
    """Return the error that a server reports within a stream, after the HTTP status."""
    if code in _QUOTA_CODES:
        text = f"{service} says that the quota is used up ({code})"
        return ProviderUnavailable(service.provider, text, reason="quota")
    if code == "rate_limit_exceeded":
        text = f"{service} has too many requests ({code})"
        return ProviderError(service.provider, text, reason="busy")
    if code.startswith("invalid_") or code == "context_length_exceeded":
        text = f"{service} refuses the request: {one_line(message)}"
        return _refused(service, text, message)
    text = f"{service} reports: {one_line(message)}"
    return ProviderError(service.provider, text, reason="service")


def unreachable(service: Service, cause: str) -> ProviderError:
    """Return the error of a connection that could not be made, or broke before the answer."""
    hint = service.proxy_hint or f"; is {service.option} right, and does it run?"
    text = f"{service} cannot be reached: {one_line(cause)}{hint}"
    return ProviderError(service.provider, text, reason="unreachable")


def unexpected(provider: str, error: Exception, message: str = "") -> ProviderError:
    """Return an error of a library that is none of the above. ``message``: instead of its own."""
    text = f"{type(error).__name__}: {one_line(message or str(error))}"
    return ProviderError(provider, text, reason="service")


def one_line(text: str) -> str:
    """Return ``text`` on one line, shortened and without keys."""
    return _SECRET.sub("***", " ".join(text.split()))[:_MAX_DETAIL]


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
