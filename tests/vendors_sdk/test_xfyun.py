"""Xunfei's own clients on the stand-in."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from tests.support.waiting import until
from tests.vendors_sdk.client import VendorClient, heard
from vixio_bench.vendors.base import Trouble, tone
from vixio_bench.vendors.xunfei.service import APP_ID, KEY, SECRET, XunfeiService

PCM = b64encode(tone("打开灯。", 16_000)).decode()
WORDS = "打开客厅的灯。"
TEXT = "好的，我来讲一个故事。"
SPEAKER = "x5_lingxiaoxuan_flow"
ACCOUNT = {"app_id": APP_ID, "key": KEY, "secret": SECRET}


@pytest.fixture
async def service() -> AsyncIterator[XunfeiService]:
    async with XunfeiService(hear=lambda pcm: WORDS) as found:
        yield found
        assert not found.account.violations
        await until(lambda: not found.account.open, what="the end of the connections")


def said(results: Iterable[dict[str, Any]]) -> str:
    """Return the words of results, of which later ones take the place of earlier ones."""
    parts: dict[int, str] = {}
    for result in results:
        if result.get("pgs") == "rpl":
            first, last = result["rg"]
            for number in range(first, last + 1):
                parts.pop(number, None)
        parts[result["sn"]] = "".join(each["cw"][0]["w"] for each in result["ws"])
    return "".join(parts[number] for number in sorted(parts))


async def test_speech_is_recognised_by_the_big_model(
    client: VendorClient, service: XunfeiService
) -> None:
    answer = await client.call("recognise", url=service.model_url, pcm=PCM, **ACCOUNT)
    assert "results" in answer, answer
    results = [json.loads(b64decode(each["text"])) for each in answer["results"]]
    assert said(results) == WORDS
    assert 0 < len(said(results[:1])) < len(WORDS)
    assert answer["results"][-1]["status"] == 2
    assert service.account.whole == 1


async def test_speech_is_recognised_by_the_older_service(
    client: VendorClient, service: XunfeiService
) -> None:
    answer = await client.call("recognise", url=service.old_url, pcm=PCM, domain="iat", **ACCOUNT)
    assert "results" in answer, answer
    assert said(answer["results"]) == WORDS
    assert 0 < len(said(answer["results"][:1])) < len(WORDS)
    assert answer["results"][-1]["ls"] is True
    assert service.account.whole == 1


@pytest.mark.parametrize("path", ["model_url", "old_url"])
@pytest.mark.parametrize("wrong", ["key", "secret"])
async def test_a_wrong_key_is_refused_at_the_upgrade(
    client: VendorClient, service: XunfeiService, path: str, wrong: str
) -> None:
    domain = "iat" if path == "old_url" else "slm"
    given = {**ACCOUNT, wrong: "another", "pcm": PCM, "domain": domain}
    answer = await client.call("recognise", url=getattr(service, path), **given)
    assert answer["raised"] == ("IatError" if domain == "iat" else "SparkIatError"), answer
    assert "401" in answer["words"]


@pytest.mark.parametrize(
    ("wrong", "code"), [({"app_id": "other"}, 10_313), ({"domain": "other"}, 11_200)]
)
async def test_a_refusal_has_its_code(
    client: VendorClient, service: XunfeiService, wrong: dict[str, Any], code: int
) -> None:
    given = {**ACCOUNT, "pcm": PCM, **wrong}
    answer = await client.call("recognise", url=service.model_url, **given)
    assert str(code) in answer["words"], answer


async def test_a_failure_in_the_middle_has_its_code(
    client: VendorClient, service: XunfeiService
) -> None:
    service.fail(Trouble.ERROR)
    answer = await client.call("recognise", url=service.model_url, pcm=PCM, **ACCOUNT)
    assert "10019" in answer["words"], answer


async def test_a_text_is_spoken(client: VendorClient, service: XunfeiService) -> None:
    given = {**ACCOUNT, "speaker": SPEAKER, "text": TEXT}
    answer = await client.call("speak", url=service.voice_url, **given)
    assert heard(answer) == tone(TEXT, 24_000)
    assert answer["pieces"] > 5


async def test_a_voice_without_a_licence_is_an_error(
    client: VendorClient, service: XunfeiService
) -> None:
    given = {**ACCOUNT, "speaker": "x4_other", "text": TEXT}
    answer = await client.call("speak", url=service.voice_url, **given)
    assert answer["raised"] == "OralError", answer
    assert "11200" in answer["words"]
