"""Volcengine's voice against its stand-in: one session a reply, and what goes wrong."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from tests.vendors.replies import TEXTS, reply, say_some
from tests.vendors.volcengine import voice
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.volcengine.frames import Event, Frame, Kind
from vixio.providers.volcengine.tts import _sentence
from vixio.testing.contract.tts import say
from vixio_bench.vendors.base import Trouble, tone
from vixio_bench.vendors.volcengine.service import VolcengineService
from vixio_bench.vendors.volcengine.voice import AFTER_CANCEL, FAILED, TEXT_FRAME

RATE = 24_000


@pytest.mark.parametrize(("events", "in_characters"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize("odd", [True, False])
async def test_a_reply_is_one_session_and_each_text_has_its_sound(
    events: bool, in_characters: bool, odd: bool
) -> None:
    async with VolcengineService() as service:
        service.sentence_events, service.in_characters, service.odd = events, in_characters, odd
        tts = voice(service)
        await tts.start()
        for _ in range(2):
            sounds = await reply(tts, *TEXTS)
            assert b"".join(sounds) == b"".join(tone(text, RATE) for text in TEXTS)
            if events:
                assert sounds == [tone(text, RATE) for text in TEXTS]
        assert (service.account.connections, service.account.uses) == (1, 2)
        await tts.close()
        assert not service.account.violations


@pytest.mark.parametrize("payload", [b'{"res_params":{"text":"\xe5', b"[]", b'{"text":1}'])
def test_a_sentence_that_cannot_be_read_has_no_words(payload: bytes) -> None:
    assert _sentence(Frame(Kind.FULL_SERVER, event=Event.SENTENCE_START, payload=payload)) == ""


async def test_texts_are_sent_before_they_are_asked_for() -> None:
    async with VolcengineService() as service:
        tts = voice(service)
        await tts.start()
        turn = tts.turn()
        turn.expect(TEXTS[0])
        first = await say_some(turn, TEXTS[0])
        assert first
        turn.expect(TEXTS[1])
        turn.complete()
        await until(lambda: service.account.whole == 1)  # nobody has asked for the second one
        assert await say(turn, TEXTS[1]) == tone(TEXTS[1], RATE)
        await turn.leave()
        await tts.close()


async def test_a_model_that_pauses_gets_another_session() -> None:
    async with VolcengineService() as service:
        tts = voice(service)
        await tts.start()
        turn = tts.turn()
        turn.expect(TEXTS[0])
        assert await say(turn, TEXTS[0]) == tone(TEXTS[0], RATE)  # ends, although no more is known
        turn.expect(TEXTS[1])
        turn.complete()
        assert await say(turn, TEXTS[1]) == tone(TEXTS[1], RATE)
        await turn.leave()
        assert (service.account.connections, service.account.uses) == (1, 2)
        await tts.close()
        assert not service.account.violations


@pytest.mark.parametrize("after", [False, True])
async def test_an_interrupted_reply_is_called_off_and_its_connection_kept(after: bool) -> None:
    async with VolcengineService() as service:
        if after:
            service.fail("", AFTER_CANCEL)
        tts = voice(service)
        await tts.start()
        turn = tts.turn()
        turn.expect(TEXTS[0])
        turn.expect(TEXTS[1])
        assert await say_some(turn, TEXTS[0])
        await turn.leave()
        await until(lambda: service.account.cancelled == 1)
        assert await reply(tts, TEXTS[2]) == [tone(TEXTS[2], RATE)]
        await tts.close()
        assert not service.account.violations
        assert service.account.connections <= 2


@pytest.mark.parametrize(
    "trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, FAILED, TEXT_FRAME]
)
async def test_a_session_that_breaks_off_costs_one_reply(trouble: str) -> None:
    async with VolcengineService() as service:
        service.fail(trouble)
        tts = voice(service)
        await tts.start()
        with pytest.raises(ProviderError):
            await reply(tts, *TEXTS)
        assert await reply(tts, TEXTS[0]) == [tone(TEXTS[0], RATE)]
        await tts.close()
        assert not service.account.violations


async def test_a_kept_connection_that_the_vendor_closed_is_replaced() -> None:
    service = VolcengineService()
    async with service:
        tts = voice(service)
        await tts.start()
        assert await reply(tts, TEXTS[0])
    async with service:
        assert await reply(tts, TEXTS[0]) == [tone(TEXTS[0], RATE)]
        await tts.close()


async def test_more_than_the_account_may_have_is_told() -> None:
    async with VolcengineService() as service:
        service.fail(Trouble.STALL)
        tts = voice(service, concurrency=1)
        await tts.start()
        turn = tts.turn()
        turn.expect(TEXTS[0])
        assert await say_some(turn, TEXTS[0])
        with pytest.raises(ProviderError, match="1 connections") as caught:
            await reply(tts, TEXTS[1])
        assert caught.value.reason == "busy"
        await turn.leave()
        await tts.close()
        assert service.account.most == 1


@pytest.mark.parametrize("way", ["bidirectional", "http"])
async def test_a_voice_of_another_resource_is_told(way: str) -> None:
    async with VolcengineService() as service:
        tts = voice(service, way=way, resource_id="seed-tts-1.0")
        await tts.start()
        with pytest.raises(ProviderError, match="mismatched"):
            await say(tts, TEXTS[0])
        await tts.close()


@pytest.mark.parametrize("way", ["bidirectional", "http"])
async def test_a_key_that_is_refused_is_told(way: str) -> None:
    async with VolcengineService() as service:
        tts = voice(service, way=way, api_key="vk-wrong")
        await tts.start()
        with pytest.raises(ProviderUnavailable, match=r"refuses the key.*activated"):
            await say(tts, TEXTS[0])
        await tts.close()


@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE])
async def test_speech_by_http_that_breaks_off_is_an_error(trouble: str) -> None:
    async with VolcengineService() as service:
        service.odd = True
        service.fail(trouble)
        tts = voice(service, way="http")
        await tts.start()
        with pytest.raises(ProviderError):
            await say(tts, TEXTS[0])
        assert await say(tts, TEXTS[0]) == tone(TEXTS[0], RATE)
        await tts.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
