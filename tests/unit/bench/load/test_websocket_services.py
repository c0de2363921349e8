"""The stand-ins of FunASR's server and of Edge's voices, through the real providers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.util import find_spec

import numpy as np
import pytest

from tests.unit.bench.load.marked import sound
from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.audio_stream.mp3_frames import parse_header
from vixio.providers.funasr_server.provider import FunASRServerASRProvider
from vixio.providers.funasr_server.transcript import Ending
from vixio.providers.tts import TTSProvider
from vixio.settings import Settings
from vixio_bench.load.control import Hub, Json
from vixio_bench.load.processes import Child, start_services
from vixio_bench.load.services.choice import EDGE, FUNASR_SERVER, HTTP, has, parse, sections
from vixio_bench.load.services.edge import FRAME_BYTES, FRAME_MS, MP3, EdgeService, redirect
from vixio_bench.load.services.funasr import PARTIAL, FunASRService
from vixio_bench.load.services.scripted import NOBODY

needs_edge = pytest.mark.skipif(
    not (find_spec("edge_tts") and find_spec("miniaudio")), reason="needs the extra edge"
)
PIECE = 1_920
"""Bytes of a device's packet of 60 ms."""
HINTS = SpeechHints((), "en")
RATE = 24_000


async def heard(asr: ASRProvider, pcm: bytes) -> str:
    stream = asr.open(HINTS)
    for start in range(0, len(pcm), PIECE):
        await stream.feed(pcm[start : start + PIECE])
    words = (await stream.finish()).text
    await stream.close()
    return words


async def said(tts: TTSProvider, text: str) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    pieces = [piece async for piece in tts.synthesize(text)]
    return np.frombuffer(b"".join(pieces), "<i2")


@pytest.fixture
async def recogniser() -> AsyncIterator[FunASRServerASRProvider]:
    """FunASR server's provider, connected to the stand-in."""
    service = FunASRService()
    addresses = {HTTP: "http://127.0.0.1:1/v1", FUNASR_SERVER: await service.start()}
    asr = Settings.model_validate(sections("http,funasr-server", addresses)).asr.create()
    assert isinstance(asr, FunASRServerASRProvider)
    await asr.start()
    yield asr
    await asr.close()
    await service.stop()


async def test_the_recogniser_hears_one_number_after_another(
    recogniser: FunASRServerASRProvider,
) -> None:
    for number in (1_234, 7, 41):
        assert await heard(recogniser, sound(number)) == f"device {number}"
    assert await heard(recogniser, bytes(pcm_bytes(2.0, LISTEN_RATE))) == NOBODY
    # The client knows the last result by this, and never waits for a pause to be sure.
    assert recogniser.pool.habits.ending is Ending.ACKNOWLEDGED


async def test_utterances_at_the_same_time_are_kept_apart(recogniser: ASRProvider) -> None:
    numbers = range(20, 26)
    sounds = {number: sound(number, 2.0) for number in numbers}
    streams = {number: recogniser.open(HINTS) for number in numbers}
    for start in range(0, len(sounds[20]), PIECE):
        for number in numbers:
            await streams[number].feed(sounds[number][start : start + PIECE])
    for number in numbers:
        assert (await streams[number].finish()).text == f"device {number}"
        await streams[number].close()


async def test_partial_words_come_before_the_end(recogniser: ASRProvider) -> None:
    partial: list[str] = []
    stream = recogniser.open(HINTS)
    stream.on_partial = partial.append
    pcm = sound(9, 2.0)
    for start in range(0, len(pcm), PIECE):
        await stream.feed(pcm[start : start + PIECE])
    assert (await stream.finish()).text == "device 9"
    await stream.close()
    chunks = len(pcm) // pcm_bytes(0.6, LISTEN_RATE)
    assert sum(words.startswith(PARTIAL.strip()) for words in partial) >= chunks


@pytest.fixture
async def voice(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TTSProvider]:
    """Edge's provider, connected to the stand-in."""
    monkeypatch.setattr("edge_tts.communicate.WSS_URL", "")  # so that the test's end restores it
    service = EdgeService()
    redirect(await service.start())
    addresses = {HTTP: "http://127.0.0.1:1/v1"}
    tts = Settings.model_validate(sections("http,edge", addresses)).tts.create()
    await tts.start()
    yield tts
    await tts.close()
    await service.stop()
    assert len(service.answered_ms)


@needs_edge
@pytest.mark.parametrize("milliseconds", [240, 3_000, 7_440])
async def test_the_voice_speaks_as_long_as_the_sentence_says(
    voice: TTSProvider, milliseconds: int
) -> None:
    sound = await said(voice, f"Device 7 in turn 2 for {milliseconds} ms.")
    assert len(sound) == RATE * milliseconds // 1000


@needs_edge
async def test_the_sound_is_speech_also_where_it_begins_anew(voice: TTSProvider) -> None:
    length = len(MP3.read_bytes()) // FRAME_BYTES * FRAME_MS
    sound = (await said(voice, f"Device 7 for {2 * length} ms.")).astype(np.float64)
    first, second = np.split(sound, 2)
    assert np.sqrt(np.mean(first**2)) > 1_000
    # The second time is the same; in its first two frames the end of the first time fades.
    begin = 2 * RATE * FRAME_MS // 1000
    assert np.corrcoef(first[begin:], second[begin:])[0, 1] > 0.999


def test_the_file_holds_whole_frames_of_the_format_that_edge_sends() -> None:
    data = MP3.read_bytes()
    starts = range(0, len(data), FRAME_BYTES)
    headers = {parse_header(data, at) for at in starts}
    (header,) = headers
    assert header is not None
    assert (header.size, header.sample_rate) == (FRAME_BYTES, RATE)
    assert header.samples * 1000 == FRAME_MS * RATE
    assert data[4] == 0, "the first frame refers to one before it"


@needs_edge
def test_a_choice_has_one_spelling() -> None:
    for text in ("scripted", "http", "http,funasr-server", "http,edge", "http,funasr-server,edge"):
        assert parse(text) == text
    assert parse("http,edge,funasr-server") == "http,funasr-server,edge"
    assert has("http,edge", EDGE)
    assert not has("http,edge", FUNASR_SERVER)


@pytest.mark.parametrize(
    "text", ["", "edge", "funasr-server,http", "scripted,funasr-server", "http,espeak", "http,"]
)
def test_others_without_http_and_unknown_ones_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"--providers: expected .*, not '"):
        parse(text)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio_bench.load.services.choice.find_spec", lambda _: None)
    assert parse("http,funasr-server") == "http,funasr-server"
    with pytest.raises(ValueError, match=r"extra NAME=edge"):
        parse("http,edge")


@pytest.mark.slow
async def test_the_process_runs_what_was_chosen_and_counts_its_answers() -> None:
    async def count(child: Child) -> int:
        answered: Json = (await child.peer.ask("figures"))["answered_ms"]
        return int(answered["count"])

    async with Hub() as hub:
        child = await start_services(hub, "http,funasr-server", "", ())
        try:
            addresses = child.peer.said
            assert EDGE not in addresses
            settings = Settings.model_validate(sections("http,funasr-server", addresses))
            asr, tts = settings.asr.create(), settings.tts.create()
            await asr.start()
            await tts.start()
            await child.peer.ask("begin")
            assert await heard(asr, sound(3)) == "device 3"
            assert len(await said(tts, "Device 3 for 240 ms.")) == RATE * 240 // 1000
            assert await count(child) == 2
            await child.peer.ask("begin")
            assert await count(child) == 0
            await asr.close()
            await tts.close()
        finally:
            await child.end()
