"""The signed address of a connection to Xunfei, and what its refusals and codes mean."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final
from urllib.parse import urlencode, urlsplit

from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.core.wall_clock import date_time
from vixio.providers.service_errors import Service, one_line
from vixio.providers.xunfei.settings import CONSOLE, NAME, Keys

SKEW_S: Final = 300
"""Seconds that the vendor lets a clock be wrong."""

_NO_LICENCE: Final = frozenset({10_110, 10_313, 11_200, 11_210})
_USED_UP: Final = frozenset({11_201})
_BUSY: Final = frozenset({11_202, 11_203, 10_222, 10_700})
_REQUEST: Final = frozenset({10_005, 10_106, 10_107, 10_139, 10_160, 10_161, 10_163})


def signed(url: str, keys: Keys, at: datetime) -> str:
    """Return an address with the signature of one connection (HMAC-SHA256); ``at``: the time."""
    where = urlsplit(url)
    date = format_datetime(at.astimezone(UTC), usegmt=True)
    origin = f"host: {where.netloc}\ndate: {date}\nGET {where.path} HTTP/1.1"
    digest = hmac.new(keys.api_secret.encode(), origin.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    authorization = (
        f'api_key="{keys.api_key}", algorithm="hmac-sha256", headers="host date request-line", '
        f'signature="{signature}"'
    )
    query = {
        "authorization": base64.b64encode(authorization.encode()).decode(),
        "date": date,
        "host": where.netloc,
    }
    return f"{url}?{urlencode(query)}"


def refused(
    service: Service, status: int, body: bytes, headers: Mapping[str, str]
) -> ProviderError:
    """Return the error of an upgrade that is refused: the clock, the key, or the product."""
    said, section = one_line(_words(body)), service.section
    ahead = _ahead(headers)
    dated = abs(ahead) >= SKEW_S - 5
    if status in (401, 403) and (dated or "valid date" in said):
        off = f"{abs(ahead) / 60:.0f} minutes {'ahead' if ahead > 0 else 'behind'}"
        text = (
            f"{service} refuses the signature ({status}): the clock of this machine is "
            f"{off if dated else 'wrong'}; set it, for example by NTP"
        )
        return ProviderUnavailable(NAME, text, reason="no_key")
    if status == 403 and "IP address" in said:
        text = (
            f"{service} refuses this machine's address ({said}): see the list of IPs at {CONSOLE}"
        )
        return ProviderUnavailable(NAME, text, reason="no_key")
    if status in (401, 403):
        text = (
            f"{service} refuses the signature ({status}: {said}): see {section}.api_key and "
            f"{section}.api_secret, which {CONSOLE} shows{service.proxy_hint}"
        )
        return ProviderUnavailable(NAME, text, reason="no_key")
    if status == 404:
        text = f"{service} has nothing at this path (404): see {section}.url"
        return ProviderUnavailable(NAME, text, reason="no_model")
    text = f"{service} answers {status}: {said}"
    return ProviderError(NAME, text, reason="busy" if status in (429, 503) else "service")


def of_code(section: str, code: int, words: str) -> ProviderError:
    """Return the error of a code within a conversation; ``words``: the vendor's own."""
    said = f"{one_line(words) or 'no reason given'} ({code})"
    if code in _NO_LICENCE:
        product = "product" if section == "asr" else "vcn"
        text = (
            f"the application has no licence for this service, or it is used up: {said}; is it "
            f"activated at {CONSOLE}, and do {section}.app_id and {section}.{product} fit it?"
        )
        return ProviderUnavailable(NAME, text, reason="no_key")
    if code in _USED_UP:
        text = f"the calls of today are used up: {said}; see {CONSOLE}"
        return ProviderUnavailable(NAME, text, reason="quota")
    if code in _BUSY:
        return ProviderError(NAME, f"the service is busy: {said}", reason="busy")
    if code in _REQUEST:
        text = f"the service refuses the request: {said}; see {section} in the settings"
        return ProviderError(NAME, text, retryable=False, reason=REQUEST)
    return ProviderError(NAME, f"the service reports: {said}", reason="service")


def now() -> datetime:
    """Return the time that a signature has."""
    return date_time(UTC)


def _ahead(headers: Mapping[str, str]) -> float:
    """Return by how many seconds our clock is ahead of the server's; 0 where it does not say."""
    try:
        theirs = parsedate_to_datetime(headers.get("Date", ""))
    except (TypeError, ValueError):
        return 0.0
    return (now() - theirs.astimezone(UTC)).total_seconds()


def _words(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text or "no reason given"
    found = found.get("message") if isinstance(found, dict) else None
    return found if isinstance(found, str) and found else "no reason given"
