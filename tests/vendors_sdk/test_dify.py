"""Dify's own client, and dify-oapi2, on the stand-ins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.vendors_sdk.client import VendorClient
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.dify.service import KEY, DifyService
from vixio_bench.vendors.knowledge.service import KEY as KNOWLEDGE_KEY
from vixio_bench.vendors.knowledge.service import Document, KnowledgeService

USER = "02:00:00:00:00:01"
QUESTION = "今天天气怎么样？"


@pytest.fixture
async def service() -> AsyncIterator[DifyService]:
    async with DifyService() as found:
        found.reply = lambda query: "今天是晴天，适合出门散步。"
        yield found
        assert not found.account.violations


def given(service: DifyService, **others: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    of_all = {"base_url": service.base_url, "key": KEY, "user": USER, "question": QUESTION}
    return {**of_all, **others}


def words(answer: dict[str, Any]) -> list[str]:
    return [event["answer"] for event in answer["events"] if event.get("answer")]


@pytest.mark.parametrize("kind", ["agent_message", "message"])
async def test_an_answer_comes_in_pieces(
    client: VendorClient, service: DifyService, kind: str
) -> None:
    service.kind = kind
    answer = await client.call("chat", **given(service))
    assert len(words(answer)) > 2
    assert "".join(words(answer)) == "今天是晴天，适合出门散步。"
    assert answer["events"][-1]["event"] == "message_end"
    assert service.asked[0]["user"] == USER


async def test_a_conversation_goes_on(client: VendorClient, service: DifyService) -> None:
    first = await client.call("chat", **given(service))
    (conversation,) = {event["conversation_id"] for event in first["events"]}
    again = given(service, conversation=conversation, question="明天呢？")
    await client.call("chat", **again)
    assert service.conversations == {conversation: [QUESTION, "明天呢？"]}


async def test_an_answer_is_stopped_at_its_first_words(
    client: VendorClient, service: DifyService
) -> None:
    service.fail(Trouble.STALL)
    answer = await client.call("chat", **given(service, midway=True))
    assert answer["stopped"] == "success"
    (task,) = {event["task_id"] for event in answer["events"]}
    assert service.stopped == [task]


async def test_an_error_within_an_answer_has_its_code(
    client: VendorClient, service: DifyService
) -> None:
    service.fail(Trouble.ERROR)
    answer = await client.call("chat", **given(service))
    last = answer["events"][-1]
    assert (last["event"], last["code"]) == ("error", "internal_server_error")


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ({"key": "app-other"}, 401, "unauthorized"),
        ({"conversation": "1c7e55fb-1ba2-4e10-81b5-30addcea2276"}, 404, "not_found"),
        ({"user": ""}, 400, "invalid_param"),
    ],
)
async def test_a_refusal_has_its_code(
    client: VendorClient, service: DifyService, wrong: dict[str, Any], status: int, code: str
) -> None:
    answer = await client.call("chat", **given(service, **wrong))
    assert (answer["status"], answer["refused"]["code"]) == (status, code)


async def test_the_form_of_an_application_is_read(
    client: VendorClient, service: DifyService
) -> None:
    answer = await client.call("parameters", base_url=service.base_url, key=KEY, user=USER)
    assert answer == {"status": 200, "body": {"user_input_form": []}}


async def test_knowledge_is_found(client: VendorClient) -> None:
    async with KnowledgeService() as service:
        service.documents += [
            Document("house", "manual.md", "The boiler is in the cellar."),
            Document("house", "garden.md", "The hose is in the shed."),
            Document("other", "other.md", "The boiler is elsewhere."),
        ]
        asked = {"base_url": f"{service.http}/v1", "question": "Where is the boiler?"}
        found = await client.call("retrieve", key=KNOWLEDGE_KEY, dataset="house", **asked)
        assert found["query"] == "Where is the boiler?"
        assert found["records"][0] == ["manual.md", "The boiler is in the cellar."]
        assert len(found["records"]) == 2
        refused = await client.call("retrieve", key="another", dataset="house", **asked)
        assert refused["code"] == "unauthorized"
        unknown = await client.call("retrieve", key=KNOWLEDGE_KEY, dataset="none", **asked)
        assert unknown["code"] == "not_found"
        assert not service.account.violations
