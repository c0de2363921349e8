"""The agent providers that every quirk is tried with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

from tests.quirks.quirk import Quirk, done, streamed
from tests.support import llm_server, responses_api
from tests.support.llm_server import Answer, LLMServer
from vixio.providers.openai_agent.backend import (
    LiteLLMAgentBackend,
    OpenAIAgentBackend,
    SharedModelBackend,
)
from vixio.providers.openai_agent.settings import LiteLLMAgentSettings, OpenAIAgentSettings

Backend = Callable[[LLMServer], SharedModelBackend]


def chat(server: LLMServer) -> SharedModelBackend:
    """Chat Completions, through Vixio's own client."""
    return OpenAIAgentBackend(
        OpenAIAgentSettings(model="stand-in", base_url=server.base_url, retries=0)
    )


def responses(server: LLMServer) -> SharedModelBackend:
    """The Responses API, through the SDK."""
    settings = OpenAIAgentSettings(
        model="stand-in", base_url=server.base_url, retries=0, api="responses"
    )
    return OpenAIAgentBackend(settings)


def litellm(server: LLMServer) -> SharedModelBackend:
    """LiteLLM, through the SDK."""
    fields = {"model": "openai/stand-in", "base_url": server.base_url, "api_key": "k", "retries": 0}
    return LiteLLMAgentBackend(LiteLLMAgentSettings.model_validate(fields))


AGENTS: dict[str, Backend] = {"chat": chat, "responses": responses}
if find_spec("litellm") is not None:  # `make test-litellm`
    AGENTS["litellm"] = litellm


def applies(agent: str, quirk: Quirk) -> bool:
    """Whether a server of this API can have the quirk, and Vixio reads its stream itself."""
    return agent == "chat" or quirk.of_every_api


def script(agent: str, quirk: Quirk) -> Sequence[Answer]:
    """Return the answers of a turn with the quirk."""
    if quirk.answers:
        return quirk.answers
    if quirk.pieces:
        return [streamed(quirk.pieces), done()]
    api = responses_api if agent == "responses" else llm_server
    last = api.text(quirk.said)
    return [*quirk.refusals, *([api.calls(*quirk.calls)] if quirk.calls else []), last]
