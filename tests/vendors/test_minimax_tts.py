"""MiniMax's voice against its stand-in: what the vendor does, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files

import pytest

from tests.support.waiting import until
from tests.vendors.minimax import voice
from tests.vendors.replies import TEXTS, reply, say_some
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.testing.contract.tts import say
from vixio_bench.vendors.base import Trouble, tone
from vixio_bench.vendors.minimax.service import BALANCE, KEY, NO_LAST, MiniMaxService

RATE = 24_000
PAGE = files("vixio_bench.vendors.minimax").joinpath("page.md").read_text()
RECORDED = dict(re.findall(r"^\| ([^|]+) \| `(\{.*\})` \|$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("odd", [True, False])
@pytest.mark.parametrize("repeats", [True, False])
async def test_a_last_event_that_repeats_everything_is_not_spoken(repeats: bool, odd: bool) -> None:
    async with MiniMaxService() as service:
        service.odd, service.repeats = odd, repeats
        tts = voice(service)
        await tts.start()
        assert await reply(tts, *TEXTS) == [tone(text, RATE) for text in TEXTS]
        await tts.close()


async def test_a_request_is_that_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    tts, sent = voice(MiniMaxService()), list[object]()

    async def post_json(path: str, body: object) -> object:
        sent.extend((path, body))
        raise ProviderError("minimax", "enough")

    monkeypatch.setattr(tts.client, "post_json", post_json)
    with pytest.raises(ProviderError, match="enough"):
        await tts.request("你好", "", "laughing")
    assert sent == ["t2a_v2", json.loads(RECORDED["a request"])]


async def test_sentences_have_their_emotions() -> None:
    async with MiniMaxService() as service:
        tts = voice(service)
        await tts.start()
        turn = tts.turn()
        for text, emotion in zip(TEXTS, ("crying", "neutral", "shocked"), strict=True):
            turn.expect(text, emotion=emotion)
        turn.complete()
        assert await say(turn, TEXTS[0])
        assert await say(turn, TEXTS[2])  # the one between was not asked for
        await turn.leave()
        assert service.moods == ["sad", "surprised"]
        await tts.close()


async def test_an_interrupted_sentence_ends_its_request() -> None:
    async with MiniMaxService() as service:
        service.fail(Trouble.STALL)
        tts = voice(service)
        await tts.start()
        assert await say_some(tts, TEXTS[0])
        await until(lambda: service.account.cancelled == 1)
        assert await say(tts, TEXTS[1]) == tone(TEXTS[1], RATE)
        await tts.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, NO_LAST])
async def test_speech_that_breaks_off_is_an_error(trouble: str) -> None:
    async with MiniMaxService() as service:
        service.fail(trouble)
        tts = voice(service)
        await tts.start()
        with pytest.raises(ProviderError):
            await say(tts, TEXTS[0])
        assert await say(tts, TEXTS[0]) == tone(TEXTS[0], RATE)
        await tts.close()


async def test_errors_that_come_as_success_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MiniMaxService() as service:
        with pytest.raises(ProviderUnavailable, match=r"set tts\.api_key or MINIMAX_API_KEY"):
            await voice(service, api_key=None).start()
        expected = [
            (
                {"api_key": "mm-key-of-another"},
                "",
                "no_key",
                r"refuses tts\.api_key.*interface-key",
            ),
            ({"group_id": "7"}, "", "no_key", r"tts\.group_id"),
            ({"voice_id": "nobody"}, "", "no_model", r"no voice tts\.voice_id"),
            ({}, BALANCE, "quota", r"no balance.*payment"),
        ]
        for options, trouble, reason, words in expected:
            service.fail(trouble)
            tts = voice(service, **options)
            await tts.start()
            with pytest.raises(ProviderUnavailable, match=words) as caught:
                await say(tts, TEXTS[0])
            assert caught.value.reason == reason
            assert KEY not in str(caught.value)
            assert "of-another" not in str(caught.value)
            await tts.close()
        service.fail(Trouble.BUSY, Trouble.BUSY)
        tts = voice(service)
        await tts.start()
        with pytest.raises(ProviderError, match="busy") as busy:
            await say(tts, TEXTS[0])
        assert busy.value.reason == "busy"
        await tts.close()
