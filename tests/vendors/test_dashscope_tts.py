"""DashScope's voices against their stand-in: one task or session a reply, and what goes wrong."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from tests.vendors.dashscope import QWEN_TTS, voice
from tests.vendors.replies import TEXTS, reply, say_some
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import service_socket
from vixio.testing.contract.tts import say
from vixio_bench.vendors.base import Trouble, tone
from vixio_bench.vendors.dashscope.service import DashScopeService

RATE = 24_000
MODELS = ("cosyvoice-v3-flash", QWEN_TTS)


@pytest.mark.parametrize("events", [True, False])
@pytest.mark.parametrize("odd", [True, False])
@pytest.mark.parametrize("model", MODELS)
async def test_a_reply_is_one_task_and_each_text_has_its_sound(
    model: str, odd: bool, events: bool
) -> None:
    async with DashScopeService() as service:
        service.odd, service.sentence_events = odd, events
        tts = voice(service, model=model)
        await tts.start()
        for _ in range(2):
            sounds = await reply(tts, *TEXTS)
            assert b"".join(sounds) == b"".join(tone(text, RATE) for text in TEXTS)
            if events and model != QWEN_TTS:
                assert sounds == [tone(text, RATE) for text in TEXTS]
        assert service.account.uses == service.account.whole == 2
        assert service.account.connections == (2 if model == QWEN_TTS else 1)
        await tts.close()
        assert not service.account.violations


@pytest.mark.parametrize("model", MODELS)
async def test_a_sentence_without_an_end_is_spoken(model: str) -> None:
    async with DashScopeService() as service:
        tts = voice(service, model=model)
        await tts.start()
        turn = tts.turn()
        turn.expect("我想想")  # and then the model pauses
        assert await say(turn, "我想想") == tone("我想想", RATE)
        turn.expect("好。")
        turn.complete()
        assert await say(turn, "好。") == tone("好。", RATE)
        await turn.leave()
        await tts.close()
        assert not service.account.violations


@pytest.mark.parametrize(
    ("model", "kept"), [(MODELS[0], True), (MODELS[0], False), (QWEN_TTS, False)]
)
async def test_an_interrupted_reply_leaves_the_vendor_at_once(
    model: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kept:
        monkeypatch.setattr(service_socket, "CALLED_OFF_S", 60.0)  # however slow the machine is
    async with DashScopeService() as service:
        service.cancels = kept
        tts = voice(service, model=model)
        await tts.start()
        service.fail(Trouble.STALL)
        turn = tts.turn()
        turn.expect(TEXTS[0])
        assert await say_some(turn, TEXTS[0])
        await turn.leave()
        await until(lambda: service.account.cancelled == 1)
        await until(lambda: service.account.open == kept)
        await until(lambda: len(tts.sockets._idle) == kept)
        assert await reply(tts, TEXTS[2]) == [tone(TEXTS[2], RATE)]
        assert service.account.connections == (1 if kept else 2)
        await tts.close()
        assert not service.account.violations
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("trouble", [Trouble.CUT, Trouble.ERROR, Trouble.GARBAGE])
async def test_a_reply_that_breaks_off_costs_one_reply(trouble: str, model: str) -> None:
    async with DashScopeService() as service:
        service.fail(trouble)
        tts = voice(service, model=model)
        await tts.start()
        with pytest.raises(ProviderError):
            await reply(tts, *TEXTS)
        assert await reply(tts, TEXTS[0]) == [tone(TEXTS[0], RATE)]
        await tts.close()
        assert not service.account.violations


async def test_a_kept_connection_that_the_vendor_closed_is_replaced() -> None:
    service = DashScopeService()
    async with service:
        tts = voice(service)
        await tts.start()
        assert await reply(tts, TEXTS[0])
    async with service:
        assert await reply(tts, TEXTS[0]) == [tone(TEXTS[0], RATE)]
        await tts.close()


async def test_a_connection_that_ends_as_it_is_used_is_replaced() -> None:
    async with DashScopeService() as service:
        tts = voice(service)
        await tts.start()
        assert await reply(tts, TEXTS[0])
        (kept,) = tts.sockets._idle
        service.start_s = 0.5
        turn = tts.turn()
        turn.expect(TEXTS[1])
        turn.complete()
        await until(lambda: kept.user is turn)
        service.start_s = 0.0
        kept.socket._socket.transport.abort()  # before the task has started
        assert await say(turn, TEXTS[1]) == tone(TEXTS[1], RATE)
        await turn.leave()
        await tts.close()
        assert service.account.connections == 2


@pytest.mark.parametrize("model", MODELS)
async def test_what_is_wrong_is_told(model: str) -> None:
    async with DashScopeService() as service:
        other = voice(service, model=model, api_key="sk-wrong")
        await other.start()
        with pytest.raises(ProviderUnavailable, match=r"refuses tts\.api_key.*bailian"):
            await other.verify()
        await other.close()
        wrong = voice(service, model=model, voice="longcheng_v2")
        await wrong.start()
        with pytest.raises(ProviderUnavailable, match=r"tts\.voice does not belong to tts\.model"):
            await wrong.verify()
        await wrong.close()
        tts = voice(service, model=model)
        await tts.start()
        assert await tts.verify()
        await tts.close()


@pytest.mark.parametrize("model", MODELS)
async def test_an_emotion_is_part_of_the_instruction(model: str) -> None:
    async with DashScopeService() as service:
        tts = voice(service, model=model, emotions=True, instruction="慢一点。")
        await tts.start()
        turn = tts.turn()
        turn.expect(TEXTS[0], emotion="laughing")
        turn.expect(TEXTS[1], emotion="sleepy")
        turn.complete()
        assert await say(turn, TEXTS[0]) == tone(TEXTS[0], RATE)
        assert await say(turn, TEXTS[1]) == tone(TEXTS[1], RATE)
        await turn.leave()
        assert service.instructions == ["慢一点。你说话的情感是happy。", "慢一点。"]
        await tts.close()
