"""DashScope's own client on the stand-in."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator

import pytest

from tests.support.waiting import until
from tests.vendors_sdk.client import VendorClient, heard
from vixio_bench.vendors.base import Delays, Trouble, tone
from vixio_bench.vendors.dashscope.service import KEY, DashScopeService

PCM = tone("打开客厅的灯。现在几点？", 16_000)
WORDS = "打开客厅的灯。现在几点？"
TEXTS = ["好的，我来讲一个故事。", "从前有一座山。"]
SPOKEN = b"".join(tone(text, 24_000) for text in TEXTS)
LONG = "从前有一座山，山里有一座庙，庙里有一个老和尚。" * 4


@pytest.fixture
async def service() -> AsyncIterator[DashScopeService]:
    async with DashScopeService() as found:
        found.known[PCM] = WORDS
        yield found
        assert not found.account.violations
        await until(lambda: not found.account.open, what="the end of the connections")


def pcm() -> str:
    return b64encode(PCM).decode()


@pytest.mark.parametrize("model", ["fun-asr-realtime", "paraformer-realtime-v2"])
async def test_speech_is_recognised(
    client: VendorClient, service: DashScopeService, model: str
) -> None:
    service.hear = lambda pcm: WORDS  # type: ignore[method-assign] # from the first words on
    answer = await client.call("recognise", url=service.tasks_url, key=KEY, model=model, pcm=pcm())
    assert not answer["error"]
    whole = [each["text"] for each in answer["sentences"] if each["whole"]]
    partial = [each["text"] for each in answer["sentences"] if not each["whole"]]
    assert "".join(whole) == WORDS
    assert partial
    assert all(partial), "a heartbeat is no result"
    assert service.account.whole == 1


async def test_a_wrong_key_is_an_error_of_recognition(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "recognise", url=service.tasks_url, key="sk-other", model="fun-asr-realtime", pcm=pcm()
    )
    assert answer["error"]["status"] == 401, answer


async def test_an_unknown_model_is_an_error_of_recognition(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "recognise", url=service.tasks_url, key=KEY, model="other-realtime", pcm=pcm()
    )
    assert answer["error"]["code"] == "ModelNotFound", answer


async def test_a_failure_in_the_middle_is_an_error_of_recognition(
    client: VendorClient, service: DashScopeService
) -> None:
    service.fail(Trouble.ERROR)
    answer = await client.call(
        "recognise", url=service.tasks_url, key=KEY, model="fun-asr-realtime", pcm=pcm()
    )
    assert answer["error"]["code"] == "InternalError", answer


@pytest.mark.parametrize("events", [False, True])
async def test_texts_are_spoken_in_one_task(
    client: VendorClient, service: DashScopeService, events: bool
) -> None:
    service.sentence_events = events
    answer = await client.call(
        "speak",
        url=service.tasks_url,
        key=KEY,
        model="cosyvoice-v3-flash",
        speaker="longanyang",
        texts=TEXTS,
    )
    assert heard(answer) == SPOKEN
    assert answer["pieces"] > 10
    assert not answer["error"]
    assert (service.account.uses, service.account.whole) == (1, 1)


async def test_what_is_no_sentence_is_spoken_when_it_is_flushed(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "flush",
        url=service.tasks_url,
        key=KEY,
        model="cosyvoice-v3-flash",
        speaker="longanyang",
        text="从前有一座山，",
    )
    assert answer.get("early"), answer
    assert heard(answer) == tone("从前有一座山，", 24_000)


async def test_a_voice_of_another_model_is_an_error(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "speak",
        url=service.tasks_url,
        key=KEY,
        model="cosyvoice-v3-flash",
        speaker="longcheng_v2",
        texts=TEXTS,
    )
    assert (answer["raised"], answer["name"]) == ("RequestFailure", "InvalidParameter"), answer
    assert "418" in answer["words"]


async def test_a_task_is_cancelled_at_its_first_sound(client: VendorClient) -> None:
    async with DashScopeService(Delays(pace=1.0)) as service:
        answer = await client.call(
            "cancel",
            url=service.tasks_url,
            key=KEY,
            model="cosyvoice-v3-flash",
            speaker="longanyang",
            text=LONG,
        )
        assert answer["last"] == "task-finished", answer
        assert 0 < len(heard(answer)) < len(tone(LONG, 24_000)) / 4
        await until(lambda: not service.account.open, what="the end of the connection")
        assert service.account.cancelled == 1
        assert not service.account.violations


async def test_a_connection_is_closed_at_the_first_sound(client: VendorClient) -> None:
    async with DashScopeService(Delays(pace=1.0)) as service:
        answer = await client.call(
            "close_midway",
            url=service.tasks_url,
            key=KEY,
            model="cosyvoice-v3-flash",
            speaker="longanyang",
            text=LONG,
        )
        assert 0 < len(heard(answer)) < len(tone(LONG, 24_000)) / 4
        await until(lambda: service.account.cancelled == 1, what="the end of the task")


async def test_a_kept_connection_takes_one_task_after_the_other(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "speak_by_a_pool",
        url=service.tasks_url,
        key=KEY,
        model="cosyvoice-v2",
        speaker="longxiaochun_v2",
        texts=TEXTS,
    )
    assert [b64decode(each) for each in answer["sounds"]] == [tone(t, 24_000) for t in TEXTS]
    assert (service.account.connections, service.account.whole) == (1, 2)


async def test_speech_is_recognised_in_a_session(
    client: VendorClient, service: DashScopeService
) -> None:
    service.hear = lambda pcm: WORDS  # type: ignore[method-assign]
    answer = await client.call(
        "recognise_in_a_session",
        url=service.sessions_url,
        key=KEY,
        model="qwen3-asr-flash-realtime",
        pcm=pcm(),
    )
    kinds = [each["type"].rpartition(".")[2] for each in answer["events"]]
    assert kinds[:2] == ["created", "updated"]
    assert "text" in kinds
    assert kinds[-1] == "finished"
    whole = [each["transcript"] for each in answer["events"] if "transcript" in each]
    assert "".join(whole) == WORDS
    assert service.hotwords == "客厅"


@pytest.mark.parametrize("midway", [False, True])
async def test_texts_are_spoken_in_a_session(client: VendorClient, midway: bool) -> None:
    texts = [LONG] if midway else TEXTS
    async with DashScopeService(Delays(pace=1.0 if midway else 0.0)) as service:
        answer = await client.call(
            "speak_in_a_session",
            url=service.sessions_url,
            key=KEY,
            model="qwen3-tts-flash-realtime",
            speaker="Cherry",
            texts=texts,
            midway=midway,
        )
        if midway:
            assert 0 < len(heard(answer)) < len(tone(LONG, 24_000)) / 4
            await until(lambda: service.account.cancelled == 1, what="the end of the session")
        else:
            assert heard(answer) == SPOKEN
            assert answer["events"][-1]["type"] == "session.finished"
            assert service.account.whole == 1
        assert not service.account.violations


async def test_a_voice_that_is_not_there_is_an_error_of_a_session(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "speak_in_a_session",
        url=service.sessions_url,
        key=KEY,
        model="qwen3-tts-flash-realtime",
        speaker="cherry",
        texts=TEXTS,
    )
    (error,) = (each["error"] for each in answer["events"] if each["type"] == "error")
    assert error["code"] == "invalid_value"


async def test_a_wrong_key_opens_no_session(
    client: VendorClient, service: DashScopeService
) -> None:
    answer = await client.call(
        "speak_in_a_session",
        url=service.sessions_url,
        key="sk-other",
        model="qwen3-tts-flash-realtime",
        speaker="Cherry",
        texts=TEXTS,
    )
    assert answer["raised"] == "TimeoutError", answer
    assert service.account.connections == 0
