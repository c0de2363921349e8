"""Utterances through a real socket, with each of FunASR's servers and in each mode."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.funasr_server import Flavour, FunASRServer
from tests.support.waiting import until
from tests.unit.providers.funasr_server.support import noise, provider, recognise, silence
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.funasr_server.transcript import Ending

TWO = noise(1.0) + silence(1.2) + noise(0.5)
"""Two segments for a server with a VAD."""

CASES = [
    (Flavour.CPP_2PASS, "2pass", "loud 10 loud 5"),
    (Flavour.CPP_2PASS, "offline", "loud 10 loud 5"),
    (Flavour.CPP_2PASS, "online", "loud 6 loud 4 loud 2 loud 3"),
    (Flavour.CPP_OFFLINE, "offline", "loud 15"),
    (Flavour.PYTHON, "2pass", "loud 10 loud 5"),
    (Flavour.PYTHON, "offline", "loud 10 loud 5"),
    (Flavour.PYTHON, "online", "loud 6 loud 4 loud 2 loud 3"),
    (Flavour.PYTHON_OLD, "2pass", "loud 10 loud 5"),
    (Flavour.PYTHON_OLD, "offline", "loud 10 loud 5"),
    (Flavour.PYTHON_OLD, "online", "loud 6 loud 4 loud 2"),  # this server drops the last chunk
]


@pytest.mark.slow
@pytest.mark.parametrize(("flavour", "mode", "words"), CASES)
async def test_every_server_in_every_mode(flavour: Flavour, mode: str, words: str) -> None:
    server = FunASRServer(flavour)
    async with server, provider(server, Ending.UNKNOWN, mode=mode) as asr:
        for _ in range(3):  # the first one observes the server's ending, the others use it
            assert (await recognise(asr, TWO)).text == words
        assert server.connections == 1
        assert [each.connection for each in server.utterances] == [1, 1, 1]


async def test_what_is_sent() -> None:
    async with FunASRServer() as server, provider(server, chunk_interval=5) as asr:
        await recognise(asr, TWO + b"\x01", size=1000)
        (utterance,) = server.utterances
        assert bytes(utterance.pcm) == TWO
        assert set(utterance.pieces[:-1]) == {3840}  # 10 * 60 / 5 ms
        assert utterance.start["audio_fs"] == 16000
        assert utterance.ended


async def test_partial_words_come_while_the_user_speaks() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        stream = asr.open(SpeechHints())
        assert stream.partial == ""
        await stream.feed(noise(0.7))
        await until(lambda: stream.partial == "loud 6")
        await stream.feed(noise(0.3))
        assert (await stream.finish()).text == "loud 10"
        assert stream.partial == "loud 10"
        await stream.close()


async def test_tags_are_parsed_and_never_spoken() -> None:
    tagged = "<|zh|><|HAPPY|><|Speech|><|withitn|>打开灯。"
    async with FunASRServer(transcribe=lambda pcm: tagged) as server, provider(server) as asr:
        stream = asr.open(SpeechHints())
        await stream.feed(noise(1.3))
        expected = Recognition("打开灯。", language="zh", emotion="happy")
        assert await stream.finish() == expected
        assert stream.partial == "打开灯。"
        assert await stream.finish() == expected
        await stream.close()


async def test_silence_has_no_words_and_nothing_needs_no_server() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        assert await recognise(asr, b"") == Recognition("")
        assert await recognise(asr, b"\x01") == Recognition("")
        assert server.connections == 0
        assert await recognise(asr, silence(2)) == Recognition("")
        assert await recognise(asr, b"\x01\x00") == Recognition("")


@pytest.mark.slow
async def test_ten_minutes() -> None:
    # Longer than the limit for sending again.
    ten = noise(1) + silence(599)
    server = FunASRServer(Flavour.CPP_OFFLINE)
    async with server, provider(server, Ending.UNKNOWN, mode="offline") as asr:
        assert (await recognise(asr, ten, size=64_000)).text == "loud 10"


async def test_two_at_once_have_a_connection_each() -> None:
    async with FunASRServer() as server, provider(server) as asr:
        lengths = [3, 9, 14, 20]
        heard = await asyncio.gather(*(recognise(asr, noise(each / 10)) for each in lengths))
        assert [each.text for each in heard] == [f"loud {each}" for each in lengths]
        assert server.connections == 4
        await asyncio.gather(*(recognise(asr, noise(0.5)) for _ in lengths))
        assert server.connections == 4


LAMP = ToolDefinition(
    "self.lamp.set_color",
    "设置台灯的颜色",
    {"properties": {"color": {"enum": ["red", "暖白"]}, "level": {"type": "integer"}}},
)


async def test_hotwords_of_settings_and_tools() -> None:
    async with FunASRServer() as server, provider(server, hotwords=["小智", "lamp"]) as asr:
        asr.prepare(SpeechHints((LAMP,)))
        await recognise(asr, noise(0.5), tools=(LAMP,))
        assert json.loads(server.utterances[0].start["hotwords"]) == {
            "lamp": 20,
            "color": 10,
            "red": 10,
            "暖白": 10,
            "设置台灯的颜色": 10,
            "小智": 20,
        }
        # Other hotwords need another connection: the server keeps those of the first utterance.
        await recognise(asr, noise(0.5))
        assert json.loads(server.utterances[1].start["hotwords"]) == {"小智": 20, "lamp": 20}
        assert server.connections == 2


async def test_hotwords_in_words_and_without_tools() -> None:
    options: dict[str, Any] = {"hotword_format": "words", "tool_word_weight": 0}
    async with FunASRServer() as server, provider(server, hotwords={"小智": 5}, **options) as asr:
        await recognise(asr, noise(0.5), tools=(LAMP,))
        assert server.utterances[0].start["hotwords"] == "小智"


async def test_headers_for_a_proxy() -> None:
    headers = {"Authorization": "Bearer abc"}
    async with FunASRServer() as server, provider(server, headers=headers) as asr:
        await recognise(asr, noise(0.5))
        assert server.headers[0]["authorization"] == "Bearer abc"
        assert "abc" not in repr(asr.settings)
