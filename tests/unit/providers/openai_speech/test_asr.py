"""ASR over ``/audio/transcriptions``, against a local server with the real protocol."""

from __future__ import annotations

import asyncio
import io
import json
import wave
from collections.abc import Awaitable, Callable

import pytest

from tests.support.sounds import chirp
from tests.support.speech_server import Fault, SpeechServer, refusal
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.openai_speech.asr import OpenAIASRProvider

LIMIT = 20.0
WORDS = "把灯打开 turn on the lamp"
SAID = chirp(16_000, 1.3).tobytes()
LAMP = ToolDefinition(
    "self.lamp.turn_on",
    "Turn on a lamp",
    {"type": "object", "properties": {"room": {"type": "string", "enum": ["den", "big_hall"]}}},
    alias="self_lamp_turn_on",
)

MakeASR = Callable[..., Awaitable[OpenAIASRProvider]]


@pytest.fixture(autouse=True)
def known(server: SpeechServer) -> None:
    server.known[SAID] = WORDS


async def hear(
    asr: OpenAIASRProvider, pcm: bytes = SAID, hints: SpeechHints | None = None
) -> Recognition:
    stream = asr.open(hints or SpeechHints())
    try:
        for at in range(0, len(pcm), 1_919):
            await stream.feed(pcm[at : at + 1_919])
        async with asyncio.timeout(LIMIT):
            return await stream.finish()
    finally:
        await stream.close()


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_request_is_what_the_api_takes(
    server: SpeechServer, make_asr: MakeASR, streamed: bool
) -> None:
    asr = await make_asr(model="whisper-large-v3", api_key="secret-key", stream=streamed)
    heard = await hear(asr)
    assert heard == Recognition(WORDS)
    (request,) = server.requests
    assert request.path == "/v1/audio/transcriptions"
    assert request.headers["authorization"] == "Bearer secret-key"
    wanted = {"model": ["whisper-large-v3"]}
    assert request.fields == ({**wanted, "stream": ["true"]} if streamed else wanted)
    name, media, content = request.files["file"]
    assert (name, media) == ("speech.wav", "audio/wav")
    with wave.open(io.BytesIO(content)) as sound:
        assert sound.readframes(sound.getnframes()) == SAID


async def test_hints_and_options_go_along(server: SpeechServer, make_asr: MakeASR) -> None:
    asr = await make_asr(
        prompt="A chat with a lamp.",
        vocabulary=["Zoë", "Vixio"],
        temperature=0.0,
        extra_body={"vad": "on"},
    )
    heard = await hear(asr, hints=SpeechHints((LAMP,), "en-GB"))
    assert heard.language == "en"
    fields = server.requests[0].fields
    assert fields["language"] == ["en"]
    assert fields["temperature"] == ["0.0"]
    assert fields["vad"] == ["on"]
    assert fields["prompt"] == ["big hall, den, lamp turn on, Vixio, Zoë. A chat with a lamp."]


async def test_a_prompt_is_in_the_letters_of_its_language(
    server: SpeechServer, make_asr: MakeASR
) -> None:
    curtain = ToolDefinition("打开窗帘", "")
    await hear(await make_asr(vocabulary=["Zoë"]), hints=SpeechHints((LAMP, curtain), "zh-CN"))
    fields = server.requests[0].fields
    assert (fields["language"], fields["prompt"]) == (["zh"], ["打开窗帘, Zoë."])


async def test_hints_as_keywords_or_not_at_all(server: SpeechServer, make_asr: MakeASR) -> None:
    hints = SpeechHints((LAMP,), "en")
    await hear(await make_asr(hints="keywords", vocabulary=["Zoë"], language="auto"), hints=hints)
    fields = server.requests[-1].fields
    assert fields["keywords[]"] == ["Zoë", "lamp turn on", "den", "big hall"]
    assert not {"prompt", "language"} & set(fields)
    await hear(await make_asr(hints="off", language="de"), hints=hints)
    assert set(server.requests[-1].fields) == {"model", "language"}
    assert server.requests[-1].fields["language"] == ["de"]


