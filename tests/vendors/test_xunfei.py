"""Xunfei's recognisers and voice against their stand-ins: what the vendor does, what goes wrong."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.waiting import until
from tests.vendors.replies import TEXTS, say_some
from tests.vendors.xunfei import ears, voice
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.asr import SpeechHints
from vixio.providers.xunfei import asr as module
from vixio.testing.contract.asr import HINTS, ON, feed, finish, hear, utterances
from vixio.testing.contract.tts import say
from vixio_bench.vendors.base import Trouble, tone
from vixio_bench.vendors.xunfei.service import SECRET, XunfeiService
from vixio_bench.vendors.xunfei.speech import LOST
from vixio_bench.vendors.xunfei.speech import NO_LAST as NO_END
from vixio_bench.vendors.xunfei.utterance import DOUBLED, NO_LAST

PRODUCTS = ("slm", "iat")
RATE = 24_000


def knowing(service: XunfeiService, words: str = ON) -> XunfeiService:
    service.known[utterances()[ON]] = words
    return service


# ── recognisers ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("trouble", ["", DOUBLED])
@pytest.mark.parametrize("product", PRODUCTS)
async def test_results_take_the_place_of_earlier_ones(product: str, trouble: str) -> None:
    async with XunfeiService() as service:
        service.fail(trouble)
        asr = ears(knowing(service, "今天天气很好。"), product=product)
        await asr.start()
        stream, seen = asr.open(HINTS), list[str]()
        stream.on_partial = seen.append
        await feed(stream, utterances()[ON])
        await until(lambda: len(seen) > 3)
        assert (await finish(stream)).text == "今天天气很好。"
        assert all("今天天气很好。".startswith(each) for each in seen)
        await stream.close()
        await asr.close()
        assert not service.account.violations


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, NO_LAST])
async def test_what_passes_costs_nothing(trouble: str, product: str) -> None:
    async with XunfeiService() as service:
        service.fail(trouble)
        asr = ears(knowing(service), product=product)
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ON
        assert service.account.uses == 2
        await asr.close()


async def test_an_utterance_beyond_the_limit_is_continued_in_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LONGEST_S", 0.6)
    async with XunfeiService(hear=lambda pcm: f"{len(pcm) // 3_200}") as service:
        asr = ears(service)
        await asr.start()
        heard = await hear(asr, bytes(range(1, 201)) * 288)  # 1.8 s
        assert heard.text == "6 6 6"
        assert service.account.uses == service.account.whole == 3
        assert service.account.most == 1
        await asr.close()
        assert not service.account.violations


async def test_the_big_model_gets_the_words_of_the_tools() -> None:
    async with XunfeiService() as service:
        asr = ears(knowing(service), hotwords=["微信"])
        await asr.start()
        hints = SpeechHints(HINTS.tools, "zh", ("再见",))
        assert (await hear(asr, utterances()[ON], hints=hints)).text == ON
        assert service.hotwords.startswith("dhw=utf-8;微信|再见|")
        await asr.close()


async def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with XunfeiService() as service:
        with pytest.raises(ProviderUnavailable, match=r"set asr\.app_id, asr\.api_secret, which"):
            await ears(service, app_id="", api_secret=None).start()
        monkeypatch.setenv("XFYUN_API_SECRET", "secret-of-another")
        other = ears(service, api_secret=None)
        await other.start()
        with pytest.raises(ProviderUnavailable, match=r"signature does not match.*asr\.api_secret"):
            await other.verify()
        await other.close()
        unlicensed = ears(service, domain="slm-dialects")
        await unlicensed.start()
        with pytest.raises(ProviderUnavailable, match=r"no licence.*asr\.product") as caught:
            await hear(unlicensed, utterances()[ON])
        assert caught.value.reason == "no_key"
        await unlicensed.close()
        asr = ears(service)
        await asr.start()
        assert await asr.verify()
        await asr.close()


@pytest.mark.parametrize(("minutes", "words"), [(20, "20 minutes behind"), (-6, "6 minutes ahead")])
async def test_a_wrong_clock_is_told(minutes: int, words: str) -> None:
    def clock() -> datetime:
        return datetime.now(UTC) + timedelta(minutes=minutes)

    async with XunfeiService(clock=clock) as service:
        asr, tts = ears(service), voice(service)
        await asr.start()
        await tts.start()
        for verify in (asr.verify, tts.verify):
            with pytest.raises(ProviderUnavailable, match=words):
                await verify()
        await asr.close()
        await tts.close()


async def test_a_stream_that_is_closed_leaves_the_vendor_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with XunfeiService() as service:
        asr = ears(knowing(service))
        await asr.start()
        for _ in range(5):
            stream = asr.open(HINTS)
            await feed(stream, utterances()[ON])
            await stream.close()
        await until(lambda: service.account.open == 0)
        assert service.account.cancelled == 5
        await asr.close()
    assert SECRET not in caplog.text
    assert "authorization" not in caplog.text
    assert asyncio.all_tasks() == {asyncio.current_task()}


# ── the voice ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("odd", [True, False])
async def test_sound_comes_in_its_order(odd: bool, swapped: bool, first: int) -> None:
    async with XunfeiService() as service:
        service.odd, service.swapped, service.first_number = odd, swapped, first
        tts = voice(service)
        await tts.start()
        for text in (*TEXTS, "好"):
            assert await say(tts, text) == tone(text, RATE)
        await tts.close()
        assert not service.account.violations


@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, NO_END])
async def test_speech_that_breaks_off_is_an_error(trouble: str) -> None:
    async with XunfeiService() as service:
        service.fail(trouble)
        tts = voice(service)
        await tts.start()
        with pytest.raises(ProviderError):
            await say(tts, TEXTS[0])
        assert await say(tts, TEXTS[0]) == tone(TEXTS[0], RATE)
        await tts.close()


async def test_a_frame_that_never_comes_costs_itself() -> None:
    async with XunfeiService() as service:
        service.fail(LOST)
        tts = voice(service)
        await tts.start()
        whole = tone(TEXTS[0], RATE)
        assert await say(tts, TEXTS[0]) == whole[: 2 * 4_800] + whole[3 * 4_800 :]
        await tts.close()


async def test_an_interrupted_sentence_closes_its_connection() -> None:
    async with XunfeiService() as service:
        service.fail(Trouble.STALL)
        tts = voice(service)
        await tts.start()
        assert await say_some(tts, TEXTS[0])
        await until(lambda: service.account.cancelled == 1 and service.account.open == 0)
        await tts.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_voice_without_a_licence_is_told() -> None:
    async with XunfeiService() as service:
        tts = voice(service, vcn="x5_lingfeiyi_flow")
        await tts.start()
        with pytest.raises(ProviderUnavailable, match=r"no licence.*tts\.vcn"):
            await say(tts, TEXTS[0])
        await tts.close()
