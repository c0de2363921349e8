"""The kind of an ASR model is detected from its files and metadata; errors name what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.unit.providers.sherpa_onnx.onnx_files import model
from vixio.core.errors import ProviderUnavailable
from vixio.providers import registry
from vixio.providers.sherpa_onnx.asr import SherpaASRProvider
from vixio.providers.sherpa_onnx.asr_kinds import KINDS, detect, files_of
from vixio.providers.sherpa_onnx.asr_model import load
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.providers.sherpa_onnx.folder import ModelFolder

LAYOUTS: list[tuple[str, dict[str, dict[str, object]]]] = [
    ("sense-voice", {"model.int8.onnx": {"model_type": "sense_voice_ctc"}}),
    ("paraformer", {"model.int8.onnx": {"model_type": "paraformer", "lfr_window_size": 7}}),
    ("zipformer-ctc", {"model.onnx": {"model_type": "zipformer2_ctc"}}),
    ("nemo-ctc", {"model.onnx": {"model_type": "EncDecCTCModelBPE"}}),
    ("wenet-ctc", {"model-streaming.onnx": {"model_type": "wenet_ctc"}}),
    ("telespeech-ctc", {"model.int8.onnx": {"model_type": "telespeech_ctc"}}),
    ("dolphin", {"model.int8.onnx": {"mean": "0", "invstd": "1"}}),
    ("streaming-zipformer-ctc", {"ctc-epoch-20-avg-1-chunk-16.onnx": {"decode_chunk_len": 32}}),
    ("streaming-nemo-ctc", {"model.onnx": {"model_type": "EncDec…", "chunk_shift": 32}}),
    ("streaming-wenet-ctc", {"model-streaming.int8.onnx": {"right_context": 6}}),
    (
        "transducer",
        {
            "encoder-epoch-99-avg-1.int8.onnx": {"model_type": "zipformer2"},
            "decoder-epoch-99-avg-1.onnx": {},
            "joiner-epoch-99-avg-1.int8.onnx": {},
        },
    ),
    (
        "streaming-transducer",
        {
            "encoder-epoch-99-avg-1.onnx": {"decode_chunk_len": 32, "T": 45},
            "decoder-epoch-99-avg-1.onnx": {},
            "joiner-epoch-99-avg-1.onnx": {},
        },
    ),
    (
        "nemo-transducer",
        {
            "encoder.int8.onnx": {"model_type": "EncDecRNNTBPEModel"},
            "decoder.int8.onnx": {},
            "joiner.int8.onnx": {},
        },
    ),
    (
        "streaming-paraformer",
        {"encoder.int8.onnx": {"decoder_num_blocks": 16}, "decoder.int8.onnx": {}},
    ),
    (
        "whisper",
        {"tiny.en-encoder.int8.onnx": {"n_mels": 80}, "tiny.en-decoder.int8.onnx": {}},
    ),
    ("fire-red-asr", {"encoder.int8.onnx": {"num_decoder_layers": 16}, "decoder.int8.onnx": {}}),
    (
        "moonshine",
        {
            "preprocess.onnx": {},
            "encode.int8.onnx": {},
            "uncached_decode.int8.onnx": {},
            "cached_decode.int8.onnx": {},
        },
    ),
]


def unpack(folder: Path, files: dict[str, dict[str, object]]) -> ModelFolder:
    for name, said in files.items():
        model(folder / name, **said)
    folder.joinpath("tokens.txt").write_text("<blk> 0\na 1\n", encoding="utf-8")
    return ModelFolder(folder)


def test_every_kind_has_a_layout() -> None:
    assert {name for name, _ in LAYOUTS} == set(KINDS)


@pytest.mark.parametrize(("name", "files"), LAYOUTS, ids=[name for name, _ in LAYOUTS])
def test_the_kind_is_seen(tmp_path: Path, name: str, files: dict[str, dict[str, object]]) -> None:
    assert detect(unpack(tmp_path, files)).name == name


@pytest.mark.parametrize(("name", "files"), LAYOUTS, ids=[name for name, _ in LAYOUTS])
def test_its_files_are_found(
    tmp_path: Path, name: str, files: dict[str, dict[str, object]]
) -> None:
    kind = KINDS[name]
    first = next(iter(files))
    files = {**files, first: dict.fromkeys(kind.keys, 1)}
    for file in files:
        if file.startswith("decoder"):
            files[file] = dict.fromkeys(kind.decoder_keys, 1)
    found = files_of(kind, unpack(tmp_path, files))
    assert {path.name for path in found.values()} == {*files, "tokens.txt"}
    assert set(found) == {*kind.files, "tokens"}


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.keys])
def test_a_model_that_does_not_say_what_it_must_is_refused(tmp_path: Path, name: str) -> None:
    (files,) = [files for its, files in LAYOUTS if its == name]
    folder = unpack(tmp_path, {file: {} for file in files})
    with pytest.raises(ProviderUnavailable, match=f"does not say its .*{KINDS[name].keys[0]}"):
        files_of(KINDS[name], folder)


@pytest.mark.parametrize(
    ("name", "said", "options", "languages"),
    [
        ("sense-voice", {}, {}, ("zh", "yue", "en", "ja", "ko")),
        ("sense-voice", {}, {"language": "ja"}, ("ja",)),
        ("whisper", {"is_multilingual": 1}, {}, None),
        ("whisper", {"is_multilingual": 0}, {}, ("en",)),
        ("moonshine", {}, {}, ("en",)),
        ("paraformer", {}, {"language": "en"}, None),
    ],
)
def test_the_languages_of_a_model(
    tmp_path: Path,
    name: str,
    said: dict[str, object],
    options: dict[str, object],
    languages: tuple[str, ...] | None,
) -> None:
    kind, files = KINDS[name], dict(LAYOUTS)[name]
    first = next(iter(files))
    unpack(tmp_path, {**files, first: {**files[first], **dict.fromkeys(kind.keys, 1), **said}})
    settings = SherpaASRSettings.model_validate({"folder": tmp_path, "kind": name, **options})
    assert registry.resolve("asr", "sherpa-onnx").languages(settings) == languages


def test_a_decoder_is_looked_at_as_well(tmp_path: Path) -> None:
    (files,) = [files for its, files in LAYOUTS if its == "transducer"]
    with pytest.raises(ProviderUnavailable, match=r"decoder-.*onnx does not say its vocab_size"):
        files_of(KINDS["transducer"], unpack(tmp_path, files))


def test_of_two_precisions_the_asked_for_one_is_taken(tmp_path: Path) -> None:
    for name in ("model.onnx", "model.int8.onnx"):
        model(tmp_path / name, model_type="sense_voice_ctc")
    pattern = KINDS["sense-voice"].files["model"][0]
    for int8, name in ((True, "model.int8.onnx"), (False, "model.onnx")):
        found = ModelFolder(tmp_path, int8=int8).find(pattern)
        assert found is not None
        assert found.name == name


def test_what_is_missing_is_named_with_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="there is no folder"):
        ModelFolder(tmp_path / "nowhere")
    with pytest.raises(ProviderUnavailable, match="it holds: nothing"):
        detect(ModelFolder(tmp_path))
    model(tmp_path / "encoder.onnx", n_mels=80)
    tmp_path.joinpath("readme.md").write_text("", encoding="utf-8")
    with pytest.raises(ProviderUnavailable, match=r"no decoder\.onnx; it holds: encoder.onnx, rea"):
        files_of(KINDS["transducer"], ModelFolder(tmp_path))
    tmp_path.joinpath("encoder.onnx").unlink()
    model(tmp_path / "model.onnx", model_type="never_seen")
    with pytest.raises(ProviderUnavailable, match="of no kind that is known: say `kind`"):
        detect(ModelFolder(tmp_path))
    tmp_path.joinpath("model.onnx").write_bytes(b"version https://git-lfs")
    with pytest.raises(ProviderUnavailable, match="no ONNX model"):
        detect(ModelFolder(tmp_path))


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack(tmp_path, {"model.onnx": {"model_type": "zipformer2_ctc"}})
    monkeypatch.setitem(sys.modules, "sherpa_onnx", None)
    with pytest.raises(ProviderUnavailable, match=r"extra NAME=sherpa"):
        load(SherpaASRSettings(folder=tmp_path))


def test_the_registry_knows_it(tmp_path: Path) -> None:
    factory = registry.resolve("asr", "sherpa-onnx")
    assert isinstance(factory.create(SherpaASRSettings(folder=tmp_path)), SherpaASRProvider)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"folder": "m", "kind": "kaldi"},
        {"folder": "m", "hotwords": ["小智"]},
        {"folder": "m", "hotwords": ["小智"], "modeling_unit": "cjkchar", "kind": "sense-voice"},
        {"folder": "m", "hotwords": [":9"], "modeling_unit": "cjkchar"},
        {"folder": "m", "hotwords": ["a/b"], "modeling_unit": "bpe"},
        {"folder": "m", "threads": 0},
    ],
)
def test_settings_refuse_what_cannot_be(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SherpaASRSettings.model_validate(options)
    hotwords = {"folder": "m", "hotwords": ["小智", "Home Assistant"], "modeling_unit": "cjkchar"}
    assert SherpaASRSettings.model_validate(hotwords).kind == "auto"
