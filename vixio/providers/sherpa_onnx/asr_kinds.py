"""The kinds of ASR model: their files, the metadata that they need, and their loaders.

The names of the metadata are those of ``sherpa-onnx/csrc/*-model.cc``. The library aborts the
process where one is missing, so it is checked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from vixio.providers.sherpa_onnx.folder import ModelFolder
from vixio.providers.sherpa_onnx.onnx_header import OnnxHeader

KindName = Literal[
    "auto",
    "transducer",
    "nemo-transducer",
    "paraformer",
    "sense-voice",
    "whisper",
    "zipformer-ctc",
    "nemo-ctc",
    "wenet-ctc",
    "telespeech-ctc",
    "dolphin",
    "fire-red-asr",
    "moonshine",
    "streaming-transducer",
    "streaming-paraformer",
    "streaming-zipformer-ctc",
    "streaming-nemo-ctc",
    "streaming-wenet-ctc",
]

SENSE_VOICE = ("zh", "yue", "en", "ja", "ko")
"""The languages of a SenseVoice model."""

_MODEL = {"model": (r"(.*[-_.])?model.*\.onnx|.*ctc.*\.onnx", "model.onnx")}
_ENCODER = (r"(.*[-_.])?encode(r|)[-_.].*onnx", "encoder.onnx")
_DECODER = (r"(.*[-_.])?decoder[-_.].*onnx", "decoder.onnx")
_JOINER = (r"(.*[-_.])?joiner[-_.].*onnx", "joiner.onnx")
_PAIR = {"encoder": _ENCODER, "decoder": _DECODER}
_THREE = {**_PAIR, "joiner": _JOINER}
_LFR = ("vocab_size", "lfr_window_size", "lfr_window_shift", "neg_mean", "inv_stddev")
_NEMO_STREAM = ("vocab_size", "window_size", "chunk_shift", "subsampling_factor")


@dataclass(frozen=True, slots=True)
class ASRKind:
    """A kind of model.

    ``loader``: a method of ``OnlineRecognizer`` if ``streaming``, else of ``OfflineRecognizer``.
    ``files``: pattern and usual name of the file for each of its arguments. ``keys``: metadata that
    the first file must have; ``decoder_keys``: that of the ``decoder``. ``blank``: whether
    ``tokens.txt`` must contain the blank symbol. ``batched``: whether one call decodes several
    utterances. ``extra``: fixed arguments.
    """

    name: str
    loader: str
    files: Mapping[str, tuple[str, str]]
    keys: tuple[str, ...] = ()
    blank: bool = False
    batched: bool = True
    decoder_keys: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def streaming(self) -> bool:
        """Whether the model decodes while the user speaks."""
        return self.name.startswith("streaming-")


KINDS: Mapping[str, ASRKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            ASRKind(
                "transducer",
                "from_transducer",
                _THREE,
                decoder_keys=("vocab_size", "context_size"),
                extra={"model_type": "transducer"},
            ),
            ASRKind(
                "nemo-transducer",
                "from_transducer",
                _THREE,
                ("vocab_size", "subsampling_factor", "pred_rnn_layers", "pred_hidden"),
                extra={"model_type": "nemo_transducer"},
            ),
            ASRKind("paraformer", "from_paraformer", {"paraformer": _MODEL["model"]}, _LFR),
            ASRKind(
                "sense-voice",
                "from_sense_voice",
                _MODEL,
                (
                    *_LFR,
                    "normalize_samples",
                    "with_itn",
                    "without_itn",
                    *(f"lang_{language}" for language in ("auto", *SENSE_VOICE)),
                ),
            ),
            ASRKind(
                "whisper",
                "from_whisper",
                _PAIR,
                (
                    *("n_mels", "n_text_layer", "n_text_ctx", "n_text_state", "n_vocab"),
                    *("sot", "eot", "sot_sequence", "is_multilingual", "no_timestamps"),
                ),
                batched=False,
            ),
            ASRKind("zipformer-ctc", "from_zipformer_ctc", _MODEL, blank=True),
            ASRKind(
                "nemo-ctc",
                "from_nemo_ctc",
                _MODEL,
                ("vocab_size", "subsampling_factor"),
                blank=True,
            ),
            ASRKind(
                "wenet-ctc",
                "from_wenet_ctc",
                _MODEL,
                ("vocab_size", "subsampling_factor"),
                blank=True,
                batched=False,
            ),
            ASRKind("telespeech-ctc", "from_telespeech_ctc", _MODEL, blank=True),
            ASRKind("dolphin", "from_dolphin_ctc", _MODEL, ("vocab_size", "mean", "invstd"), True),
            ASRKind(
                "fire-red-asr",
                "from_fire_red_asr",
                _PAIR,
                ("num_decoder_layers", "num_head", "head_dim", "sos", "eos", "max_len"),
                batched=False,
            ),
            ASRKind(
                "moonshine",
                "from_moonshine",
                {
                    "preprocessor": (r"preprocess.*\.onnx", "preprocess.onnx"),
                    "encoder": (r"encode.*\.onnx", "encode.int8.onnx"),
                    "uncached_decoder": (r"uncached_decode.*\.onnx", "uncached_decode.int8.onnx"),
                    "cached_decoder": (r"cached_decode.*\.onnx", "cached_decode.int8.onnx"),
                },
                batched=False,
            ),
            # NeMo's models have window_size and chunk_shift instead of T and decode_chunk_len.
            ASRKind("streaming-transducer", "from_transducer", _THREE, ("model_type",)),
            ASRKind(
                "streaming-paraformer",
                "from_paraformer",
                _PAIR,
                (*_LFR, "encoder_output_size", "decoder_num_blocks", "decoder_kernel_size"),
            ),
            ASRKind(
                "streaming-zipformer-ctc",
                "from_zipformer2_ctc",
                _MODEL,
                ("encoder_dims", "num_encoder_layers", "T", "decode_chunk_len"),
                blank=True,
            ),
            ASRKind("streaming-nemo-ctc", "from_nemo_ctc", _MODEL, _NEMO_STREAM, blank=True),
            ASRKind(
                "streaming-wenet-ctc",
                "from_wenet_ctc",
                _MODEL,
                ("head", "num_blocks", "output_size", "cnn_module_kernel", "right_context"),
                blank=True,
                batched=False,
            ),
        )
    }
)

_BLANKS = ("<blk>", "<eps>", "<blank>")


def detect(folder: ModelFolder) -> ASRKind:
    """Return the kind of the model in ``folder``, by its files and their metadata."""
    if folder.find(r"preprocess.*\.onnx"):
        return KINDS["moonshine"]
    if encoder := folder.find(_ENCODER[0]):
        return KINDS[_of_encoder(folder.header(encoder), joiner=bool(folder.find(_JOINER[0])))]
    model = folder.require(
        _MODEL["model"][0], "model (model.onnx, or encoder.onnx and decoder.onnx)"
    )
    name = _of_model(folder.header(model))
    if name is None:
        raise folder.error(f"has a model of no kind that is known: say `kind` ({_names()})")
    return KINDS[name]


def _of_encoder(header: OnnxHeader, *, joiner: bool) -> str:
    said = header.metadata
    nemo = said.get("model_type", "").startswith("EncDec")
    if joiner:
        if "decode_chunk_len" in said or "chunk_shift" in said:
            return "streaming-transducer"
        return "nemo-transducer" if nemo else "transducer"
    if "decoder_num_blocks" in said or "lfr_window_size" in said:
        return "streaming-paraformer"
    return "fire-red-asr" if "num_decoder_layers" in said else "whisper"


def _of_model(header: OnnxHeader) -> str | None:
    said = header.metadata
    kind = said.get("model_type", "")
    if kind.startswith("sense_voice") or "lang_auto" in said:
        return "sense-voice"
    if kind == "paraformer" or "lfr_window_size" in said:
        return "paraformer"
    if "decode_chunk_len" in said:
        return "streaming-zipformer-ctc"
    if "chunk_shift" in said:
        return "streaming-nemo-ctc"
    if "right_context" in said:
        return "streaming-wenet-ctc"
    if kind.startswith("EncDec"):
        return "nemo-ctc"
    if "invstd" in said:
        return "dolphin"
    known = {
        "zipformer2_ctc": "zipformer-ctc",
        "wenet_ctc": "wenet-ctc",
        "telespeech_ctc": "telespeech-ctc",
    }
    return known.get(kind)


def files_of(kind: ASRKind, folder: ModelFolder) -> dict[str, Path]:
    """Return the checked file for each argument of the loader, ``tokens`` included.

    Raises ProviderUnavailable with the name of the missing file or metadata.
    """
    found = {role: folder.require(*file) for role, file in kind.files.items()}
    first = next(iter(found.values()))
    for file, keys in ((first, kind.keys), (found.get("decoder", first), kind.decoder_keys)):
        said = folder.header(file).metadata
        if missing := [key for key in keys if not said.get(key)]:
            raise folder.error(
                f"holds no {kind.name} model: {file.name} does not say its {', '.join(missing)}"
            )
    tokens = folder.tokens()
    symbols = {line.split(" ")[0] for line in tokens.read_text("utf-8").splitlines()}
    if kind.blank and not symbols.intersection(_BLANKS):
        raise folder.error(f"has a {tokens.name} that names no {' or '.join(_BLANKS)}")
    return {**found, "tokens": tokens}


def _names() -> str:
    return ", ".join(KINDS)
