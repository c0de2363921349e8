"""A turn with LiteLLM: asks_litellm.py MODEL BASE_URL. Whether it is answered does not matter."""

import asyncio
import sys

from vixio.core.chunk import TextDelta
from vixio.core.errors import ProviderError
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.backend import LiteLLMAgentBackend
from vixio.providers.openai_agent.settings import LiteLLMAgentSettings


async def main(model: str, base_url: str) -> None:
    settings = {"model": model, "base_url": base_url, "api_key": "sk-secret"}
    backend = LiteLLMAgentBackend(LiteLLMAgentSettings.model_validate(settings))
    try:
        async for event in backend.create().reply(AgentRequest(1, "What time is it?")):
            if isinstance(event, TextDelta):
                sys.stdout.write(event.text)
    except ProviderError as error:
        sys.stdout.write(f"{type(error).__name__}: {error}")
    await backend.close()


asyncio.run(main(*sys.argv[1:]))
