"""Edge TTS through the real client and a real socket, and the errors on the way."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

import edge_tts.communicate
import pytest

from tests.support.edge_server import Fault, Service, edge_server
from tests.support.waiting import until
from vixio.core.audio import pcm_seconds
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.edge_tts import speech
from vixio.providers.edge_tts.provider import MAX_BYTES, EdgeTTSProvider
from vixio.providers.edge_tts.settings import EdgeTTSSettings

BOUND = 20.0
SENTENCE = "The volume is now at thirty percent."


@asynccontextmanager
async def speaking(
    *faults: Fault,
    **options: Any,  # noqa: ANN401 - settings of any type
) -> AsyncIterator[tuple[EdgeTTSProvider, Service]]:
    before = asyncio.all_tasks()
    async with edge_server(*faults) as service:
        tts = EdgeTTSProvider(EdgeTTSSettings.model_validate(options))
        await tts.start()
        try:
            yield tts, service
        finally:
            await tts.close()
    assert asyncio.all_tasks() == before


def sound(tts: EdgeTTSProvider, text: str, language: str = "") -> AsyncGenerator[bytes, None]:
    return cast(AsyncGenerator[bytes, None], tts.synthesize(text, language=language))


async def say(tts: EdgeTTSProvider, text: str, language: str = "") -> bytes:
    async with asyncio.timeout(BOUND), aclosing(sound(tts, text, language)) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def test_what_is_asked_for() -> None:
    options = {"voice": "zh-CN-YunxiNeural", "rate": "+10%", "pitch": "-5Hz", "volume": "+20%"}
    async with speaking(**options) as (tts, service):
        pcm = await say(tts, "a < b & c")
        (spoken,) = service.spoken
        assert spoken.text == "a < b & c"
        assert spoken.voice.endswith("(zh-CN, YunxiNeural)")
        assert spoken.prosody == {"pitch": "-5Hz", "rate": "+10%", "volume": "+20%"}
        assert "audio-24khz-48kbitrate-mono-mp3" in str(spoken.config)
        assert pcm_seconds(pcm, tts.sample_rate) == pytest.approx(9 * 0.048, abs=0.1)


async def test_the_first_sound_comes_before_the_sentence_is_complete() -> None:
    async with speaking(Fault(stall="middle")) as (tts, service):
        async with asyncio.timeout(BOUND), aclosing(sound(tts, SENTENCE)) as chunks:
            first = await anext(chunks)
            await service.held.wait()
            assert service.open_connections == 1
        assert len(first) > 0
        async with asyncio.timeout(BOUND):
            await service.gone.wait()


@pytest.mark.parametrize("language", ["en", "zh", ""])
async def test_the_language_chooses_the_voice(language: str) -> None:
    async with speaking(voices={"en": "en-GB-RyanNeural", "zh": "zh-CN-YunxiNeural"}) as (
        tts,
        service,
    ):
        await say(tts, "OK.", language)
        wanted = {"en": "RyanNeural", "zh": "YunxiNeural", "": "XiaoxiaoNeural"}[language]
        assert wanted in service.spoken[0].voice


async def test_long_texts_are_cut_where_one_can_breathe() -> None:
    text = "好的，没问题。" * 250  # 5250 bytes without a space
    async with speaking() as (tts, service):
        await say(tts, text)
        pieces = [each.text for each in service.spoken]
        assert "".join(pieces) == text
        assert len(pieces) == 2
        assert all(len(piece.encode()) <= MAX_BYTES for piece in pieces)
        assert pieces[0].endswith("。")


async def test_entities_count_as_they_are_sent() -> None:
    async with speaking() as (tts, service):
        await say(tts, "a & b " * 700)  # 4200 bytes, 7000 as XML
        assert len(service.spoken) == 2


@pytest.mark.parametrize("stage", ["start", "middle", "end"])
async def test_a_stall_ends_in_its_time(stage: Any) -> None:  # noqa: ANN401 - a literal
    async with speaking(Fault(stall=stage), timeout=0.2) as (tts, service):
        while (
            not service.held.is_set()
        ):  # on a busy machine the time may be over before it is asked
            with pytest.raises(ProviderTimeout, match="no speech within"):
                await say(tts, SENTENCE)
        async with asyncio.timeout(BOUND):
            await service.gone.wait()
        # Nor is a whole sentence always heard in it.
        tts._settings = tts._settings.model_copy(update={"timeout": BOUND})
        assert await say(tts, SENTENCE)


@pytest.mark.parametrize("stage", ["start", "middle", "end"])
async def test_a_cut_is_an_error_and_no_end(stage: Any) -> None:  # noqa: ANN401 - a literal
    async with speaking(Fault(cut=stage)) as (tts, _):
        with pytest.raises(
            ProviderError, match="no sound" if stage == "start" else "cut"
        ) as caught:
            await say(tts, SENTENCE)
        assert (caught.value.retryable, caught.value.reason) == (True, "service")
        assert await say(tts, SENTENCE)


@pytest.mark.slow
async def test_a_complete_sentence_does_not_wait_for_the_closing_handshake() -> None:
    async with speaking(Fault(deaf=True), timeout=BOUND) as (tts, service):
        pcm = await say(tts, SENTENCE)
        assert service.talking == 1  # the closing handshake is not complete
        assert pcm_seconds(pcm, tts.sample_rate) == pytest.approx(len(SENTENCE) * 0.048, abs=0.1)


async def test_a_loop_that_is_held_up_loses_no_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "FAREWELL", 0.0)  # every wait times out at once
    async with speaking() as (tts, _):
        for _ in range(5):
            pcm = await say(tts, SENTENCE)
            assert pcm_seconds(pcm, tts.sample_rate) == pytest.approx(1.73, abs=0.1)


async def test_no_sound_at_all() -> None:
    async with speaking(Fault(silent=True)) as (tts, _):
        with pytest.raises(ProviderError, match="voice zh-CN-XiaoxiaoNeural"):
            await say(tts, SENTENCE)
        assert await say(tts, SENTENCE)


@pytest.mark.parametrize(
    "strange",
    [
        "no headers at all",
        "Path:turn.unknown\r\n\r\n{}",
        "Path:audio.metadata\r\n\r\nno json",
        'Path:audio.metadata\r\n\r\n{"Meta": []}',
        b"",
        b"\xff\xff short",
        b"\x00\x0cPath:video\r\nxx",
        b"\x00\x03abc",
    ],
)
async def test_strange_answers(strange: str | bytes) -> None:
    async with speaking(Fault(send=strange)) as (tts, _):
        with pytest.raises(ProviderError, match="not understood"):
            await say(tts, SENTENCE)
        assert await say(tts, SENTENCE)


async def test_audio_that_is_none() -> None:
    head = b"Content-Type:audio/mpeg\r\nPath:audio\r\n"
    noise = len(head).to_bytes(2, "big") + head + b"<html>" * 400
    async with speaking(Fault(send=noise, silent=True)) as (tts, _):
        with pytest.raises(ProviderError, match="edge"):
            await say(tts, SENTENCE)
        assert await say(tts, SENTENCE)


async def test_a_wrong_clock_is_set_by_the_service_and_tried_again() -> None:
    async with speaking(Fault(status=403)) as (tts, service):
        assert await say(tts, SENTENCE)
        assert service.handshakes == 2


@pytest.mark.parametrize(
    ("status", "times", "reason", "message"),
    [(403, 2, "service", "upgrade edge-tts"), (429, 1, "busy", "429"), (503, 1, "service", "503")],
)
async def test_refusals(status: int, times: int, reason: str, message: str) -> None:
    async with speaking(*[Fault(status=status)] * times) as (tts, _):
        with pytest.raises(ProviderError, match=message) as caught:
            await say(tts, SENTENCE)
        assert caught.value.reason == reason
        assert await say(tts, SENTENCE)


async def test_an_unreachable_service(monkeypatch: pytest.MonkeyPatch) -> None:
    async with speaking() as (tts, _):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"ws://127.0.0.1:{free.getsockname()[1]}/?x=1"
        monkeypatch.setattr(edge_tts.communicate, "WSS_URL", url)
        with pytest.raises(ProviderError, match="cannot be reached") as caught:
            await say(tts, SENTENCE)
        assert caught.value.reason == "unreachable"


async def test_speech_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "LONGEST", 20_000)
    async with speaking(Fault(endless=True)) as (tts, service):
        with pytest.raises(ProviderError, match="no end"):
            await say(tts, "a")
        async with asyncio.timeout(BOUND):
            await service.gone.wait()


@pytest.mark.parametrize("taken", [0, 1, 2])
async def test_closing_the_iterator_closes_the_socket(taken: int) -> None:
    async with speaking(Fault(endless=True)) as (tts, service):
        chunks = sound(tts, SENTENCE)
        for _ in range(taken):
            await anext(chunks)
        await chunks.aclose()
        await until(lambda: not service.talking)
        assert service.gone.is_set() == bool(taken)


@pytest.mark.parametrize("yields", [1, 2, 3, 5, 8, 13, 21, 34])
async def test_cancelled_at_any_stage(yields: int) -> None:
    async with speaking() as (tts, service):
        talking = asyncio.create_task(say(tts, SENTENCE * 3))
        for _ in range(yields):
            await asyncio.sleep(0)
        talking.cancel()
        await asyncio.gather(talking, return_exceptions=True)
        await until(lambda: not service.open_connections)
        assert await say(tts, SENTENCE)


async def test_closing_the_provider_ends_what_is_spoken() -> None:
    async with speaking(Fault(stall="middle")) as (tts, service):
        talking = asyncio.create_task(say(tts, SENTENCE))
        async with asyncio.timeout(BOUND):
            await service.held.wait()
            await tts.close()
            await tts.close()
            with pytest.raises(ProviderError, match="the provider is closed"):
                await talking
            await service.gone.wait()
        with pytest.raises(ProviderError, match="the provider is closed"):
            await tts.start()
