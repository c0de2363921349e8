"""A list of models behind one agent: where one fails before its first word, the next answers.

    OPENAI_API_KEY=... python examples/models_in_order.py "What is the capital of France?"

First OpenAI's Responses API, then a model on this machine (Ollama), at last the phrase book, which
needs neither key nor network. Each answer is printed with the model that gave it and its tokens;
without a question it reads them from standard input, a line each.
"""

from __future__ import annotations

import asyncio
import os
import sys

from vixio.core.chunk import TextDelta
from vixio.core.history import AssistantMessage, HistoryItem, UserMessage
from vixio.core.metrics import ModelUse
from vixio.core.tools.local import BUILTIN_LOCAL_TOOLS
from vixio.providers.agent import AgentRequest
from vixio.providers.openai_agent.fallback_backend import (
    FallbackAgentBackend,
    FallbackAgentSettings,
)

SETTINGS = FallbackAgentSettings.model_validate(
    {
        "first_token_timeout": 12,
        "models": [
            {
                "name": "openai",
                "api": "responses",
                "model": os.getenv("OPENAI_MODEL", "gpt-4.1-mini"),
                "base_url": os.getenv("OPENAI_BASE_URL", "https://api.openai.com/v1"),
                "api_key": os.getenv("OPENAI_API_KEY", "none"),
            },
            {
                "name": "openai",
                "model": os.getenv("LOCAL_MODEL", "qwen3:8b"),
                "base_url": os.getenv("LOCAL_BASE_URL", "http://127.0.0.1:11434/v1"),
                "first_token_timeout": 5,
            },
            {"name": "phrasebook"},
        ],
    }
)


async def main(questions: list[str]) -> None:
    """Answer ``questions`` in one conversation."""
    backend = FallbackAgentBackend(SETTINGS)
    agent = backend.create()
    await agent.initialize(BUILTIN_LOCAL_TOOLS, "You are a helpful assistant. Answer briefly.")
    history: list[HistoryItem] = []
    for turn_id, question in enumerate(questions, 1):
        used: list[ModelUse] = []
        answer = ""
        request = AgentRequest(turn_id, question, history, note_model=used.append)
        async for event in agent.reply(request):
            if isinstance(event, TextDelta):
                answer += event.text
        for use in used:
            passed = f", instead of {', '.join(use.passed_over)}" if use.passed_over else ""
            print(f"[{use.model}: {use.input_tokens}+{use.output_tokens} tokens{passed}]")
        print(answer, flush=True)
        history += [UserMessage(question), AssistantMessage(answer)]
    for model in backend.stats():
        print(model)
    await agent.close()
    await backend.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or [line.strip() for line in sys.stdin if line.strip()]))
