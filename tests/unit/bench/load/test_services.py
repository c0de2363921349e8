"""The stand-ins answer the real providers as the scripted ones do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import numpy as np
import openai
import pytest

from tests.unit.bench.load.marked import sound
from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import TextDelta
from vixio.core.history import AssistantMessage, UserMessage
from vixio.providers.agent import AgentRequest
from vixio.providers.asr import SpeechHints
from vixio.settings import Settings
from vixio_bench.load.providers import RATE, SENTENCE_MS
from vixio_bench.load.services.choice import HTTP, SCRIPTED, sections
from vixio_bench.load.services.http import HttpService
from vixio_bench.load.services.main import ServicesPlan
from vixio_bench.load.services.openai import OpenAIService
from vixio_bench.load.services.scripted import NOBODY, heard

SPEECH = b"\x01\x02" * RATE
"""A second of it."""


@asynccontextmanager
async def service(tool: str = "") -> AsyncIterator[Settings]:
    """Settings whose providers talk to a stand-in."""
    http = HttpService(OpenAIService(SPEECH, tool))
    url = f"http://127.0.0.1:{await http.start()}/v1"
    try:
        yield Settings.model_validate(sections(HTTP, {HTTP: url}))
    finally:
        http.stop()


def test_scripted_providers_need_no_sections() -> None:
    assert sections(SCRIPTED, {}) == {}


def test_a_plan_survives_its_way_to_the_process() -> None:
    from vixio_bench.load.control import Line

    plan = ServicesPlan(Line(1, "t", "services"), "http,edge", (3,), "self.lamp")
    assert ServicesPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("lead", [0.0, 0.4, 1.3])
def test_a_number_is_heard_wherever_it_is_said(lead: float) -> None:
    silence = bytes(pcm_bytes(lead, LISTEN_RATE))
    assert heard(silence + sound(41, 1.8) + bytes(16_000)) == "device 41"


def test_noise_and_too_little_sound_are_nobody() -> None:
    generator = np.random.default_rng(1)
    noise = np.round(generator.normal(0, 400, 2 * LISTEN_RATE)).astype("<i2").tobytes()
    assert heard(noise) == heard(b"") == heard(noise[:100]) == NOBODY


async def test_the_real_recogniser_hears_the_number() -> None:
    async with service() as settings:
        asr = settings.asr.create()
        await asr.start()
        stream = asr.open(SpeechHints((), "en"))
        pcm = sound(1_234)
        for start in range(0, len(pcm), 1_920):
            await stream.feed(pcm[start : start + 1_920])
        assert (await stream.finish()).text == "device 1234"
        await stream.close()
        await asr.close()


async def test_the_real_agent_reads_its_answer_a_word_at_a_time() -> None:
    async with service() as settings:
        backend = settings.agent.create()
        await backend.start()
        agent = backend.create()
        await agent.initialize((), "be brief")
        before = (UserMessage("device 7"), AssistantMessage("Device 7 in turn 1 for 3000 ms."))
        request = AgentRequest(2, "device 7", before)
        words = [each.text async for each in agent.reply(request) if isinstance(each, TextDelta)]
        assert len(words) > 5
        assert "".join(words).strip() == f"Device 7 in turn 2 for {SENTENCE_MS} ms."
        await agent.close()
        await backend.close()


async def test_the_real_voice_speaks_as_long_as_the_sentence_says() -> None:
    async with service() as settings:
        tts = settings.tts.create()
        await tts.start()
        pcm = b"".join([piece async for piece in tts.synthesize("Device 7 for 1500 ms.")])
        assert pcm == (SPEECH * 2)[: pcm_bytes(1.5, RATE)]
        await tts.close()


async def test_a_model_with_a_tool_calls_it_before_it_answers() -> None:
    http = HttpService(OpenAIService(SPEECH, "self.lamp.set"))
    url = f"http://127.0.0.1:{await http.start()}/v1"
    tool = {"type": "function", "function": {"name": "self_lamp_set", "parameters": {}}}
    said = {"role": "user", "content": "device 3"}
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:

        async def ask(*messages: object) -> tuple[str, list[str]]:
            stream: Any = await client.chat.completions.create(
                model="bench", messages=cast(Any, messages), tools=cast(Any, [tool]), stream=True
            )
            text, called = "", []
            async for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    calls = choice.delta.tool_calls or []
                    called += [call.function.name for call in calls if call.function]
            return text.strip(), [name or "" for name in called]

        assert await ask(said) == ("", ["self_lamp_set"])
        done = {"role": "tool", "tool_call_id": "call-1", "content": "true"}
        assert await ask(said, done) == ("Device 3 in turn 1 for 3000 ms.", [])
        failed = {"role": "tool", "tool_call_id": "call-1", "content": '{"error": "away"}'}
        assert (await ask(said, failed))[0].startswith("Nobody")
    http.stop()


async def test_an_unknown_path_is_refused_and_the_connection_goes_on() -> None:
    http = HttpService(OpenAIService(SPEECH))
    url = f"http://127.0.0.1:{await http.start()}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError):
            await client.models.list()
        async with asyncio.timeout(30):
            spoken = await client.audio.speech.create(
                model="bench", voice="v", input="for 100 ms", response_format="pcm"
            )
        assert len(spoken.content) == pcm_bytes(0.1, RATE)
    http.stop()
