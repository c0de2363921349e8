"""DashScope's recognisers against their stand-in: what the vendor does, and what goes wrong."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.support.waiting import until
from tests.vendors.dashscope import QWEN_ASR, ears
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.asr import SpeechHints
from vixio.testing.contract.asr import HINTS, ON, feed, finish, hear, utterances
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.dashscope.service import DashScopeService
from vixio_bench.vendors.dashscope.tasks import DOUBLED, LATE, NO_LAST

MODELS = ("fun-asr-realtime", "paraformer-realtime-v2", QWEN_ASR)
TWO = "今天天气很好。我们去公园吧！"


def knowing(service: DashScopeService, words: str = ON) -> DashScopeService:
    service.known[utterances()[ON]] = words
    return service


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("model", MODELS)
async def test_sentences_are_joined_and_revised(model: str, ids: bool) -> None:
    async with DashScopeService() as service:
        service.sentence_ids = ids
        asr = ears(knowing(service, TWO), model=model)
        await asr.start()
        stream, seen = asr.open(HINTS), list[str]()
        stream.on_partial = seen.append
        await feed(stream, utterances()[ON])
        await until(lambda: len(seen) > 3)
        heard = await finish(stream)
        await stream.close()
        assert heard.text == TWO
        assert TWO.startswith(seen[0])
        if model == QWEN_ASR:
            assert (heard.language, heard.emotion) == ("zh", "happy")
        else:
            assert any(each.endswith("?") for each in seen)  # revised afterwards
        await asr.close()
        assert not service.account.violations


async def test_a_connection_serves_one_utterance_after_another() -> None:
    async with DashScopeService() as service:
        asr = ears(knowing(service))
        await asr.start()
        for _ in range(3):
            assert (await hear(asr, utterances()[ON])).text == ON
        assert (service.account.connections, service.account.whole) == (1, 3)
        await asr.close()
        await until(lambda: service.account.open == 0)
        assert not service.account.violations


async def test_audio_waits_in_order_until_the_task_has_started() -> None:
    async with DashScopeService() as service:
        service.start_s = 0.2
        asr = ears(knowing(service))
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ON
        await asr.close()
        assert not service.account.violations


@pytest.mark.parametrize("trouble", [LATE, DOUBLED])
async def test_what_comes_late_or_twice_changes_nothing(trouble: str) -> None:
    async with DashScopeService() as service:
        service.fail("", trouble)
        asr = ears(knowing(service, TWO))
        await asr.start()
        for _ in range(2):
            assert (await hear(asr, utterances()[ON])).text == TWO
        await asr.close()
        assert service.account.connections == 1


@pytest.mark.parametrize("model", ["fun-asr-realtime", QWEN_ASR])
@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE, NO_LAST])
async def test_what_passes_costs_nothing(trouble: str, model: str) -> None:
    async with DashScopeService() as service:
        service.fail(trouble)
        asr = ears(knowing(service), model=model)
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ON
        assert service.account.uses == 2
        await asr.close()


async def test_a_kept_connection_that_the_vendor_closed_is_replaced() -> None:
    service = DashScopeService()
    async with service:
        asr = ears(knowing(service))
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ON
    async with service:
        assert (await hear(asr, utterances()[ON])).text == ON
        await asr.close()


async def test_the_vendor_closes_what_is_idle() -> None:
    async with DashScopeService(seconds=0.02) as service:
        asr = ears(knowing(service))
        await asr.start()
        assert await asr.verify()
        stream = asr.open(HINTS)
        await feed(stream, utterances()[ON][:6_400])
        await until(lambda: service.account.open == 0)  # 23 of its seconds without audio
        await feed(stream, utterances()[ON][6_400:])  # the user goes on
        assert (await finish(stream)).text == ON
        await stream.close()
        await asr.close()


@pytest.mark.parametrize("model", ["fun-asr-realtime", QWEN_ASR])
async def test_what_is_wrong_is_told(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with DashScopeService() as service:
        with pytest.raises(ProviderUnavailable, match=r"set asr\.api_key or DASHSCOPE_API_KEY"):
            await ears(service, model=model, api_key=None).start()
        monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-of-somebody-else")
        other = ears(service, model=model, api_key=None)
        await other.start()
        with pytest.raises(ProviderUnavailable, match=r"refuses asr\.api_key.*bailian") as caught:
            await other.verify()
        assert "somebody" not in str(caught.value)
        await other.close()
        unknown = ears(service, model=model + "-2099")
        await unknown.start()
        with pytest.raises(ProviderUnavailable, match=r"asr\.model is not there.*activated"):
            await unknown.verify()
        await unknown.close()
        service.fail(Trouble.BUSY)
        asr = ears(service, model=model)
        await asr.start()
        with pytest.raises(ProviderError, match="busy") as busy:
            await asr.verify()
        assert busy.value.reason == "busy"
        assert await asr.verify()
        await asr.close()


async def test_qwen_gets_the_words_of_the_tools() -> None:
    async with DashScopeService() as service:
        asr = ears(knowing(service), model=QWEN_ASR, hotwords=["微信"])
        await asr.start()
        hints = SpeechHints(HINTS.tools, "zh", ("再见",))
        assert (await hear(asr, utterances()[ON], hints=hints)).text == ON
        assert service.hotwords.startswith("微信、再见、")
        assert "lamp" in service.hotwords
        await asr.close()


@pytest.mark.parametrize("model", ["fun-asr-realtime", QWEN_ASR])
async def test_a_stream_that_is_closed_leaves_the_vendor_at_once(
    model: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with DashScopeService() as service:
        asr = ears(knowing(service), model=model)
        await asr.start()
        for _ in range(5):
            stream = asr.open(HINTS)
            await feed(stream, utterances()[ON])
            await stream.close()
        await until(lambda: service.account.open == 0)
        assert service.account.cancelled == 5
        await asr.close()
    assert "sk-of-the-stand-in" not in caplog.text
    assert asyncio.all_tasks() == {asyncio.current_task()}
