"""Faults of a FunASR server: each fails one utterance at most."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from tests.support.funasr_faults import at, cut, fail, freeze, hang_up, refuse, rubbish, stall
from tests.support.funasr_server import Flavour, FunASRServer, Talk
from tests.unit.providers.funasr_server.support import BOUND, noise, provider, recognise
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.asr import SpeechHints
from vixio.providers.funasr_server.provider import FunASRServerASRProvider

STAGES = ["start", "audio", "end"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("act", [cut, hang_up, rubbish])
async def test_a_lost_connection_is_replaced_and_all_said_again(
    stage: str, act: Callable[[Talk], Awaitable[None]]
) -> None:
    async with FunASRServer(fault=at(stage, act)) as server, provider(server) as asr:
        assert (await recognise(asr, noise(1))).text == "loud 10"
        assert server.connections == 2
        assert bytes(server.utterances[-1].pcm) == noise(1)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("act", [cut, hang_up, rubbish])
async def test_lost_twice_it_is_given_up(
    stage: str, act: Callable[[Talk], Awaitable[None]]
) -> None:
    async with FunASRServer(fault=at(stage, act, 2)) as server, provider(server) as asr:
        with pytest.raises(ProviderError, match="funasr-server: the server") as caught:
            await recognise(asr, noise(1))
        assert caught.value.retryable
        assert caught.value.reason == "service"
        assert (await recognise(asr, noise(1))).text == "loud 10"


async def test_an_utterance_that_failed_stays_failed() -> None:
    async with FunASRServer(fault=at("audio", cut, 2)) as server, provider(server) as asr:
        stream = asr.open(SpeechHints())
        with pytest.raises(ProviderError):  # noqa: PT012 - which of them sees it is left to the net
            for _ in range(1000):
                await stream.feed(noise(0.06))
                await asyncio.sleep(0)
        with pytest.raises(ProviderError):
            await stream.feed(noise(0.06))
        with pytest.raises(ProviderError):
            await stream.finish()
        await stream.close()


async def test_a_server_that_closes_idle_connections_is_no_fault() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        assert (await recognise(asr, noise(0.5))).text == "loud 5"
        port = int(server.url.rpartition(":")[2])
        await server.stop()
        await server.listen(port)
        assert (await recognise(asr, noise(0.7))).text == "loud 7"


@pytest.mark.parametrize("stage", STAGES)
async def test_a_stall_ends_in_its_time(stage: str) -> None:
    server = FunASRServer(fault=at(stage, stall))
    async with server, provider(server, timeout=0.3) as asr:
        with pytest.raises(ProviderTimeout):
            await recognise(asr, noise(1))
        async with asyncio.timeout(BOUND):
            await server.gone.wait()  # the server has ended its work
    async with FunASRServer() as server, provider(server) as asr:
        assert (await recognise(asr, noise(1))).text == "loud 10"


@pytest.mark.slow
async def test_a_server_that_takes_no_audio() -> None:
    server = FunASRServer(fault=at("start", freeze))
    async with server, provider(server, timeout=0.3) as asr:
        stream = asr.open(SpeechHints())
        with pytest.raises(ProviderTimeout, match="progress"):
            await stream.feed(noise(200))  # more than the buffers of a socket
        await stream.close()


async def test_an_error_reported_by_the_server_is_not_retried() -> None:
    async with FunASRServer(fault=at("start", refuse)) as server, provider(server) as asr:
        with pytest.raises(ProviderError, match="ONLY SUPPORT PCM") as caught:
            await recognise(asr, noise(1))
        assert not caught.value.retryable
        assert server.connections == 1


async def test_an_error_in_the_acknowledgement() -> None:
    server = FunASRServer(Flavour.PYTHON, fault=at("end", fail))
    async with server, provider(server) as asr:
        with pytest.raises(ProviderError, match="inference failed"):
            await recognise(asr, noise(1))


async def test_an_unreachable_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings = {"url": f"ws://127.0.0.1:{free.getsockname()[1]}"}
    asr = FunASRServerASRProvider(FunASRServerASRProvider().settings.model_copy(update=settings))
    await asr.start()
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        await recognise(asr, noise(0.5))
    assert caught.value.reason == "unreachable"
    await asr.close()


@pytest.mark.parametrize(
    ("status", "reason", "retryable"),
    [
        (401, "no_key", False),
        (403, "no_key", False),
        (404, "not_ready", False),
        (429, "busy", True),
        (503, "busy", True),
        (500, "service", True),
    ],
)
async def test_refused_handshakes(status: int, reason: str, retryable: bool) -> None:
    async with FunASRServer() as server, provider(server) as asr:
        server.refuse = status
        with pytest.raises(ProviderError, match=str(status)) as caught:
            await recognise(asr, noise(0.5))
        assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
        server.refuse = 0
        assert (await recognise(asr, noise(0.5))).text == "loud 5"


async def test_a_handshake_without_an_answer() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    async with silent, FunASRServer() as server:
        url = f"ws://127.0.0.1:{port}"
        async with provider(server, url=url, connect_timeout=0.2) as asr:
            with pytest.raises(ProviderTimeout, match="connection"):
                await recognise(asr, noise(0.5))


async def test_late_words_of_another_utterance_are_dropped() -> None:
    async def late(talk: Talk) -> None:
        await talk.send(text="late", mode="2pass-offline", wav_name="vixio-0", is_final=True)

    async with FunASRServer(fault=at("end", late)) as server, provider(server) as asr:
        assert (await recognise(asr, noise(1))).text == "loud 10"


async def test_a_ca_file_that_is_not_there() -> None:
    asr = FunASRServerASRProvider(
        FunASRServerASRProvider().settings.model_copy(update={"ca_file": "/nowhere/ca.pem"})
    )
    with pytest.raises(ProviderUnavailable, match=r"ca_file /nowhere/ca\.pem"):
        await asr.start()
    await asr.close()
