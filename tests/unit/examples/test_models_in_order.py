"""The example of a list of models, run as its user runs it."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.llm_server import LLMServer, failure, text

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
async def test_the_second_model_answers_for_the_first() -> None:
    async with LLMServer() as first, LLMServer() as second:
        first.script(failure(503, "down"))
        second.script(text("Paris."), text("Berlin."))
        process = await warm.create_subprocess_exec(
            sys.executable,
            str(ROOT / "examples/models_in_order.py"),
            "What is the capital of France?",
            "And of Germany?",
            cwd=ROOT,
            env={
                **warm.kept(),
                "OPENAI_BASE_URL": first.base_url,
                "OPENAI_API_KEY": "k",
                "LOCAL_BASE_URL": second.base_url,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await asyncio.wait_for(process.communicate(), 150)
    assert process.returncode == 0, error.decode()
    lines = out.decode().splitlines()
    named = "[openai/qwen3:8b: 3+5 tokens, instead of openai/gpt-4.1-mini]"
    assert lines[:4] == [named, "Paris.", named, "Berlin."]
    assert "'state': 'open'" in lines[4]
    assert first.paths == ["/v1/responses"]
    assert [m["content"] for m in second.requests[1]["messages"][1:]] == [
        "What is the capital of France?",
        "Paris.",
        "And of Germany?",
    ]
