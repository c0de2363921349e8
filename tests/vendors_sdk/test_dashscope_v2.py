"""DashScope's own client in its second form on the stand-in."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from tests.support.waiting import until
from tests.vendors_sdk.client import VendorClient, heard
from vixio_bench.vendors.base import Delays, tone
from vixio_bench.vendors.dashscope.service import KEY, DashScopeService

WORDS = "打开客厅的灯。现在几点？"
PCM = b64encode(tone("打开客厅的灯。", 16_000)).decode()
TEXTS = ["好的，我来讲一个故事。", "从前有一座山。"]
LONG = "从前有一座山，山里有一座庙，庙里有一个老和尚。" * 4


@pytest.fixture
async def service() -> AsyncIterator[DashScopeService]:
    async with DashScopeService(hear=lambda pcm: WORDS) as found:
        yield found
        assert not found.account.violations
        await until(lambda: not found.account.open, what="the end of the connections")


async def test_a_connection_takes_one_utterance_after_the_other(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "recognise", url=service.tasks_url, key=KEY, model="fun-asr-realtime", pcm=PCM, times=2
    )
    assert len(answer.get("heard", [])) == 2, answer
    for results in answer["heard"]:
        assert "".join(each["text"] for each in results if each["whole"]) == WORDS
        assert not results[0]["whole"]
    assert (service.account.connections, service.account.whole) == (1, 2)


async def test_a_connection_speaks_one_text_after_the_other(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "speak",
        url=service.tasks_url,
        key=KEY,
        model="cosyvoice-v3-flash",
        speaker="longanyang",
        texts=TEXTS,
    )
    assert heard(answer) == b"".join(tone(text, 24_000) for text in TEXTS)
    assert (service.account.connections, service.account.whole) == (1, 2)


async def test_a_task_is_cancelled_behind_its_last_text_and_another_follows(
    client: VendorClient,
) -> None:
    async with DashScopeService(Delays(pace=1.0)) as service:
        answer = await client.call(
            "speak",
            url=service.tasks_url,
            key=KEY,
            model="cosyvoice-v3-flash",
            speaker="longanyang",
            texts=["好。"],
            cancelled=LONG,
        )
        assert heard(answer) == tone("好。", 24_000)
        assert 0 < answer["of_cancelled"] < len(tone(LONG, 24_000)) / 4
        assert (service.account.connections, service.account.cancelled) == (1, 1)
        assert not service.account.violations


async def test_a_wrong_key_is_refused_at_the_upgrade(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "recognise",
        url=service.tasks_url,
        key="sk-other",
        model="fun-asr-realtime",
        pcm=PCM,
        times=1,
    )
    assert (answer["raised"], answer["status_code"]) == ("WebSocketBadStatusException", 401)


async def test_a_refusal_has_its_code(client: VendorClient, service: DashScopeService) -> None:
    answer = await client.call(
        "recognise", url=service.tasks_url, key=KEY, model="another", pcm=PCM, times=1
    )
    assert answer["code"] == "ModelNotFound", answer
