"""volcengine-audio, frames and models of Volcengine's services, on the stand-in."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.waiting import until
from tests.vendors_sdk.client import VendorClient, heard
from vixio_bench.vendors.base import Delays, Trouble, tone
from vixio_bench.vendors.volcengine.service import KEY, VolcengineService
from vixio_bench.vendors.volcengine.voice import AFTER_CANCEL

PCM = tone("打开客厅的灯。", 16_000)
WORDS = "打开客厅的灯。"
LONG = "从前有一座山，山里有一座庙，庙里有一个老和尚。" * 4
TEXTS = ["好的，我来讲一个故事。", "从前有一座山。", "山里有一座庙。"]

EARS: dict[str, Any] = {
    "key": KEY,
    "resource": "volc.seedasr.sauc.duration",
    "pcm": b64encode(PCM).decode(),
    "hotwords": ["客厅", "卧室"],
}
VOICE: dict[str, Any] = {
    "key": KEY,
    "resource": "seed-tts-2.0",
    "speaker": "zh_female_vv_uranus_bigtts",
}


@pytest.fixture
async def service() -> AsyncIterator[VolcengineService]:
    async with VolcengineService(hear=lambda pcm: WORDS) as found:
        yield found
        assert not found.account.violations
        await until(lambda: not found.account.open, what="the end of the connections")


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("packed", [False, True])
async def test_speech_is_recognised(
    client: VendorClient, service: VolcengineService, compress: bool, packed: bool
) -> None:
    service.packed = packed
    url = f"{service.asr_url}/bigmodel_async"
    answer = await client.call("recognise", url=url, compress=compress, **EARS)
    assert answer.get("partial"), answer
    assert answer["last"] == WORDS
    assert service.account.whole == 1
    assert service.hotwords == ["客厅", "卧室"]


async def test_a_failure_in_the_middle_has_its_code(
    client: VendorClient, service: VolcengineService
) -> None:
    service.fail(Trouble.ERROR)
    url = f"{service.asr_url}/bigmodel_async"
    answer = await client.call("recognise", url=url, compress=True, **EARS)
    assert answer.get("error", {}).get("code") == 55_000_031, answer


async def test_a_wrong_key_is_refused_at_the_upgrade(
    client: VendorClient, service: VolcengineService
) -> None:
    given = {**EARS, "key": "another"}
    url = f"{service.asr_url}/bigmodel_async"
    answer = await client.call("recognise", url=url, compress=True, **given)
    assert answer["raised"] == "InvalidStatus", answer
    assert "401" in answer["words"]


@pytest.mark.parametrize(("events", "in_characters"), [(True, False), (True, True), (False, False)])
async def test_sessions_follow_each_other_over_one_connection(
    client: VendorClient, service: VolcengineService, events: bool, in_characters: bool
) -> None:
    service.sentence_events, service.in_characters = events, in_characters
    sessions = [TEXTS[:2], TEXTS[2:]]
    answer = await client.call("speak", url=service.tts_url, sessions=sessions, **VOICE)
    assert heard(answer) == b"".join(tone(text, 24_000) for text in TEXTS)
    assert [each["status_code"] for each in answer["ends"]] == [20_000_000] * 2
    assert ("TTSSentenceEnd" in answer["events"]) == events
    assert (service.account.connections, service.account.whole) == (1, 2)


async def test_a_resource_that_does_not_fit_the_voice_fails_the_session(
    client: VendorClient, service: VolcengineService
) -> None:
    given = {**VOICE, "resource": "seed-tts-1.0"}
    answer = await client.call("speak", url=service.tts_url, sessions=[TEXTS], **given)
    assert answer["raised"] == "RuntimeError", answer
    assert "mismatched" in answer["words"]


@pytest.mark.parametrize("late", [False, True])
async def test_behind_a_cancelled_session_comes_another(client: VendorClient, late: bool) -> None:
    async with VolcengineService(Delays(pace=1.0)) as service:
        if late:
            service.fail("", AFTER_CANCEL)
        answer = await client.call(
            "cancel", url=service.tts_url, text=LONG, another="好。", **VOICE
        )
        assert 0 < answer["of_cancelled"] < len(tone(LONG, 24_000)) / 4
        assert heard(answer) == tone("好。", 24_000)
        assert (service.account.connections, service.account.cancelled) == (1, 1)
        assert not service.account.violations