async def test_partial_transcripts_are_reported(server: SpeechServer, make_asr: MakeASR) -> None:
    held = Fault(
        body=b'data: {"type":"transcript.text.delta","delta":"turn on"}\n\n',
        media="text/event-stream",
    )
    server.fail(held)
    stream = (await make_asr(stream=True)).open(SpeechHints())
    await stream.feed(SAID)
    assert (await stream.finish()).text == "turn on"  # a server that sends deltas only
    assert stream.partial == "turn on"
    await stream.close()


async def test_segments_that_are_no_events_of_openai_are_words_too(
    server: SpeechServer, make_asr: MakeASR
) -> None:
    segments = b'data: {"text": " Turn on"}\n\ndata: {"text": " the lamp."}\n\n'
    server.fail(Fault(body=segments, media="text/event-stream; charset=utf-8"))
    assert (await hear(await make_asr(stream=True))).text == "Turn on the lamp."


@pytest.mark.parametrize(
    "text", ["<|zh|><|HAPPY|><|Speech|><|withitn|>你好。", "你好。😊"], ids=["tags", "emoji"]
)
async def test_what_sensevoice_says_beside_the_words(
    server: SpeechServer, make_asr: MakeASR, text: str
) -> None:
    answer = json.dumps({"text": text}).encode()
    server.fail(Fault(body=answer), Fault(body=answer))
    heard = await hear(await make_asr(model="FunAudioLLM/SenseVoiceSmall", language="zh"))
    assert (heard.text, heard.language, heard.emotion) == ("你好。", "zh", "happy")
    assert (await hear(await make_asr(model="whisper-1"))).text == text


async def test_partial_words_grow(server: SpeechServer, make_asr: MakeASR) -> None:
    asr = await make_asr(stream=True)
    stream = asr.open(SpeechHints())
    await stream.feed(SAID)
    seen: list[str] = []
    stream.on_partial = seen.append
    async with asyncio.timeout(LIMIT):
        assert (await stream.finish()).text == WORDS
    await stream.close()
    assert all(WORDS.startswith(each) for each in seen)
    assert seen == sorted(seen, key=len)
    assert len(seen) > 1
    assert seen[-1] == WORDS


async def test_a_server_that_does_not_stream_is_understood(
    server: SpeechServer, make_asr: MakeASR
) -> None:
    server.fail(Fault(body=b'{"text": " on "}'))
    assert (await hear(await make_asr(stream=True))).text == "on"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_connection_serves_many_utterances(
    server: SpeechServer, make_asr: MakeASR, streamed: bool
) -> None:
    asr = await make_asr(stream=streamed)
    for _ in range(5):
        assert (await hear(asr)).text == WORDS
    assert server.connections == 1


@pytest.mark.parametrize("pcm", [b"", b"\0", SAID[:3_000], bytes(64_000), b"\5\0\373\377" * 9_000])
async def test_what_holds_no_words_costs_no_request(
    server: SpeechServer, make_asr: MakeASR, pcm: bytes
) -> None:
    heard = await hear(await make_asr(), pcm)
    assert (heard.text, heard.rejected) == ("", False)
    assert server.requests == []


async def test_a_long_utterance_is_cut(server: SpeechServer, make_asr: MakeASR) -> None:
    await hear(await make_asr(max_seconds=2), SAID * 20)
    _, _, content = server.requests[0].files["file"]
    assert len(content) == 44 + 2 * 32_000


