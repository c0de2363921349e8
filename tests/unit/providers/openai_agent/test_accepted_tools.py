"""A service is sent as many tools as it takes, the most useful; what is left out is logged once."""

from __future__ import annotations

import logging

import pytest

from tests.support.llm_server import LLMServer, failure, text
from vixio.core.errors import ProviderError
from vixio.core.tools.types import ToolDefinition
from vixio.providers.openai_agent.accepted_tools import AcceptedTools
from vixio.providers.openai_agent.model import ModelCall, ModelTool
from vixio.providers.openai_agent.models import openai_model
from vixio.providers.openai_agent.offered import as_offered
from vixio.providers.openai_agent.settings import OpenAIAgentSettings


def _tool(name: str, source: str = "home") -> ModelTool:
    return as_offered(ToolDefinition(name, "", source=source))


def _names(tools: object) -> list[str]:
    assert isinstance(tools, list | tuple)
    return [tool.name for tool in tools]


def _refusal(words: str) -> ProviderError:
    error = ProviderError("x", "refused", retryable=False)
    error.detail = words
    return error


OFFERED = (
    _tool("a1", "zoo"),
    _tool("b1", "home"),
    _tool("lamp", "device"),
    _tool("timer", "reminders"),
    _tool("own", "local"),
    _tool("brought", "client"),
    _tool("time", "builtin"),
    _tool("a2", "zoo"),
)


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (0, ["a1", "b1", "lamp", "timer", "own", "brought", "time", "a2"]),
        (8, ["a1", "b1", "lamp", "timer", "own", "brought", "time", "a2"]),
        (6, ["a1", "lamp", "timer", "own", "brought", "time"]),
        (5, ["lamp", "timer", "own", "brought", "time"]),
        (4, ["lamp", "timer", "own", "time"]),
        (3, ["timer", "own", "time"]),
    ],
)
def test_the_most_useful_are_kept_in_their_order(most: int, kept: list[str]) -> None:
    assert _names(AcceptedTools("m", most).of(OFFERED)) == kept


def test_what_is_left_out_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    accepted = AcceptedTools("openai/m", 6)
    for _ in range(3):
        accepted.of(OFFERED)
        accepted.of(OFFERED[:7])  # another device
    assert [
        (
            record.getMessage(),
            vars(record)["model"],
            vars(record)["left_out"],
            vars(record)["tools"],
        )
        for record in caplog.records
    ] == [
        ("too many tools for the model", "openai/m", 2, "a2, b1"),
        ("too many tools for the model", "openai/m", 1, "b1"),
    ]


def test_what_is_refused_is_logged_once_and_remembered(caplog: pytest.LogCaptureFixture) -> None:
    accepted = AcceptedTools("openai/m", 0)
    assert accepted.blamed(_refusal("Invalid schema for function 'b1': odd"), OFFERED)
    assert "b1" not in _names(accepted.of(OFFERED))
    (record,) = caplog.records
    assert (record.levelno, vars(record)["tool"], vars(record)["source"]) == (
        logging.WARNING,
        "b1",
        "home",
    )
    # The same tool of another session is refused too, another one of that name is not.
    assert _names(accepted.of([_tool("b1")])) == []
    other = as_offered(ToolDefinition("b1", "", {"properties": {"a": {"type": "string"}}}))
    assert _names(accepted.of([other])) == ["b1"]


@pytest.mark.parametrize(
    "words",
    [
        "",
        "maximum context length is 8192 tokens",
        "Invalid schema for function 'another': odd",
        "tools[99].function is odd",
        "tools: maximum 4096 tools",
        "the tool choice is odd",
    ],
)
def test_other_refusals_concern_no_tool(words: str) -> None:
    accepted = AcceptedTools("m", 0)
    assert not accepted.blamed(_refusal(words), OFFERED)
    assert _names(accepted.of(OFFERED)) == _names(OFFERED)


def test_without_tools_none_is_to_blame() -> None:
    assert not AcceptedTools("m", 0).blamed(_refusal("Unknown name: Cannot find field"), ())


async def test_a_request_goes_again_a_few_times_only_and_names_the_last_reason() -> None:
    async with LLMServer() as server:
        settings = OpenAIAgentSettings(model="m", base_url=server.base_url, retries=3)
        shared = openai_model("x", settings)
        server.script(
            *(failure(400, f"Invalid schema for function '{tool.name}'") for tool in OFFERED)
        )
        call = ModelCall("", [{"role": "user", "content": "hi"}], OFFERED)
        with pytest.raises(ProviderError, match="function 'timer'"):
            [event async for event in shared.for_turn().stream(call)]
        assert [len(request["tools"]) for request in server.requests] == [8, 7, 6, 5]
        server.script(text("Hello."))
        await shared.close()


async def test_a_setting_bounds_the_number() -> None:
    async with LLMServer() as server:
        settings = OpenAIAgentSettings(model="m", base_url=server.base_url, max_tools=3)
        shared = openai_model("x", settings)
        server.script(text("Hello."))
        call = ModelCall("", [{"role": "user", "content": "hi"}], OFFERED)
        assert [event async for event in shared.for_turn().stream(call)]
        offered = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
        assert offered == ["timer", "own", "time"]
        await shared.close()
