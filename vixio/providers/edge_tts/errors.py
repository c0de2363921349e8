"""Classification of edge-tts's errors. Importing this module imports edge-tts and aiohttp."""

from __future__ import annotations

import aiohttp
from edge_tts.exceptions import EdgeTTSException, NoAudioReceived, SkewAdjustmentError

from vixio.core.environment_proxy import proxy_for
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.edge_tts.settings import NAME, SERVICE

CAUGHT = (EdgeTTSException, aiohttp.ClientError, OSError, ValueError, LookupError, TypeError)
"""Errors of ``stream()``: the package's own, those of the connection, and those of reading a
response of an unexpected form, which the package does not check."""


def classify(
    error: Exception, voice: str, timeout: float, *, has_proxy: bool = False
) -> ProviderError:
    """Return ``error`` as a ProviderError. ``timeout``: seconds for the connection.

    ``has_proxy``: whether the settings have one, which goes before that of the environment.
    """
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, TimeoutError):  # aiohttp's timeouts are subclasses
        return ProviderTimeout(NAME, "connection", timeout)
    if isinstance(error, aiohttp.ClientResponseError):
        return _of_status(error.status)
    if isinstance(error, NoAudioReceived):
        # Also raised when the connection is lost before the first audio.
        text = f"the service made no sound: is there a voice {voice}, and does it read this text?"
        return ProviderError(NAME, text, reason="service")
    if isinstance(error, SkewAdjustmentError):
        return _of_status(403)
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        cause = getattr(error, "strerror", None) or type(error).__name__
        text = f"the service cannot be reached: {' '.join(str(cause).split())[:200]}"
        if (proxy := proxy_for(SERVICE)) is not None and not has_proxy:
            text = f"{text}, through {proxy}; {proxy.hint}"
        return ProviderError(NAME, text, reason="unreachable")
    text = f"the service's answer is not understood ({type(error).__name__})"
    return ProviderError(NAME, text, reason="service")


def _of_status(status: int) -> ProviderError:
    if status == 403:
        # edge-tts has already corrected its clock by the service's and retried.
        text = "the service refuses this client (403): pip install --upgrade edge-tts"
        return ProviderError(NAME, text, reason="service")
    if status == 429:
        return ProviderError(NAME, "too many requests (429)", reason="busy")
    return ProviderError(NAME, f"the service answers {status}", reason="service")
