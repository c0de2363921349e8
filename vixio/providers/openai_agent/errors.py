"""Classifies the errors between the agent and its model.

Importing this imports the SDK.
"""

from __future__ import annotations

from agents.exceptions import AgentsException, MaxTurnsExceeded

from vixio.core.errors import ProviderError
from vixio.providers import openai_errors
from vixio.providers.openai_errors import message_of
from vixio.providers.openai_status import one_line


def classify(provider: str, error: Exception, first_token_timeout: float = 0.0) -> ProviderError:
    """Return ``error`` as a ProviderError: one line, without a key that the server may quote."""
    if isinstance(error, MaxTurnsExceeded):
        return ProviderError(provider, "too many rounds of tool calls", retryable=False)
    if isinstance(error, AgentsException):
        text = f"unusable answer: {one_line(message_of(error))}"
        return ProviderError(provider, text, reason="service")
    return openai_errors.classify(provider, error, first_token_timeout)
