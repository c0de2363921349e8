"""Facts over several turns of the offline assistant, with the real built-in tools."""

from __future__ import annotations

from tests.support.tool_turns import Talk
from vixio.core.chunk import Chunk, Sentence
from vixio.core.facts import InMemoryFactStore
from vixio.core.tools.runtime import ToolRuntime
from vixio.providers.openai_agent.backend import PhraseBookAgentBackend
from vixio.providers.openai_agent.settings import PhraseBookAgentSettings
from vixio.tools.builtin import builtin_source

DEVICE = "aa:bb:cc"


def said(chunks: list[Chunk]) -> str:
    return " ".join(chunk.text for chunk in chunks if isinstance(chunk, Sentence))


async def test_a_fact_is_kept_until_it_is_forgotten() -> None:
    facts = InMemoryFactStore()
    runtime = ToolRuntime([builtin_source(facts=facts)])
    backend = PhraseBookAgentBackend(PhraseBookAgentSettings())
    async with Talk(runtime, backend.create(), DEVICE) as talk:
        assert said(await talk.turn("remember that I like tea")).endswith("i like tea.")
        await talk.turn("remember that the key is under the mat")
        assert await facts.facts(DEVICE) == ["I like tea", "the key is under the mat"]
        assert "tea" in said(await talk.turn("what do you know about me"))
        assert "I have forgotten" in said(await talk.turn("forget that I like tea"))
        assert "did not remember" in said(await talk.turn("forget that I like tea"))
        assert await facts.facts(DEVICE) == ["the key is under the mat"]


async def test_forgetting_everything_needs_a_yes() -> None:
    facts = InMemoryFactStore()
    await facts.add(DEVICE, "I like tea")
    runtime = ToolRuntime([builtin_source(facts=facts)])
    backend = PhraseBookAgentBackend(PhraseBookAgentSettings())
    async with Talk(runtime, backend.create(), DEVICE) as talk:
        assert "yes or no" in said(await talk.turn("forget everything about me"))
        await talk.turn("no")
        assert await facts.facts(DEVICE) == ["I like tea"]
        await talk.turn("forget everything about me")
        assert "everything" in said(await talk.turn("yes"))
        assert await facts.facts(DEVICE) == []
