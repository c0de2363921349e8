"""One conversation on the wire: what comes in, what goes out, and how it lives and ends."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed as SocketClosed

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import (
    BOUND_S,
    HELLO,
    Server,
    Session,
    opus_packets,
    receive_json,
    rms,
    running,
    tone,
)
from tests.unit.transports.xiaozhi.websocket.raw_client import BINARY, PING, TEXT, raw_client
from vixio.core.chunk import Abort, AudioIn, ListenStop, TextInput
from vixio.core.clock import now
from vixio.core.errors import ConnectionClosed
from vixio.core.transport import DeviceConnection
from vixio.transports.xiaozhi import connection as connection_module
from vixio.transports.xiaozhi.framing import VERSIONS, Version, build_frame, parse_frame

STOP = json.dumps({"type": "listen", "state": "stop"})


def hello(version: Version, frame_ms: int = 60, **features: bool) -> dict[str, Any]:
    audio = {**HELLO["audio_params"], "frame_duration": frame_ms}
    return {**HELLO, "version": version, "audio_params": audio, "features": features}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("frame_ms", [20, 40, 60])
async def test_speech_comes_in_as_pcm_at_16_khz(version: Version, frame_ms: int) -> None:
    packets = opus_packets(0.6, 16_000, frame_ms)
    async with running() as server:
        headers = {"Protocol_Version": str(version)}
        async with server.client("aa", hello(1, frame_ms), **headers) as client:
            session = await server.session()
            began = now()
            for packet in packets:
                await client.send(build_frame(version, packet))
            chunks = [await session.next() for _ in packets]
    heard = b""
    for chunk in chunks:
        assert isinstance(chunk, AudioIn)
        assert began <= chunk.at <= began + BOUND_S
        assert chunk.gap_ms == 0
        heard += chunk.pcm
    assert len(heard) == len(packets) * 16 * frame_ms * 2
    assert rms(heard[6400:-6400]) == pytest.approx(0.3 / 2**0.5, rel=0.1)


async def _has_arrived(client: ClientConnection) -> None:
    """Wait until the server has taken in all that was sent: it answers in order."""
    await asyncio.wait_for(await client.ping(), BOUND_S)


async def _unhurried(server: Server, client: ClientConnection) -> Session:
    """Return the session, which has told the connection that audio may wait."""
    session = await server.session()
    session.connection.may_gather = True
    await client.send(STOP)  # the next wait is the first one that knows it
    assert await session.next() == ListenStop()
    return session


@pytest.mark.parametrize(("frame_ms", "together"), [(20, 9), (40, 4), (60, 3)])
async def test_a_quiet_microphones_packets_are_taken_together(frame_ms: int, together: int) -> None:
    async with running() as server, server.client("aa", hello(1, frame_ms)) as client:
        chunks = (await _unhurried(server, client)).chunks
        packets = opus_packets(frame_ms * together / 1000, 16_000, frame_ms)[:together]
        for packet in packets[:-1]:
            await client.send(packet)
        await _has_arrived(client)
        assert chunks.empty()
        await client.send(packets[-1])
        for _ in packets:
            assert isinstance(await asyncio.wait_for(chunks.get(), BOUND_S), AudioIn)


async def test_what_else_arrives_does_not_wait_for_more_audio() -> None:
    async with running() as server, server.client() as client:
        session = await _unhurried(server, client)
        await client.send(opus_packets(0.06)[0])
        await client.send(STOP)
        assert isinstance(await session.next(), AudioIn)
        assert await session.next() == ListenStop()


async def test_with_many_devices_no_packet_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "FEW_DEVICES", 1)
    async with running() as server, server.client("aa"), server.client("bb") as client:
        await server.session()
        session = await _unhurried(server, client)
        await client.send(opus_packets(0.06)[0])
        assert isinstance(await session.next(), AudioIn)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_reply_goes_out_in_the_devices_version(version: Version) -> None:
    async with running() as server, server.client("aa", hello(version)) as client:
        connection = (await server.session()).connection
        await connection.send_transcript("what is it")
        await connection.send_emotion("happy", "😀")
        await connection.send_speech_start()
        await connection.send_sentence("It is 3.")
        encoder = connection.new_encoder()
        packets = encoder.encode(tone(22_050, 0.3), 22_050) + encoder.flush()
        await connection.send_audio(packets[:1], 0)
        await connection.send_audio(packets[1:], 60)
        await connection.send_speech_stop()
        await connection.send_alert("Oh", "That failed", "sad")
        texts = [await receive_json(client) for _ in range(4)]
        for number, packet in enumerate(packets):
            data = await client.recv()
            assert isinstance(data, bytes)
            frame = parse_frame(version, data)
            assert frame is not None
            assert frame.payload == packet
            assert frame.timestamp_ms == (number * 60 if version == 2 else 0)
        texts += [await receive_json(client) for _ in range(2)]
    common = {"session_id": connection.session_id}
    assert texts == [
        {**common, "type": "stt", "text": "what is it"},
        {**common, "type": "llm", "emotion": "happy", "text": "😀"},
        {**common, "type": "tts", "state": "start"},
        {**common, "type": "tts", "state": "sentence_start", "text": "It is 3."},
        {**common, "type": "tts", "state": "stop"},
        {**common, "type": "alert", "status": "Oh", "message": "That failed", "emotion": "sad"},
    ]


@pytest.mark.parametrize(
    ("version", "wrong", "reason"),
    [
        (1, "not json", "not_json"),
        (1, "[" * 50_000, "not_json"),
        (1, "[1]", "not_object"),
        (1, "{}", "no_type"),
        (1, '{"type":"what"}', "unknown_type"),
        (1, '{"type":"listen","state":7}', "bad_field"),
        (1, '{"type":"iot"}', "iot"),
        (1, '{"type":"goodbye"}', "goodbye"),
        (1, json.dumps(HELLO), "repeated_hello"),
        (1, '{"type":"mcp","payload":{"id":1}}', "unexpected_mcp"),
        (1, '{"type":"mcp","payload":1}', "bad_field"),
        (1, b"", "empty_frame"),
        (1, b"\x03", "bad_opus"),
        (2, b"short", "bad_frame"),
        (2, b"", "bad_frame"),
        (2, build_frame(2, b""), "empty_frame"),
        (2, build_frame(2, b"1234")[:-1], "bad_frame"),
        (3, build_frame(3, b"1234") + b"5", "bad_frame"),
        (3, b"\x09\0\0\x01x", "unknown_frame_type"),
    ],
)
async def test_wrong_input_is_counted_and_the_conversation_goes_on(
    version: Version, wrong: str | bytes, reason: str
) -> None:
    async with running() as server, server.client("aa", hello(version)) as client:
        session = await server.session()
        await client.send(wrong)
        await client.send(build_frame(version, opus_packets(0.06)[0]))
        await client.send(STOP)
        assert isinstance(await session.next(), AudioIn)
        assert await session.next() == ListenStop()
        assert server.counters.get(f"xiaozhi.ignored.{reason}") == 1


async def test_a_storm_of_garbage_ends_nothing() -> None:
    rng = random.Random(3)
    async with running() as server, server.client() as client:
        session = await server.session()
        for _ in range(300):
            await client.send(rng.randbytes(rng.randint(0, 300)))
        await client.send(STOP)
        while not isinstance(await session.next(), ListenStop):
            pass
        for packet in opus_packets(1.2):
            await client.send(packet)
        levels = []
        for _ in range(20):
            chunk = await session.next()
            assert isinstance(chunk, AudioIn)
            levels.append(rms(chunk.pcm))
        assert levels[-3] == pytest.approx(0.3 / 2**0.5, rel=0.15)  # the decoder has recovered


async def test_text_that_is_no_utf8_is_mended() -> None:
    async with running() as server, raw_client(server.transport.port) as client:
        await client.hello()
        session = await server.session()
        await client.send(TEXT, b"\xff\xfe\x80")
        await client.send(TEXT, b'{"type":"abort","reason":"caf\xe9"}')
        assert await session.next() == Abort("caf\ufffd")
        assert server.counters.get("xiaozhi.ignored.not_json") == 1
        halves = '{"type":"listen","state":"detect","text":"é"}'.encode()
        cut = halves.index(b"\xc3") + 1  # within the letter
        await client.send(TEXT, halves[:cut], final=False)
        await client.send(0x0, halves[cut:])
        assert await session.next() == TextInput("é")


@pytest.mark.parametrize("message", ["x" * 65_537, bytes(65_537)])
async def test_what_is_too_large_is_closed_1009(message: str | bytes) -> None:
    async with running() as server, server.client() as client:
        session = await server.session()
        await client.send(message)
        with pytest.raises(SocketClosed):
            await asyncio.wait_for(client.recv(), BOUND_S)
        assert client.close_code == 1009
        await session.wait_ended()


async def test_a_ping_message_is_answered() -> None:
    async with running() as server, server.client() as client:
        connection = (await server.session()).connection
        await client.send('{"type":"ping"}')
        expected = {"session_id": connection.session_id, "type": "pong"}
        assert await receive_json(client) == expected


async def test_cancelling_a_reception_loses_nothing() -> None:
    texts: list[str] = []
    done = asyncio.Event()

    async def impatient(connection: DeviceConnection) -> None:
        while len(texts) < 100:
            try:
                async with asyncio.timeout(0.0005):
                    chunk = await connection.receive()
            except TimeoutError:
                continue
            assert isinstance(chunk, TextInput)
            texts.append(chunk.text)
        done.set()

    async with running(impatient) as server, server.client() as client:
        for number in range(100):
            await client.send(
                json.dumps({"type": "listen", "state": "detect", "text": str(number)})
            )
            if number % 10 == 0:
                await asyncio.sleep(0.001)
        await asyncio.wait_for(done.wait(), BOUND_S)
    assert texts == [str(number) for number in range(100)]


async def test_after_the_end_everything_says_so() -> None:
    async with running() as server:
        async with server.client():
            session = await server.session()
        await session.wait_ended()
        connection = session.connection
        for attempt in (
            connection.receive(),
            connection.send_audio([b"x"], 0),
            connection.send_transcript(""),
            connection.send_emotion("happy", ""),
            connection.send_speech_start(),
            connection.send_sentence(""),
            connection.send_speech_stop(),
            connection.send_alert("", "", ""),
        ):
            with pytest.raises(ConnectionClosed, match="gone"):
                await attempt
        await connection.close()
        await connection.close(1011, "again")


async def test_closing_ends_the_wait_and_gives_the_device_the_reason() -> None:
    async with running() as server, server.client() as client:
        session = await server.session()
        await session.connection.close(4010, "because " + "é" * 100)
        await session.wait_ended()
        with pytest.raises(SocketClosed):
            await client.recv()
        assert client.close_code == 4010
        assert client.close_reason is not None
        assert client.close_reason.startswith("because é")
        assert len(client.close_reason.encode()) <= 123


async def test_a_device_is_kept_from_giving_up_and_only_when_nothing_else_is_sent() -> None:
    async with running(keepalive_after=0.15) as server, server.client() as client:
        connection = (await server.session()).connection
        for _ in range(6):
            await connection.send_sentence("…")
            assert (await receive_json(client))["state"] == "sentence_start"
            await asyncio.sleep(0.05)
        began = now()
        for _ in range(2):
            message = await receive_json(client)
            assert (message["type"], message["state"]) == ("tts", "keepalive")
        assert now() - began >= 0.15


async def test_pings_go_out_and_missing_pongs_alone_end_nothing() -> None:
    async with (
        running(ping_interval=0.02, dead_after=0.3) as server,
        raw_client(server.transport.port) as client,
    ):
        await client.hello()
        session = await server.session()
        began = now()
        while now() - began < 0.6:  # twice as long as silence would be borne
            await client.send(BINARY, b"\x03")
            await client.read_until(PING)
        assert not session.ended.is_set()
        assert server.transport.stats()["connected"] == 1


@pytest.mark.slow
async def test_a_quiet_device_that_answers_pings_lives_on() -> None:
    async with running(ping_interval=0.05, dead_after=1.5) as server, server.client() as client:
        session = await server.session()
        await asyncio.sleep(2.0)  # the client answers pings by itself
        assert not session.ended.is_set()
        await client.send(STOP)
        assert await session.next() == ListenStop()


@pytest.mark.slow
async def test_a_device_of_which_nothing_is_heard_is_given_up() -> None:
    async with (
        running(ping_interval=0.05, dead_after=0.2) as server,
        raw_client(server.transport.port) as client,
    ):
        await client.hello()
        session = await server.session()
        began = now()
        await session.wait_ended()
        assert now() - began >= 0.15
        assert server.counters.get("xiaozhi.closed.silent") == 1
        await until(lambda: not server.admission.admitted)


async def test_a_device_that_reads_nothing_is_given_up() -> None:
    failed: asyncio.Future[tuple[str, float, int]] = asyncio.get_running_loop().create_future()

    async def flood(connection: DeviceConnection) -> None:
        sent, began = 0, now()
        try:
            while True:
                began = now()
                await connection.send_audio([bytes(4_000)], 0)
                sent += 4_000
        except ConnectionClosed as error:
            failed.set_result((str(error), now() - began, sent))
            raise

    async with (
        running(flood, send_timeout=0.2) as server,
        raw_client(server.transport.port, receive_buffer=4_096) as client,
    ):
        await client.hello()
        why, waited, sent = await asyncio.wait_for(failed, BOUND_S)
        assert "does not read" in why
        assert waited >= 0.15
        assert sent < 1_000_000  # what the buffers of both sides held
        assert server.counters.get("xiaozhi.closed.not_reading") == 1
        await until(lambda: not server.admission.admitted)
