"""The models that are the agent SDK's own. Importing this imports the SDK."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib import import_module

import httpx2
import openai
from agents import ModelSettings, OpenAIResponsesModel, set_tracing_disabled
from openai.types.shared import Reasoning

from vixio.core.environment_proxy import except_loopback, proxy_for
from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.openai_agent.model import Item
from vixio.providers.openai_agent.sdk_model import SdkModel
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    SamplingSettings,
)
from vixio.providers.openai_client import OFFICIAL_URL
from vixio.providers.service_client import KEPT_S, MAX_CONNECTIONS

set_tracing_disabled(True)  # a thread of the SDK would send traces to a cloud service


def responses_model(
    name: str, settings: OpenAIAgentSettings, timeout: float
) -> tuple[SdkModel, Callable[[], Awaitable[None]]]:
    """Return a model behind the Responses API, of which only OpenAI knows all events.

    With it the function that closes its client.
    """
    key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
    if not key and settings.base_url:
        key = "none"  # local servers need none, but the client requires one
    proxy = proxy_for(settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL)
    try:
        if proxy is not None:
            proxy.check("http", "https")
    except ConfigError as error:
        raise ProviderUnavailable(name, str(error), reason="unreachable") from None
    client = openai.AsyncOpenAI(
        api_key=key or None,
        base_url=settings.base_url,
        timeout=openai.Timeout(timeout + 5, connect=settings.connect_timeout),
        max_retries=0,  # the guard retries, and never after the first token
        http_client=openai.DefaultAsyncHttpxClient(
            transport=httpx2.AsyncHTTPTransport(
                proxy=proxy.url if proxy is not None else None,
                limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEPT_S),
            )
        ),
    )
    sampling = replace(_sampling(settings), store=settings.store)
    if settings.reasoning_effort not in (None, "none") and not settings.store:
        # Reasoning that the server does not store is sent back, encrypted, in the next round.
        sampling = replace(sampling, response_include=["reasoning.encrypted_content"])
    inner = OpenAIResponsesModel(settings.model, client)
    model = SdkModel(inner, name, sampling, fit=for_responses, timeout=timeout, proxy=proxy)
    return model, client.close


def for_responses(items: Sequence[Item]) -> list[Item]:
    """Leave out reasoning that the server neither stored nor encrypted: it would not find it."""
    return [
        item
        for item in items
        if item.get("type") != "reasoning" or item.get("encrypted_content") is not None
    ]


def litellm_model(name: str, settings: LiteLLMAgentSettings) -> SdkModel:
    """Return a model behind LiteLLM. Raises ProviderUnavailable without the extra."""
    try:
        litellm = import_module("litellm")
        from agents.extensions.models.litellm_model import LitellmModel
    except ImportError as error:
        raise ProviderUnavailable(name, f"needs: {how_to_install('litellm')}") from error
    litellm.suppress_debug_info = True  # type: ignore[attr-defined]  # it prints to the console
    # To count tokens of Llama and Cohere it would fetch their tokenizers from Hugging Face.
    litellm.disable_hf_tokenizer_download = True  # type: ignore[attr-defined]
    except_loopback()  # its HTTP clients read the environment by themselves
    proxy = proxy_for(settings.base_url) if settings.base_url else None
    key = settings.api_key.get_secret_value() if settings.api_key is not None else None
    inner = LitellmModel(settings.model, base_url=settings.base_url, api_key=key)
    sampling = replace(_sampling(settings), extra_args={"max_retries": 0})  # the guard retries
    limit = settings.first_token_timeout
    return SdkModel(inner, name, sampling, timeout=limit, proxy=proxy)


def _sampling(settings: SamplingSettings) -> ModelSettings:
    effort = settings.reasoning_effort
    return ModelSettings(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        reasoning=Reasoning(effort=effort) if effort is not None else None,
        parallel_tool_calls=settings.parallel_tool_calls,
        include_usage=settings.include_usage or None,
        extra_body=settings.extra_body,
    )
