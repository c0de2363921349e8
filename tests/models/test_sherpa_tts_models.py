"""sherpa-onnx keeps the contract of voices, with its real library and a voice that beeps."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.models.needs import needs
from tests.models.tiny_voice import RATE, make_kokoro, make_letters, make_matcha, make_sounds
from tests.support.waiting import until
from vixio.core.errors import ProviderUnavailable
from vixio.providers.local_voice.worker import Sound, Utterance, Write
from vixio.providers.sherpa_onnx.tts import SherpaTTSProvider, SherpaTTSSettings, SherpaVoice
from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract
from vixio.testing.contract.base import LIMIT, Creator
from vixio.testing.contract.tts import SENTENCE, say, speech

pytestmark = needs("sherpa", "sherpa_onnx", "onnx")


quick = partial(SherpaTTSSettings, try_first=False)
"""Each trial in a process of its own takes a second."""

MAKERS: dict[str, Callable[[Path], Path]] = {
    "kokoro": make_kokoro,
    "letters": make_letters,
    "matcha": make_matcha,
    "sounds": make_sounds,
}


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("voices")
    return {name: make(base / name) for name, make in MAKERS.items()}


@pytest.fixture
def voice(voices: dict[str, Path]) -> Path:
    return voices["letters"]


class TestSherpaTTS(TTSContract):
    @pytest.fixture(params=sorted(MAKERS))
    def creator(
        self, request: pytest.FixtureRequest, voices: dict[str, Path]
    ) -> Creator[TTSProvider]:
        @asynccontextmanager
        async def create() -> AsyncIterator[TTSProvider]:
            settings = quick(folder=voices[request.param], threads=1)
            yield SherpaTTSProvider(settings)

        return create


async def test_what_is_given_all_at_the_end_is_given(
    voices: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kinds never call back."""
    import sherpa_onnx

    tts = SherpaTTSProvider(quick(folder=voices["letters"]))
    await tts.start()
    try:
        whole = await say(tts, "three words here")
        generate = sherpa_onnx.OfflineTts.generate
        monkeypatch.setattr(
            sherpa_onnx.OfflineTts, "generate", lambda self, text, how, _: generate(self, text, how)
        )
        assert await say(tts, "three words here") == whole
    finally:
        await tts.close()


@pytest.mark.parametrize("text", ["w" * 160, "3" * 39, "WWW. " * 30, "ʍ" * 160])
async def test_more_sounds_than_kokoro_takes_end_no_process(
    voices: dict[str, Path], text: str
) -> None:
    tts = SherpaTTSProvider(quick(folder=voices["kokoro"]))
    await tts.start()
    try:
        await say(tts, text)
        assert await say(tts, SENTENCE)
    finally:
        await tts.close()


async def test_a_text_is_pronounced_by_espeak(voices: dict[str, Path]) -> None:
    """Each phoneme is a tone and a pause, so their number shows that no letters were spelt."""
    tts = SherpaTTSProvider(quick(folder=voices["sounds"]))
    await tts.start()
    try:
        short, long = [len(await say(tts, text)) for text in ("1", "1777")]
        assert long > 4 * short
    finally:
        await tts.close()


async def test_speed_and_rate_are_the_voices(voice: Path) -> None:
    lengths = []
    for speed in (1.0, 2.0):
        tts = SherpaTTSProvider(quick(folder=voice, speed=speed))
        await tts.start()
        try:
            assert tts.sample_rate == RATE
            lengths.append(len(await say(tts, SENTENCE)))
        finally:
            await tts.close()
    assert lengths[1] == pytest.approx(lengths[0] / 2, rel=0.1)


async def test_closing_the_iterator_stops_the_synthesis(
    voice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value of the callback stops the library before the next sentence."""
    sentences: list[int] = []
    heard, gone, done = asyncio.Event(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    speak = SherpaVoice.speak

    def watched(self: SherpaVoice, utterance: Utterance, write: Write) -> None:
        def one(sound: Sound) -> bool:
            sentences.append(len(sound))
            if len(sentences) == 2:
                loop.call_soon_threadsafe(heard.set)
                assert gone.wait(LIMIT)
            return write(sound)

        speak(self, utterance, one)
        loop.call_soon_threadsafe(done.set)

    tts = SherpaTTSProvider(quick(folder=voice))
    await tts.start()
    monkeypatch.setattr(SherpaVoice, "speak", watched)
    chunks = speech(tts, "one. two. three. four. five. six. seven. eight. nine. ten.")
    try:
        async with asyncio.timeout(LIMIT):
            assert await anext(chunks)
            await heard.wait()
            await chunks.aclose()
            gone.set()
            await done.wait()
        assert len(sentences) == 2
        monkeypatch.undo()
        assert await say(tts, SENTENCE)
    finally:
        gone.set()
        await tts.close()


async def test_each_sentence_is_given_as_it_is_done(voice: Path) -> None:
    tts = SherpaTTSProvider(quick(folder=voice))
    await tts.start()
    try:
        async with aclosing(speech(tts, "yes. " * 12)) as chunks:
            sizes = [len(chunk) async for chunk in chunks]
        assert len(sizes) >= 12
    finally:
        await tts.close()


async def test_an_unknown_speaker_is_an_error(voice: Path) -> None:
    tts = SherpaTTSProvider(quick(folder=voice, speaker=2))
    with pytest.raises(ProviderUnavailable, match="has 2 speakers, there is no 2"):
        await tts.start()
    await tts.close()


async def test_a_voice_that_ends_the_process_costs_no_server(tmp_path: Path) -> None:
    tts = SherpaTTSProvider(SherpaTTSSettings(folder=make_matcha(tmp_path / "m", rate=16_000)))
    with pytest.raises(ProviderUnavailable, match=r"Vocoder sample rate .* does not match"):
        await tts.start()
    await tts.close()


async def test_a_good_voice_passes_its_trial(voice: Path) -> None:
    tts = SherpaTTSProvider(SherpaTTSSettings(folder=voice))
    await tts.start()
    try:
        assert await say(tts, SENTENCE)
    finally:
        await tts.close()


def children() -> set[str]:
    """Return the child processes of this process, from /proc."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for each in lists for pid in each.read_text("ascii").split()}


@pytest.mark.skipif(sys.platform != "linux", reason="the system's list of processes is Linux's")
async def test_a_start_that_is_cancelled_leaves_no_process(voice: Path) -> None:
    tts = SherpaTTSProvider(SherpaTTSSettings(folder=voice))
    before = children()
    starting = asyncio.create_task(tts.start())
    await until(lambda: children() != before)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    assert children() == before
    await tts.close()
