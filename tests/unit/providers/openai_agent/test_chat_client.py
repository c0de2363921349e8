"""The chat client sends and reads what OpenAI's own would."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.support.llm_server import Answer, Call, LLMServer, calls, text
from vixio.core.errors import ProviderError
from vixio.providers.openai_agent.chat_client import ChatClient, text_chunk
from vixio.providers.openai_agent.settings import OpenAIAgentSettings
from vixio.providers.openai_client import SharedClient

MESSAGES: Any = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "what is this"}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a lamp"},
]  # fmt: skip
TOOLS: Any = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


@pytest.fixture
async def server() -> AsyncIterator[LLMServer]:
    async with LLMServer() as made:
        yield made


async def by_openai(server: LLMServer, **fields: Any) -> list[ChatCompletionChunk]:  # noqa: ANN401 - JSON
    async with openai.AsyncOpenAI(
        base_url=server.base_url, api_key="none", max_retries=0
    ) as client:
        stream: Any = await client.chat.completions.create(model="m", messages=MESSAGES, **fields)
        return [chunk async for chunk in stream]


async def by_ours(server: LLMServer, **fields: Any) -> list[ChatCompletionChunk]:  # noqa: ANN401 - JSON
    client = SharedClient("m", "agent", OpenAIAgentSettings(base_url=server.base_url), timeout=30.0)
    await client.start()
    try:
        stream = await ChatClient(client, "m").create(model="m", messages=MESSAGES, **fields)
        return [chunk async for chunk in stream]
    finally:
        await client.close()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tools": TOOLS, "tool_choice": "none", "temperature": 0.5, "top_p": openai.omit},
        {"tools": TOOLS, "extra_body": {"enable_thinking": False}},
        {"extra_body": {"messages": []}, "extra_headers": {"X-Seen": "yes"}},
    ],
    ids=["plain", "tools", "extra", "overridden"],
)
async def test_it_sends_and_reads_the_same(server: LLMServer, fields: dict[str, Any]) -> None:
    answers = []
    for ask in (by_openai, by_ours):
        server.script(text("Hello ", "there."))
        answers.append(await ask(server, stream=True, **fields))
    assert server.requests[0] == server.requests[1]
    assert answers[0] == answers[1]
    assert [chunk.model_dump() for chunk in answers[0]] == [
        chunk.model_dump() for chunk in answers[1]
    ]
    assert len(answers[0]) > 3


async def test_a_call_is_read_as_the_client_does(server: LLMServer) -> None:
    answers = []
    for ask in (by_openai, by_ours):
        server.script(calls(Call("c1", "look", '{"at": "lamp"}'), saying="Let me see."))
        answers.append(await ask(server, stream=True, tools=TOOLS))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("media", ["", "text/plain", "application/json", "text/event-stream"])
async def test_a_stream_by_any_name_is_read(server: LLMServer, media: str) -> None:
    answer = text("Hello ", "there.")
    signs = ["retry: 3000\n\n", "event: ping\ndata:\n\n", ": still there\n\n"]
    answer.steps[:0] = signs
    answer.headers = {"content-type": media} if media else {}
    server.script(answer)
    chunks = await by_ours(server, stream=True)
    said = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(said) == "Hello there."


@pytest.mark.parametrize(
    ("body", "told", "retryable"),
    [
        (
            '{"error": {"message": "no such voice", "code": "invalid_model"}}',
            "no such voice",
            False,
        ),
        ('{"error": "too busy"}', "too busy", True),
        ('{"choices": []}', "no stream", True),
    ],
)
async def test_an_error_with_status_200_is_an_error(
    server: LLMServer, body: str, told: str, retryable: bool
) -> None:
    server.script(Answer([body], headers={"content-type": "application/json; charset=utf-8"}))
    with pytest.raises(ProviderError, match=told) as raised:
        await by_ours(server, stream=True)
    assert raised.value.retryable == retryable


async def test_a_connection_serves_many_answers(server: LLMServer) -> None:
    client = SharedClient("m", "agent", OpenAIAgentSettings(base_url=server.base_url), timeout=30.0)
    await client.start()
    for _ in range(3):
        server.script(text("Hello."))
        stream = await ChatClient(client, "m").create(model="m", messages=MESSAGES, stream=True)
        assert [chunk async for chunk in stream]
    await client.close()
    assert server.connections == 1


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "a", "refusal": None},
        {"reasoning_content": "hm"},
        {"tool_calls": []},
        {"content": "a", "something": "new"},
    ],
)
def test_whatever_is_not_plain_text_is_no_text_chunk(delta: dict[str, Any]) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    assert text_chunk({**body, "choices": [choice]}) is None
    plain = {**choice, "delta": {"content": "a"}}
    assert text_chunk({**body, "choices": [plain]}) is not None
    assert text_chunk({**body, "choices": [plain], "usage": None}) is not None  # asked for usage
    assert text_chunk({**body, "choices": [{**plain, "logprobs": {"content": []}}]}) is None
    assert text_chunk({**body, "choices": [plain], "usage": {"total_tokens": 1}}) is None
    assert text_chunk({**body, "choices": [plain], "new": 1}) is None
    assert text_chunk({**body, "choices": [{"index": 0}]}) is None