FAULTS = {
    "key": (refusal(401, "Incorrect API key provided: sk-abcdefgh"), "no_key", False),
    "model": (refusal(404, "no such model"), "no_model", False),
    "quota": (refusal(429, "pay", "insufficient_quota"), "quota", False),
    "busy": (refusal(429, "slow down", retry_after="7"), "busy", True),
    "broken": (refusal(500, "oops"), "service", True),
    "request": (refusal(400, "too short"), "request", False),
    "garbage": (Fault(body=b"<html>oh no</html>"), "service", True),
    "list": (Fault(body=b"[1, 2]"), "service", True),
    "wordless": (Fault(body=b'{"words": 3}'), "service", True),
    "in-disguise": (refusal(200, code="invalid_audio"), "request", False),
    "cut-head": (Fault(cut="head"), "unreachable", True),
    "cut-body": (Fault(cut="body"), "service", True),
    "cut-middle": (Fault(cut="middle"), "service", True),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", FAULTS)
async def test_errors_are_one_line(
    server: SpeechServer, make_asr: MakeASR, name: str, streamed: bool
) -> None:
    fault, reason, retryable = FAULTS[name]
    server.fail(fault)
    asr = await make_asr(stream=streamed)
    with pytest.raises(ProviderError) as caught:
        await hear(asr)
    expected = (reason, retryable)
    if streamed and name.startswith("cut"):
        assert caught.value.reason in ("service", "unreachable")
    else:
        assert (caught.value.reason, caught.value.retryable) == expected
    assert "\n" not in str(caught.value)
    assert "sk-" not in str(caught.value)
    assert isinstance(caught.value, ProviderUnavailable) == (not retryable and reason != "request")
    assert (await hear(asr)).text == WORDS


@pytest.mark.parametrize(
    "events",
    [
        b'data: {"error": {"message": "model overloaded", "code": "overloaded"}}\n\n',
        b"data: {broken\n\n",
        b'event: error\ndata: {"error": {"message": "no"}}\n\n',
    ],
)
async def test_an_error_within_the_stream(
    server: SpeechServer, make_asr: MakeASR, events: bytes
) -> None:
    server.fail(Fault(body=events, media="text/event-stream"))
    with pytest.raises(ProviderError) as caught:
        await hear(await make_asr(stream=True))
    assert caught.value.retryable
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("stall", ["head", "body", "middle"])
async def test_a_stall_is_given_up(
    server: SpeechServer, make_asr: MakeASR, stall: str, streamed: bool
) -> None:
    fault = Fault(stall=stall)  # type: ignore[arg-type]  # one of the places

    async def attempt() -> None:
        with pytest.raises(ProviderTimeout):
            await hear(await make_asr(timeout=0.3, stream=streamed))

    await server.reach(fault, attempt)
    async with asyncio.timeout(LIMIT):
        await server.idle()
    assert (await hear(await make_asr())).text == WORDS


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("stall", ["head", "body", "middle"])
async def test_cancelling_and_closing_end_the_request(
    server: SpeechServer, make_asr: MakeASR, stall: str, streamed: bool
) -> None:
    first, second = Fault(stall=stall), Fault(stall=stall)  # type: ignore[arg-type]  # as above
    server.fail(first, second)
    asr = await make_asr(stream=streamed)
    async with asyncio.timeout(LIMIT):
        hearing = asyncio.create_task(hear(asr))
        await first.reached.wait()
        hearing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hearing
        await server.idle()
        hearing = asyncio.create_task(hear(asr))
        await second.reached.wait()
        await asr.close()
        with pytest.raises(ProviderError, match="closed"):
            await hearing
        await server.idle()
    assert server.hung_up.is_set()


async def test_a_complete_transcript_does_not_wait_for_the_end_of_its_stream(
    server: SpeechServer, make_asr: MakeASR
) -> None:
    body = b'data: {"type":"transcript.text.done","text":"on"}\n\n'
    server.fail(Fault(body=body, media="text/event-stream", stall="middle"))
    assert (await hear(await make_asr(stream=True, timeout=15))).text == "on"


async def test_temporary_errors_are_retried(server: SpeechServer, make_asr: MakeASR) -> None:
    server.fail(Fault(cut="head"), refusal(503))
    assert (await hear(await make_asr(retries=2))).text == WORDS
    assert len(server.requests) == 3


async def test_without_a_key_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderUnavailable, match=r"asr\.api_key, or OPENAI_API_KEY"):
        await OpenAIASRProvider().start()
