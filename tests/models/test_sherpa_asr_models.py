"""sherpa-onnx keeps the contract of recognisers, with its real library and tiny models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.models.needs import needs
from tests.models.tiny_sherpa import (
    make_sense_voice,
    make_streaming_nemo_ctc,
    make_transducer,
    make_zipformer_ctc,
)
from tests.support.waiting import until
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.sherpa_onnx.asr import SherpaASRProvider
from vixio.providers.sherpa_onnx.asr_model import SherpaOfflineModel, load
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import ON, Mishap, hear, utterances
from vixio.testing.contract.base import Creator

pytestmark = needs("sherpa", "sherpa_onnx", "onnx")

quick = partial(SherpaASRSettings, try_first=False)
"""Each trial in a process of its own takes a second."""

MAKERS: dict[str, Callable[[Path], Path]] = {
    "zipformer-ctc": make_zipformer_ctc,
    "sense-voice": make_sense_voice,
    "streaming-nemo-ctc": make_streaming_nemo_ctc,
    "transducer": make_transducer,
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("sherpa")
    return {name: make(base / name) for name, make in MAKERS.items()}


@pytest.fixture(params=sorted(MAKERS))
def folder(request: pytest.FixtureRequest, folders: dict[str, Path]) -> Path:
    return folders[request.param]


class TestSherpaASR(ASRContract):
    finds_words = False  # random weights: symbols instead of words

    @pytest.fixture
    def creator(self, folder: Path) -> Creator[ASRProvider]:
        @asynccontextmanager
        async def create(mishap: Mishap | None = None) -> AsyncIterator[ASRProvider]:
            yield SherpaASRProvider(quick(folder=folder, threads=1))

        return create


async def test_sound_has_words_and_silence_none(folder: Path) -> None:
    asr = SherpaASRProvider(quick(folder=folder, threads=1))
    await asr.start()
    try:
        heard = await hear(asr, utterances()[ON])
        assert len(heard.text) > 3
        assert heard.text == heard.text.lower()
        assert (await hear(asr, bytes(96_000))).text == ""
    finally:
        await asr.close()


async def test_the_tags_of_sense_voice_are_parsed_and_removed(folders: dict[str, Path]) -> None:
    asr = SherpaASRProvider(quick(folder=folders["sense-voice"]))
    await asr.start()
    try:
        heard = await hear(asr, utterances()[ON])
        assert (heard.language, heard.emotion) == ("zh", "happy")
        assert "<" not in heard.text
    finally:
        await asr.close()


async def test_expected_words_are_heard_sooner(folders: dict[str, Path]) -> None:
    """Hotwords of settings and tools are used; a word with unknown symbols is left out."""
    lamp = ToolDefinition("lamp.turn", "音量 🎉", {"properties": {"room": {"enum": ["灯开"]}}})

    async def words(hints: SpeechHints, **options: object) -> str:
        settings = SherpaASRSettings.model_validate(
            {"folder": folders["transducer"], "try_first": False, **options}
        )
        asr = SherpaASRProvider(settings)
        await asr.start()
        try:
            return (await hear(asr, utterances()[ON], hints=hints)).text
        finally:
            await asr.close()

    plain = await words(SpeechHints())
    biased = {"modeling_unit": "cjkchar", "hotwords_score": 15.0}
    assert "灯" not in plain
    assert "灯" in await words(SpeechHints(), hotwords=["灯", "lamp", "小智"], **biased)
    from_tools = await words(SpeechHints([lamp]), tool_words=True, **biased)
    assert from_tools != plain
    assert await words(SpeechHints([lamp])) == plain


async def test_partial_transcripts_come_before_the_end(folders: dict[str, Path]) -> None:
    asr = SherpaASRProvider(quick(folder=folders["streaming-nemo-ctc"]))
    await asr.start()
    try:
        assert asr.streaming
        stream = asr.open(SpeechHints())
        pcm = utterances()[ON]
        await stream.feed(pcm)
        await until(lambda: stream.partial)
        early = stream.partial
        heard = await stream.finish()
        assert heard.text.startswith(early.split()[0])
        await stream.close()
    finally:
        await asr.close()


async def test_those_that_wait_are_decoded_together(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    decode = SherpaOfflineModel.decode

    def counted(
        self: SherpaOfflineModel, utterances: list[tuple[bytes, Sequence[str]]]
    ) -> list[Recognition]:
        sizes.append(len(utterances))
        return decode(self, utterances)

    monkeypatch.setattr(SherpaOfflineModel, "decode", counted)
    asr = SherpaASRProvider(quick(folder=folders["sense-voice"], max_batch=4))
    await asr.start()
    try:
        pcm = utterances()[ON]
        sizes.clear()
        long = pcm * 6  # decoded alone, because the others would need too much padding
        texts = await asyncio.gather(*(hear(asr, each) for each in [pcm] * 9 + [long]))
        assert len({each.text for each in texts[:9]}) == 1
        assert sum(sizes) == 10
        assert max(sizes) <= 4
        assert len(sizes) < 8
    finally:
        await asr.close()


async def test_too_many_and_too_long_are_refused(folders: dict[str, Path]) -> None:
    asr = SherpaASRProvider(quick(folder=folders["zipformer-ctc"], max_waiting=2, max_seconds=1))
    await asr.start()
    try:
        results = await asyncio.gather(
            *(hear(asr, utterances()[ON][:20_000]) for _ in range(5)), return_exceptions=True
        )
        assert sum(isinstance(each, Recognition) for each in results) == 2
        refused = [each for each in results if isinstance(each, ProviderError)]
        assert len(refused) == 3
        assert all(each.retryable for each in refused)
        assert (await hear(asr, bytes(40_000))).rejected
    finally:
        await asr.close()


async def test_a_folder_of_something_else_costs_no_process(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    """The library would abort the process on most of these."""
    for kind in ("nemo-ctc", "paraformer", "sense-voice", "streaming-zipformer-ctc"):
        settings = quick(folder=folders["zipformer-ctc"], kind=kind)
        with pytest.raises(ProviderUnavailable, match="does not say its"):
            load(settings)
    broken = make_zipformer_ctc(tmp_path / "broken")
    data = (broken / "model.onnx").read_bytes()
    (broken / "model.onnx").write_bytes(data[:-40])
    with pytest.raises(ProviderUnavailable, match="cut off"):
        load(quick(folder=broken))
    (broken / "model.onnx").write_bytes(data)
    (broken / "tokens.txt").write_text("a 0\nb 1\n", encoding="utf-8")
    with pytest.raises(ProviderUnavailable, match="names no <blk>"):
        load(quick(folder=broken))


async def test_a_model_that_ends_the_process_costs_no_server(tmp_path: Path) -> None:
    """Its normalisation is not a list of numbers."""
    folder = make_sense_voice(tmp_path / "bad")
    model = folder / "model.int8.onnx"
    model.write_bytes(model.read_bytes().replace(b"-10,-10,", b"ten,ten,", 1))
    asr = SherpaASRProvider(SherpaASRSettings(folder=folder))
    with pytest.raises(ProviderUnavailable, match=r"cannot use .*bad: .*neg_mean"):
        await asr.start()
    await asr.close()


async def test_a_good_model_passes_its_trial(folders: dict[str, Path]) -> None:
    asr = SherpaASRProvider(SherpaASRSettings(folder=folders["sense-voice"]))
    await asr.start()
    try:
        assert (await hear(asr, utterances()[ON])).text
    finally:
        await asr.close()
