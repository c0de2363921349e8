"""Coze's own client on the stand-in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.waiting import until
from tests.vendors_sdk.client import VendorClient
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.coze.service import BOT, KEY, CozeService

QUESTION = "今天天气怎么样？"


@pytest.fixture
async def service() -> AsyncIterator[CozeService]:
    async with CozeService() as found:
        found.reply = lambda query: "今天是晴天，适合出门散步。"
        yield found
        assert not found.account.violations


def given(service: CozeService, **others: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    of_all = {"base_url": service.base_url, "key": KEY, "bot_id": BOT}
    return {**of_all, "user": "02:00:00:00:00:01", "question": QUESTION, **others}


async def test_an_answer_comes_in_pieces(client: VendorClient, service: CozeService) -> None:
    answer = await client.call("chat", **given(service))
    assert len(answer["pieces"]) > 2, answer
    assert "".join(answer["pieces"]) == "今天是晴天，适合出门散步。"
    assert answer["whole"] == ["今天是晴天，适合出门散步。"]
    assert answer["follow_up"] == ["And then?"]
    assert (answer["status"], answer["tokens"]) == ("completed", 30)
    assert service.asked[0]["user_id"] == "02:00:00:00:00:01"


async def test_a_conversation_goes_on(client: VendorClient, service: CozeService) -> None:
    first = await client.call("chat", **given(service))
    again = given(service, conversation=first["conversation"], question="明天呢？")
    second = await client.call("chat", **again)
    assert second["conversation"] == first["conversation"]
    assert service.conversations == {first["conversation"]: [QUESTION, "明天呢？"]}


async def test_the_output_of_a_tool_goes_back(client: VendorClient, service: CozeService) -> None:
    service.calls = lambda query: [("self_lamp_turn_on", '{"room":"客厅"}')]
    answer = await client.call("chat", **given(service, output="done"))
    assert [each[1:] for each in answer["calls"]] == [["self_lamp_turn_on", '{"room":"客厅"}']]
    assert "".join(answer["pieces"]) == "今天是晴天，适合出门散步。"
    assert service.outputs == ["done"]


async def test_a_chat_is_cancelled_at_its_first_words(
    client: VendorClient, service: CozeService
) -> None:
    service.fail(Trouble.STALL)
    answer = await client.call("chat", **given(service, midway=True))
    assert answer.get("status") == "canceled", answer
    assert service.stopped == [answer["chat"]]
    # The conversation is free for the next question.
    await until(lambda: not service._busy)
    again = await client.call("chat", **given(service, conversation=answer["conversation"]))
    assert again["status"] == "completed"


async def test_a_failed_chat_has_its_error(client: VendorClient, service: CozeService) -> None:
    service.fail(Trouble.ERROR)
    answer = await client.call("chat", **given(service))
    assert answer["status"] == "failed"
    assert answer["error"] == {"code": 5000, "words": "event interval error"}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"key": "pat_other"}, 4100), ({"bot_id": "1"}, 4200), ({"conversation": "none"}, 4001)],
)
async def test_a_refusal_has_its_code(
    client: VendorClient, service: CozeService, wrong: dict[str, Any], code: int
) -> None:
    answer = await client.call("chat", **given(service, **wrong))
    assert (answer["raised"], answer["code"]) == ("CozeAPIError", code), answer


async def test_an_agent_says_its_name(client: VendorClient, service: CozeService) -> None:
    answer = await client.call("bot", base_url=service.base_url, key=KEY, bot_id=BOT)
    assert answer == {"name": "小智"}
