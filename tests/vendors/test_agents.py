"""Agents at a service against their stand-ins: memory, variables, stopping, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from importlib.resources import files

import pytest
import pytest_asyncio

from tests.support.waiting import until
from tests.vendors.agents import KITCHEN, answer, coze, dify
from vixio.core.agent import AgentRequest
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.history import AssistantMessage, HistoryItem, UserMessage
from vixio.providers.agent import AgentBackend
from vixio.providers.health import Verifiable
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.coze import service as coze_service
from vixio_bench.vendors.coze.service import CozeService
from vixio_bench.vendors.dify import service as dify_service
from vixio_bench.vendors.dify.service import REPLACED, DifyService

BEFORE: list[HistoryItem] = [UserMessage("hello"), AssistantMessage("Hi.")]
Make = Callable[..., AgentBackend]
Service = DifyService | CozeService
Both = tuple[Service, Make]


@pytest_asyncio.fixture(params=["dify", "coze"])
async def both(request: pytest.FixtureRequest) -> AsyncIterator[Both]:
    """A service and what makes a backend on it."""
    async with DifyService() if request.param == "dify" else CozeService() as service:
        make: Make = dify if isinstance(service, DifyService) else coze
        yield service, make
        assert not service.account.violations
    assert asyncio.all_tasks() == {asyncio.current_task()}


def recorded(vendor: str) -> dict[str, str]:
    page = files(f"vixio_bench.vendors.{vendor}").joinpath("page.md").read_text()
    return dict(re.findall(r"^\| ([^|]+) \| `(\{.*\})` \|$", page, re.MULTILINE))


async def test_a_question_is_that_of_the_page(both: Both) -> None:
    service, make = both
    backend = make(service)
    assert await answer(backend, "你好") == "You said 你好."
    vendor = "dify" if isinstance(service, DifyService) else "coze"
    assert service.asked == [json.loads(recorded(vendor)["a question"])]
    await backend.close()


async def test_a_device_goes_on_with_its_conversation(both: Both) -> None:
    service, make = both
    backend = make(service)
    await answer(backend, "one")
    await answer(backend, "two", BEFORE)  # also in another session
    await answer(backend, "elsewhere", BEFORE, device="02:00:00:00:00:02")
    await answer(backend, "three")  # the conversation began anew
    await answer(backend, "four", BEFORE)
    assert list(service.conversations.values()) == [
        ["one", "two"],
        ["elsewhere"],
        ["three", "four"],
    ]
    await backend.close()


async def test_a_conversation_that_was_deleted_begins_anew() -> None:
    async with DifyService() as service:
        backend = dify(service)
        await answer(backend, "one")
        service.conversations.clear()
        assert await answer(backend, "two", BEFORE) == "You said two."
        await backend.close()


async def test_the_prompt_gets_what_it_asks_for(both: Both) -> None:
    service, make = both
    given = {"rules": "{instructions} Speak {language}.", "who": "{device}", "sex": "{sex}"}
    name = "inputs" if isinstance(service, DifyService) else "variables"
    backend = make(service, **{name: given})
    await answer(backend, "hello", language="zh-CN")
    sent = service.asked[0]["inputs" if isinstance(service, DifyService) else "custom_variables"]
    assert sent == {"rules": "Be brief. Speak zh-CN.", "who": KITCHEN, "sex": "{sex}"}
    await backend.close()


async def test_thoughts_are_not_spoken(both: Both) -> None:
    service, make = both
    service.reply = lambda query: "<think>They greet me.</think>\n\nHello!"
    backend = make(service)
    assert (await answer(backend, "hello")).strip() == "Hello!"
    await backend.close()


async def test_an_answer_that_nobody_hears_is_stopped_there(both: Both) -> None:
    service, make = both
    service.fail(Trouble.STALL)
    backend = make(service)
    agent = backend.create()
    await agent.initialize()
    reply = agent.reply(AgentRequest(1, "a story", device_id=KITCHEN))
    await anext(reply)
    await reply.aclose()  # type: ignore[attr-defined]  # an async generator behind the interface
    await agent.close()
    # The next question waits for that: a conversation has one answer at a time.
    assert await answer(backend, "stop", BEFORE) == "You said stop."
    assert len(service.stopped) == 1
    assert list(service.conversations.values()) == [["a story", "stop"]]
    await backend.close()


@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, "no-last"])
async def test_an_answer_that_breaks_off_is_an_error(both: Both, trouble: str) -> None:
    service, make = both
    service.fail(trouble)
    backend = make(service)
    with pytest.raises(ProviderError):
        await answer(backend, "hello")
    assert await answer(backend, "again", BEFORE) == "You said again."
    await backend.close()


async def test_an_answer_that_stalls_is_given_up(both: Both) -> None:
    service, make = both
    service.fail(Trouble.STALL)
    backend = make(service, stall_timeout=0.3)
    with pytest.raises(ProviderError, match=r"no further token within 0\.3 s"):
        await answer(backend, "hello")
    await until(lambda: len(service.stopped) == 1)
    await backend.close()


@pytest.mark.parametrize(
    ("said", "heard"), [("I", "I may not."), ("Something.", "Something.\nI may not.")]
)
async def test_an_answer_that_is_replaced_is_heard(said: str, heard: str) -> None:
    async with DifyService() as service:
        service.reply = lambda query: said
        service.kind = "message"
        service.fail(REPLACED)
        backend = dify(service)
        assert await answer(backend, "hello") == heard
        await backend.close()


async def test_what_is_wrong_is_told(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    service, make = both
    monkeypatch.delenv("DIFY_API_KEY", raising=False)
    monkeypatch.delenv("COZE_API_TOKEN", raising=False)
    with pytest.raises(ProviderUnavailable, match=r"set agent\.api_key or (DIFY|COZE)_API_"):
        await make(service, api_key=None).start()
    other = make(service, api_key="app-of-somebody-else")
    await other.start()
    assert isinstance(other, Verifiable)
    with pytest.raises(ProviderUnavailable, match=r"refuses") as caught:
        await other.verify()
    assert "somebody" not in str(caught.value)
    with pytest.raises(ProviderUnavailable, match=r"api_key"):
        await answer(other, "hello")
    await other.close()
    backend = make(service)
    await backend.start()
    assert isinstance(backend, Verifiable)
    assert await backend.verify()
    await backend.close()


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        ("app_unavailable", "no_model", "published"),
        ("not_chat_app", "no_model", "workflow"),
        ("provider_not_initialize", "no_key", "Model Provider"),
        ("provider_quota_exceeded", "quota", "quota"),
        ("invalid_param", "request", r"agent\.inputs"),
    ],
)
async def test_codes_of_dify_say_what_to_do(code: str, reason: str, words: str) -> None:
    async with DifyService() as service:
        service.code = code
        backend = dify(service)
        with pytest.raises(ProviderError, match=words) as caught:
            await answer(backend, "hello")
        assert caught.value.reason == reason
        assert dify_service.KEY not in str(caught.value)
        await backend.close()


@pytest.mark.parametrize(
    ("code", "reason"),
    [(4101, "no_key"), (4015, "no_model"), (4028, "quota"), (4000, "request"), (5000, "service")],
)
async def test_codes_of_coze_say_what_to_do(code: int, reason: str) -> None:
    async with CozeService() as service:
        service.code = code
        backend = coze(service)
        with pytest.raises(ProviderError, match=rf"\({code}\)") as caught:
            await answer(backend, "hello")
        assert caught.value.reason == reason
        assert coze_service.KEY not in str(caught.value)
        await backend.close()
