"""Volcengine's recogniser against its stand-in: what the vendor does, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from tests.support.waiting import until
from tests.vendors.volcengine import ears
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.asr import SpeechHints
from vixio.testing.contract.asr import HINTS, ON, feed, finish, hear, utterances
from vixio_bench.vendors.base import Trouble
from vixio_bench.vendors.volcengine.service import APPID, TOKEN, VolcengineService
from vixio_bench.vendors.volcengine.utterance import NO_LAST, PAUSED, SILENT


def knowing(service: VolcengineService) -> VolcengineService:
    service.known.update((pcm, words) for words, pcm in utterances().items())
    return service


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("sequences", [False, True])
async def test_answers_are_read_in_every_form(packed: bool, sequences: bool) -> None:
    async with VolcengineService() as service:
        service.packed, service.sequences = packed, sequences
        asr = ears(knowing(service))
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ON
        await asr.close()
        assert not service.account.violations


async def test_words_come_while_the_user_speaks() -> None:
    async with VolcengineService() as service:
        asr = ears(knowing(service))
        await asr.start()
        stream, seen = asr.open(HINTS), list[str]()
        stream.on_partial = seen.append
        await feed(stream, utterances()[ON])
        await until(lambda: len(seen) > 2)
        assert (await finish(stream)).text == ON
        await stream.close()
        await asr.close()
        assert any(each.endswith("?") for each in seen)  # revised afterwards
        assert ON.startswith(seen[0])


async def test_either_console_s_keys_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with VolcengineService() as service:
        old = ears(knowing(service), api_key=None, appid=APPID, access_token=TOKEN)
        await old.start()
        assert await old.verify()
        await old.close()
        with pytest.raises(ProviderUnavailable, match=r"set asr\.api_key .*console\.volcengine"):
            await ears(service, api_key=None).start()
        monkeypatch.setenv("VOLCENGINE_API_KEY", "vk-of-another")
        other = ears(service, api_key=None)
        await other.start()
        with pytest.raises(ProviderUnavailable, match=r"refuses the key.*activated") as caught:
            await other.verify()
        assert "vk-of-another" not in str(caught.value)
        assert caught.value.reason == "no_key"
        await other.close()


async def test_a_resource_that_is_not_granted_is_named() -> None:
    async with VolcengineService() as service:
        asr = ears(service, resource_id="volc.bigasr.sauc.concurrent")
        await asr.start()
        with pytest.raises(ProviderUnavailable, match=r"not granted.*activated"):
            await asr.verify()
        await asr.close()


async def test_an_utterance_without_sound_has_no_words() -> None:
    async with VolcengineService() as service:
        service.fail(SILENT)
        asr = ears(knowing(service))
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ""
        await asr.close()


@pytest.mark.parametrize("trouble", [PAUSED, Trouble.CUT, Trouble.ERROR, NO_LAST])
async def test_what_passes_costs_nothing(trouble: str) -> None:
    async with VolcengineService() as service:
        service.fail(trouble)
        asr = ears(knowing(service))
        await asr.start()
        assert (await hear(asr, utterances()[ON])).text == ON
        assert service.account.uses == 2
        await asr.close()


async def test_the_words_of_the_tools_are_hot() -> None:
    async with VolcengineService() as service:
        asr = ears(service, hotwords=["微信"])
        request = asr._request(SpeechHints(HINTS.tools, "zh", ("再见",)))["request"]
        words = [each["word"] for each in json.loads(request["corpus"]["context"])["hotwords"]]
        assert words[:2] == ["微信", "再见"]
        assert "lamp" in words


async def test_a_stream_that_is_closed_leaves_the_vendor_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with VolcengineService() as service:
        asr = ears(knowing(service))
        await asr.start()
        for _ in range(5):
            stream = asr.open(HINTS)
            await feed(stream, utterances()[ON])
            await stream.close()
        await until(lambda: service.account.open == 0)
        assert service.account.cancelled == 5
        await asr.close()
    assert "vk-of-the-stand-in" not in caplog.text
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_server_that_is_no_recogniser_is_told() -> None:
    async with VolcengineService() as service:
        asr = ears(service, url=service.tts_url.rpartition("/")[0])
        await asr.start()
        with pytest.raises(ProviderError, match=r"404.*asr\.resource_id and url"):
            await asr.verify()
        await asr.close()
