"""Thinking is switched off by host, and what a server that thinks wants back is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.llm_server import LLMServer, failure, text
from tests.unit.providers.openai_agent.test_chat_model import CALLED, OUTPUT, QUESTION, ask
from vixio.core.errors import ProviderError
from vixio.providers.openai_agent import models
from vixio.providers.openai_agent.model import ModelCall
from vixio.providers.openai_agent.models import openai_model, without_thinking
from vixio.providers.openai_agent.settings import OpenAIAgentSettings

DISABLED = {"thinking": {"type": "disabled"}}


@pytest.fixture
async def server() -> AsyncIterator[LLMServer]:
    async with LLMServer() as made:
        yield made


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is the server of a vendor that can be told not to think."""
    monkeypatch.setattr(models, "_THINKING", {"127.0.0.1": DISABLED})


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", {"enable_thinking": False}),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", {"enable_thinking": False}),
        ("https://api.deepseek.com", DISABLED),
        ("https://open.bigmodel.cn/api/paas/v4/", DISABLED),
        ("https://api.moonshot.cn/v1", DISABLED),
        ("https://ark.cn-beijing.volces.com/api/v3", DISABLED),
        ("https://api.openai.com/v1", {}),
        ("https://deepseek.com.example.org/v1", {}),
        ("https://notdeepseek.com/v1", {}),
        ("http://[broken", {}),
    ],
)
def test_hosts_are_told(url: str, told: dict[str, object]) -> None:
    assert without_thinking(url) == told


@pytest.mark.usefixtures("known")
async def test_it_is_off_unless_it_is_wanted(server: LLMServer) -> None:
    server.script(*(text("Hello."),) * 3)
    await ask(server)
    await ask(server, thinking=True)
    await ask(server, extra_body={"thinking": {"type": "enabled"}})
    told = [request.get("thinking") for request in server.requests]
    assert told == [{"type": "disabled"}, None, {"type": "enabled"}]


@pytest.mark.usefixtures("known")
async def test_a_model_that_refuses_is_asked_without(server: LLMServer) -> None:
    refusal = failure(400, "Unrecognized request argument supplied: thinking")
    server.script(refusal, text("Hello."), text("Hello again."))
    settings = OpenAIAgentSettings(model="m", base_url=server.base_url, retries=0)
    shared = openai_model("x", settings)
    for _ in range(2):
        events = [each async for each in shared.for_turn().stream(ModelCall("", [QUESTION]))]
        assert len(events) > 1
    await shared.close()
    assert ["thinking" in request for request in server.requests] == [True, False, False]


@pytest.mark.usefixtures("known")
async def test_another_refusal_is_told(server: LLMServer) -> None:
    server.script(failure(400, "Invalid messages"))
    with pytest.raises(ProviderError, match="Invalid messages"):
        await ask(server)
    assert len(server.requests) == 1


async def test_thoughts_that_were_not_kept_are_sent_empty(server: LLMServer) -> None:
    words = "The reasoning_content in the thinking mode must be passed back to the API."
    server.script(failure(400, words), text("A lamp."))
    await ask(server, [QUESTION, CALLED, OUTPUT, QUESTION], thinking=True)
    first, second = (request["messages"] for request in server.requests)
    assert "reasoning_content" not in str(first)
    assert [message.get("reasoning_content") for message in second] == [
        *(None, None, "", None, None)
    ]


async def test_fastgpt_goes_on_with_a_conversation(server: LLMServer) -> None:
    server.script(*(text("Hello."),) * 4)
    settings = OpenAIAgentSettings(model="m", base_url=server.base_url, retries=0, chat_id=True)
    shared = openai_model("x", settings)
    answered = {"role": "assistant", "content": "Hi."}
    for user, items in [
        ("a", [QUESTION]),
        ("a", [QUESTION, answered, QUESTION]),
        ("b", [QUESTION, answered, QUESTION]),
        ("a", [QUESTION]),
    ]:
        call = ModelCall("", items, user=user)
        assert [each async for each in shared.for_turn().stream(call)]
    await shared.close()
    first, second, third, fourth = (request["chatId"] for request in server.requests)
    assert first == second
    assert len({first, third, fourth}) == 3


async def test_other_servers_get_no_chat_id(server: LLMServer) -> None:
    server.script(text("Hello."))
    await ask(server)
    assert "chatId" not in server.requests[0]
