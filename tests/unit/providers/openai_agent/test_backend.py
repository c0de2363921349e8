"""The shared part of agents, and its entries in the registry."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from pydantic import ValidationError

from tests.support.llm_server import LLMServer, text
from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.agent import AgentProvider, AgentRequest
from vixio.providers.openai_agent.backend import (
    LiteLLMAgentBackend,
    OpenAIAgentBackend,
    PhraseBookAgentBackend,
)
from vixio.providers.openai_agent.settings import LiteLLMAgentSettings, OpenAIAgentSettings
from vixio.providers.registry import resolve


def _settings(server: LLMServer, **fields: object) -> OpenAIAgentSettings:
    return OpenAIAgentSettings.model_validate(
        {"base_url": server.base_url, "model": "stand-in", "api_key": "sk-secret", **fields}
    )


async def _says(agent: AgentProvider) -> str:
    events = [event async for event in agent.reply(AgentRequest(1, "hi"))]
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.slow
def test_the_registry_knows_them_without_the_sdk() -> None:
    code = (
        "import sys; from vixio.providers.registry import resolve\n"
        "for name in ('openai', 'litellm', 'phrasebook'): resolve('agent', name)\n"
        "sys.exit(any(name in sys.modules for name in ('agents', 'openai', 'hassil')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_factories_make_their_backends() -> None:
    openai = resolve("agent", "openai")
    made = openai.create(openai.settings_model(base_url="http://127.0.0.1:9/v1"))
    assert isinstance(made, OpenAIAgentBackend)
    phrasebook = resolve("agent", "phrasebook")
    assert isinstance(phrasebook.create(phrasebook.settings_model()), PhraseBookAgentBackend)


def test_unknown_options_are_refused_and_the_key_is_not_shown() -> None:
    with pytest.raises(ValidationError, match="modle"):
        OpenAIAgentSettings.model_validate({"modle": "x"})
    settings = OpenAIAgentSettings.model_validate({"api_key": "sk-secret"})
    assert "sk-secret" not in repr(settings)


async def test_sessions_share_one_connection_pool(server: LLMServer) -> None:
    backend = OpenAIAgentBackend(_settings(server))
    server.script(text("one"), text("two"), text("three"))
    first, second = backend.create(), backend.create()
    assert await _says(first) == "one"
    await first.close()
    assert await _says(second) == "two"
    assert await _says(second) == "three"
    assert server.connections == 1
    await backend.close()


async def test_the_sampling_options_reach_the_server(server: LLMServer) -> None:
    options = {
        "temperature": 0.5,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "extra_body": {"enable_thinking": False},
    }
    backend = OpenAIAgentBackend(_settings(server, **options))
    server.script(text("."))
    await _says(backend.create())
    (request,) = server.requests
    assert request["model"] == "stand-in"
    assert request["enable_thinking"] is False
    assert {name: request[name] for name in options if name != "extra_body"} == {
        name: value for name, value in options.items() if name != "extra_body"
    }
    await backend.close()


async def test_a_closed_backend_does_not_start_again(server: LLMServer) -> None:
    backend = OpenAIAgentBackend(_settings(server))
    await backend.start()
    await backend.close()
    await backend.close()
    with pytest.raises(ProviderError, match="closed"):
        await _says(backend.create())


@pytest.mark.skipif(find_spec("litellm") is not None, reason="only without LiteLLM")
def test_without_its_extra_litellm_says_what_to_install() -> None:
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=litellm"):
        LiteLLMAgentBackend(LiteLLMAgentSettings(model="openai/x"))
