"""doubao-speech, a client of Volcengine's services, on the stand-in."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.waiting import until
from tests.vendors_sdk.client import VendorClient, heard
from vixio_bench.vendors.base import Delays, Trouble, tone
from vixio_bench.vendors.volcengine.service import APPID, TOKEN, VolcengineService

PCM = tone("打开客厅的灯。", 16_000)
WORDS = "打开客厅的灯。"
TEXT = "好的，我来讲一个故事。"
LONG = "从前有一座山，山里有一座庙，庙里有一个老和尚。" * 4

EARS: dict[str, Any] = {
    "app_id": APPID,
    "token": TOKEN,
    "resource": "volc.bigasr.sauc.duration",
    "pcm": b64encode(PCM).decode(),
}
VOICE: dict[str, Any] = {
    "app_id": APPID,
    "token": TOKEN,
    "resource": "seed-tts-2.0",
    "speaker": "zh_female_vv_uranus_bigtts",
    "text": TEXT,
}


@pytest.fixture
async def service() -> AsyncIterator[VolcengineService]:
    async with VolcengineService(hear=lambda pcm: WORDS) as found:
        yield found
        assert not found.account.violations
        await until(lambda: not found.account.open, what="the end of the connections")


@pytest.mark.parametrize("endpoint", ["bigmodel", "bigmodel_async"])
@pytest.mark.parametrize("packed", [False, True])
async def test_speech_is_recognised(
    client: VendorClient, service: VolcengineService, endpoint: str, packed: bool
) -> None:
    service.packed = packed
    answer = await client.call("recognise", url=f"{service.asr_url}/{endpoint}", **EARS)
    *partial, last = answer["results"]
    assert partial
    assert not any(each["is_final"] for each in partial)
    assert last == {"text": WORDS, "is_final": True}
    assert service.account.whole == 1


async def test_words_come_at_the_end_alone(
    client: VendorClient, service: VolcengineService
) -> None:
    service.sequences = False
    url = f"{service.asr_url}/bigmodel_nostream"
    answer = await client.call("recognise", url=url, silence=False, **EARS)
    assert answer["results"] == [{"text": WORDS, "is_final": True}]


@pytest.mark.parametrize("what", ["recognise", "speak"])
async def test_a_wrong_key_is_an_error_of_authorisation(
    client: VendorClient, service: VolcengineService, what: str
) -> None:
    given = EARS if what == "recognise" else VOICE
    url = f"{service.asr_url}/bigmodel" if what == "recognise" else service.tts_url
    answer = await client.call(what, url=url, **{**given, "token": "another"})
    assert answer["raised"] == "VolcengineAuthError", answer
    assert "401" in answer["words"]


async def test_a_failure_in_the_middle_is_an_error(
    client: VendorClient, service: VolcengineService
) -> None:
    service.fail(Trouble.ERROR)
    answer = await client.call("recognise", url=f"{service.asr_url}/bigmodel_async", **EARS)
    assert (answer["raised"], answer["code"]) == ("VolcengineServerError", 55_000_031), answer


@pytest.mark.parametrize("events", [False, True])
async def test_a_text_is_spoken(
    client: VendorClient, service: VolcengineService, events: bool
) -> None:
    service.sentence_events = events
    answer = await client.call("speak", url=service.tts_url, **VOICE)
    assert heard(answer) == tone(TEXT, 24_000)
    assert answer["pieces"] > 5
    assert service.account.whole == 1


async def test_a_resource_that_does_not_fit_the_voice_is_an_error(
    client: VendorClient, service: VolcengineService
) -> None:
    given = {**VOICE, "resource": "seed-tts-1.0"}
    answer = await client.call("speak", url=service.tts_url, **given)
    assert answer["raised"] == "VolcengineServerError", answer
    assert "mismatched" in answer["words"]


async def test_a_session_is_left_at_its_first_sound(client: VendorClient) -> None:
    async with VolcengineService(Delays(pace=1.0)) as service:
        answer = await client.call(
            "speak", url=service.tts_url, midway=True, **{**VOICE, "text": LONG}
        )
        assert 0 < len(heard(answer)) < len(tone(LONG, 24_000)) / 4
        await until(lambda: not service.account.open, what="the end of the connection")
        assert service.account.cancelled == 1
        assert not service.account.violations
