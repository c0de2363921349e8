"""LiteLLM asks for nothing but the model's server; needs the extra (`make test-litellm`)."""

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.llm_server import LLMServer, text
from tests.support.private_home import PrivateHome
from tests.support.trace import needs_strace, traced

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs the extra litellm"),
    needs_strace,
]

PROGRAM = Path(__file__).parents[3] / "support" / "asks_litellm.py"
SECONDS = 120.0


@pytest.mark.parametrize(
    ("model", "answered"),
    [
        ("openai/stand-in", True),
        ("openai/llama-3-8b", True),  # whose tokenizer it would fetch to count tokens
        ("anthropic/claude-sonnet-4-5", False),  # whose headers it would read from GitHub
    ],
)
async def test_litellm_asks_for_the_models_server_alone(
    server: LLMServer, model: str, answered: bool, tmp_path: Path
) -> None:
    home = PrivateHome(tmp_path)
    server.script(text("Grüß Gott."))
    output = tmp_path / "output"
    command = (sys.executable, PROGRAM, model, server.base_url)
    with traced(command, cwd=home.work, environment=home.environment, output=output) as run:
        contacts = await asyncio.to_thread(run.wait, SECONDS)
    said = output.read_text(encoding="utf-8")
    assert run.process.returncode == 0, said
    assert ("Grüß Gott." in said) is answered, said
    assert server.requests or not answered
    assert contacts == []
    assert home.unexpected() == []
