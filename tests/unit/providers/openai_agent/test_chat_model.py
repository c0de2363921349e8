"""The Chat Completions API: what is sent, and what is made of each way in which servers answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from tests.support.llm_server import Answer, Call, LLMServer, calls, chunk, text
from vixio.core.errors import ProviderError
from vixio.core.tools.types import ToolDefinition
from vixio.providers.openai_agent import model
from vixio.providers.openai_agent.chat_messages import to_messages
from vixio.providers.openai_agent.models import openai_model
from vixio.providers.openai_agent.settings import OpenAIAgentSettings

SCHEMA = {"type": "object", "properties": {}}
LOOK = model.ModelTool("look", "Look.", SCHEMA, ToolDefinition("look", "Look."))
QUESTION: model.Item = {"role": "user", "content": "what is this"}
CALLED: model.Item = {
    "type": "function_call",
    "call_id": "c1",
    "name": "look",
    "arguments": "{}",
}
OUTPUT: model.Item = {"type": "function_call_output", "call_id": "c1", "output": "a lamp"}


@pytest.fixture
async def server() -> AsyncIterator[LLMServer]:
    async with LLMServer() as made:
        yield made


async def ask(
    server: LLMServer,
    items: list[model.Item] | None = None,
    *,
    tools: tuple[model.ModelTool, ...] = (LOOK,),
    may_call: bool = True,
    **settings: Any,  # noqa: ANN401 - the fields of the settings
) -> tuple[list[model.Words], model.Answer]:
    """Return the words and the answer of one model call."""
    shared = openai_model(
        "x", OpenAIAgentSettings(model="m", base_url=server.base_url, retries=0, **settings)
    )
    call = model.ModelCall("be brief", items or [QUESTION], tools, may_call)
    try:
        *words, answer = [event async for event in shared.for_turn().stream(call)]
    finally:
        await shared.close()
    assert isinstance(answer, model.Answer)
    return [each for each in words if isinstance(each, model.Words)], answer


async def test_it_sends_what_openais_client_sends(server: LLMServer) -> None:
    server.script(text("Hello."), text("Hello."))
    await ask(
        server,
        [QUESTION, CALLED, OUTPUT],
        may_call=False,
        temperature=0.5,
        max_tokens=9,
        reasoning_effort="low",
        parallel_tool_calls=False,
        extra_body={"enable_thinking": False, "temperature": 0.6},
    )
    async with openai.AsyncOpenAI(
        base_url=server.base_url, api_key="none", max_retries=0
    ) as theirs:
        messages: Any = [
            {"role": "system", "content": "be brief"},
            QUESTION,
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a lamp"},
        ]  # fmt: skip
        tools: Any = [{"type": "function", "function": {
            "name": "look", "description": "Look.", "strict": False,
            "parameters": SCHEMA}}]  # fmt: skip
        stream = await theirs.chat.completions.create(
            model="m",
            messages=messages,
            tools=tools,
            tool_choice="none",
            stream=True,
            stream_options={"include_usage": True},
            temperature=0.5,
            max_tokens=9,
            reasoning_effort="low",
            parallel_tool_calls=False,
            extra_body={"enable_thinking": False, "temperature": 0.6},
        )
        assert [event async for event in stream]
    assert server.requests[0] == server.requests[1]


async def test_options_of_tools_are_sent_only_with_tools(server: LLMServer) -> None:
    server.script(text("."))
    await ask(server, tools=(), may_call=False, parallel_tool_calls=True, include_usage=False)
    assert server.requests[0].keys() == {"model", "messages", "stream"}


async def test_usage_and_words(server: LLMServer) -> None:
    server.script(text("Hello ", "there."))
    words, answer = await ask(server)
    assert [each.text for each in words] == ["Hello ", "there."]
    assert answer.items == [{"role": "assistant", "content": "Hello there."}]
    assert (answer.use.model, answer.use.input_tokens, answer.use.output_tokens) == ("x/m", 3, 5)


async def test_usage_of_another_shape_counts_nothing(server: LLMServer) -> None:
    for usage in (5, {"prompt_tokens": "many", "prompt_tokens_details": []}):
        server.script(Answer([chunk({"content": "."}, "stop", usage=usage)]))
        _, answer = await ask(server)
        assert (answer.use.input_tokens, answer.use.cached_tokens) == (0, 0)


async def test_cached_tokens_are_counted(server: LLMServer) -> None:
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 20},
    }
    server.script(Answer([chunk({"content": "."}, "stop", usage=usage)]))
    _, answer = await ask(server)
    assert answer.use.cached_tokens == 20


def test_calls_stand_with_the_words_before_them() -> None:
    said = {"role": "assistant", "content": "Let me see."}
    messages = to_messages("", [QUESTION, said, CALLED, {**CALLED, "call_id": "c2"}, OUTPUT])
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["content"] == "Let me see."
    assert [call["id"] for call in messages[1]["tool_calls"]] == ["c1", "c2"]
    assert "tool_calls" not in said


def test_parts_become_text() -> None:
    output = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    (message,) = to_messages("", [{**OUTPUT, "output": output}])
    assert message["content"] == "a\nb"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_what_a_server_thought_goes_back_with_its_calls_only(
    server: LLMServer, field: str
) -> None:
    thinking = calls(Call("c1", "look", "{}"))
    thinking.steps[1:1] = [chunk({field: "I should "}), chunk({field: "look."})]
    answered = text("A lamp.")
    answered.steps.insert(1, chunk({field: "Easy."}))
    server.script(thinking, answered)
    words, answer = await ask(server)
    assert words == []
    (message,) = to_messages("", answer.items)
    assert message[field] == "I should look."
    _, answer = await ask(server)
    assert answer.items == [{"role": "assistant", "content": "A lamp."}]


async def test_what_a_service_adds_to_a_call_goes_back(server: LLMServer) -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    function = {"name": "look", "arguments": "{}"}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    server.script(Answer([chunk({"tool_calls": [{**call, "extra_content": extra}]}, "tool_calls")]))
    _, answer = await ask(server)
    (message,) = to_messages("", answer.items)
    assert message["tool_calls"] == [
        {"id": "c1", "type": "function", "function": function, "extra_content": extra}
    ]


@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=["index 0", "no index"])
async def test_whole_calls_without_an_index_of_their_own(
    server: LLMServer, index: dict[str, int]
) -> None:
    made = [
        {**index, "id": f"c{n}", "function": {"name": "look", "arguments": f'{{"at": {n}}}'}}
        for n in (1, 2)
    ]
    server.script(Answer([chunk({"tool_calls": [call]}) for call in made]))
    _, answer = await ask(server)
    assert [(call["call_id"], call["arguments"]) for call in answer.calls] == [
        ("c1", '{"at": 1}'),
        ("c2", '{"at": 2}'),
    ]


async def test_an_id_that_is_sent_with_each_piece_is_one_call(server: LLMServer) -> None:
    pieces = ['{"at": ', '"lamp"}']
    server.script(
        Answer(
            [
                chunk({"tool_calls": [{"index": 0, "id": "c1", "function": function}]})
                for function in ({"name": "look", "arguments": pieces[0]}, {"arguments": pieces[1]})
            ]
        )
    )
    _, answer = await ask(server)
    assert [call["arguments"] for call in answer.calls] == ["".join(pieces)]


async def test_words_in_parts(server: LLMServer) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [thought, {"type": "text", "text": "Hello."}]
    server.script(Answer([chunk({"content": [thought]}), chunk({"content": parts}, "stop")]))
    words, _ = await ask(server)
    assert [each.text for each in words] == ["Hello."]


@pytest.mark.parametrize("media", ["", "text/plain", "application/json", "text/event-stream"])
async def test_a_stream_by_any_name_is_read(server: LLMServer, media: str) -> None:
    answer = text("Hello ", "there.")
    signs = ["retry: 3000\n\n", "event: ping\ndata:\n\n", ": still there\n\n"]
    answer.steps[:0] = signs
    answer.headers = {"content-type": media} if media else {}
    server.script(answer)
    words, _ = await ask(server)
    assert "".join(each.text for each in words) == "Hello there."


@pytest.mark.parametrize(
    "ending", [["data: [DONE]\n\n"], [], [chunk({}, "length")]], ids=["done", "end", "length"]
)
async def test_words_are_an_answer_however_they_end(server: LLMServer, ending: list[str]) -> None:
    server.script(Answer([chunk({"content": "So far"}), *ending]))
    _, answer = await ask(server)
    assert answer.items == [{"role": "assistant", "content": "So far"}]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "broke off"),
        ([chunk({"role": "assistant", "content": ""})], "broke off"),
        ([chunk({}, "length")], "max_tokens"),
        ([*calls(Call("c1", "look", '{"at": 1')).steps[:-3], chunk({}, "length")], "max_tokens"),
    ],
    ids=["nothing", "no words", "no words within the limit", "half a call"],
)
async def test_what_is_no_answer_is_an_error(
    server: LLMServer, steps: list[Any], told: str
) -> None:
    server.script(Answer(steps))
    with pytest.raises(ProviderError, match=told):
        await ask(server)


async def test_half_an_emoji_of_an_answer_can_be_sent_back(server: LLMServer) -> None:
    body = {"choices": [{"index": 0, "delta": {"content": "\ud83d"}, "finish_reason": "stop"}]}
    server.script(Answer([f"data: {json.dumps(body)}\n\n"]), text("."))
    _, answer = await ask(server)
    assert answer.items == [{"role": "assistant", "content": "\ufffd"}]
    await ask(server, [QUESTION, *answer.items, QUESTION])
    assert server.requests[1]["messages"][2]["content"] == "\ufffd"


async def test_an_answer_without_words_is_one(server: LLMServer) -> None:
    server.script(text())
    words, answer = await ask(server)
    assert (words, answer.items) == ([], [])


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
        await ask(server)
    assert raised.value.retryable == retryable


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [None]},
        {"choices": "x"},
        {"choices": [{"delta": {"tool_calls": [{"function": "x"}]}}]},
        {"choices": [{"delta": {"content": 5}}]},
    ],
)
async def test_events_of_another_shape_end_the_answer(
    server: LLMServer, body: dict[str, Any]
) -> None:
    server.script(Answer([f"data: {json.dumps(body)}\n\n"]))
    with pytest.raises(ProviderError) as raised:
        await ask(server)
    assert "an event that Chat Completions does not have" in str(raised.value)


async def test_a_connection_serves_many_answers(server: LLMServer) -> None:
    shared = openai_model("x", OpenAIAgentSettings(model="m", base_url=server.base_url))
    for _ in range(3):
        server.script(text("Hello."))
        call = model.ModelCall("", [QUESTION])
        assert [event async for event in shared.for_turn().stream(call)]
    await shared.close()
    assert server.connections == 1
