"""Errors of the vision server and their classification."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.contract.vision_server import VisionServer
from tests.support.llm_server import Answer, Cut, LLMServer, Stall, failure, whole
from vixio.cli.diagnostics.pictures import RED, plain_png
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.openai_vision.provider import (
    MAX_ANSWER_CHARS,
    OpenAIVisionProvider,
    OpenAIVisionSettings,
)
from vixio.providers.vision import Photo

PHOTO = Photo(plain_png(RED), "image/png")


@pytest.fixture
async def server() -> AsyncIterator[LLMServer]:
    async with LLMServer() as server:
        yield server


@pytest.fixture
async def vision(server: LLMServer) -> AsyncIterator[OpenAIVisionProvider]:
    provider = OpenAIVisionProvider(
        OpenAIVisionSettings(base_url=server.base_url, retries=0, timeout=10)
    )
    await provider.start()
    yield provider
    await provider.close()


@pytest.mark.parametrize(
    ("answer", "reason", "retryable"),
    [
        (failure(401, "bad key"), "no_key", False),
        (failure(404, "no such model"), "no_model", False),
        (failure(429, "slow down"), "busy", True),
        (failure(500, "broken"), "service", True),
        (Answer([], before_head=Cut()), "unreachable", True),
        (Answer(["{}"], headers={"content-type": "application/json"}), "service", True),
        (failure(200, "no photo", "invalid_image"), "request", False),
        (whole(""), "service", True),
        (whole("<think>forever"), "service", True),
    ],
    ids=[
        "key",
        "model",
        "quota",
        "server",
        "cut",
        "nothing",
        "in disguise",
        "empty",
        "thoughts alone",
    ],
)
async def test_a_failure_is_classed(
    server: LLMServer, vision: OpenAIVisionProvider, answer: Answer, reason: str, retryable: bool
) -> None:
    server.script(answer, whole("A lamp."))
    with pytest.raises(ProviderError) as caught:
        await vision.explain(PHOTO, "what is it?")
    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
    assert await vision.explain(PHOTO, "what is it?") == "A lamp."


async def test_a_stall_is_given_up_and_the_connection_with_it(server: LLMServer) -> None:
    provider = OpenAIVisionProvider(
        OpenAIVisionSettings(base_url=server.base_url, retries=0, timeout=0.2)
    )
    await provider.start()
    stall = Stall()
    server.script(Answer([], before_head=stall))
    while not stall.reached.is_set():  # on a busy machine the time may be over before it is sent
        with pytest.raises(ProviderTimeout):
            await provider.explain(PHOTO, "what is it?")
    await asyncio.wait_for(server.hung_up.wait(), 10)
    await provider.close()


async def test_closing_ends_what_is_asked(server: LLMServer, vision: OpenAIVisionProvider) -> None:
    stall = Stall()
    server.script(Answer([], before_head=stall))
    asking = asyncio.create_task(vision.explain(PHOTO, "what is it?"))
    await asyncio.wait_for(stall.reached.wait(), 10)
    await vision.close()
    with pytest.raises(ProviderError, match="is closed"):
        await asking
    await asyncio.wait_for(server.hung_up.wait(), 10)


async def test_concurrent_questions_get_their_own_answers() -> None:
    async with VisionServer() as server:
        provider = OpenAIVisionProvider(OpenAIVisionSettings(base_url=server.base_url))
        await provider.start()
        questions = [f"question {number}" for number in range(10)]
        answers = await asyncio.gather(*(provider.explain(PHOTO, each) for each in questions))
        assert [each.rpartition(" ")[0] for each in answers] == questions
        await provider.close()


async def test_a_long_answer_is_cut(server: LLMServer, vision: OpenAIVisionProvider) -> None:
    server.script(whole("a lamp " * 2_000))
    assert len(await vision.explain(PHOTO, "what is it?")) <= MAX_ANSWER_CHARS


async def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderUnavailable, match=r"vision.api_key, or OPENAI_API_KEY"):
        await OpenAIVisionProvider().start()
