"""Typed wrappers of the library's recognisers: for whole utterances, and for streaming ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.asr import Recognition
from vixio.providers.local_recogniser.models import OfflineModel, OnlineModel
from vixio.providers.sensevoice_tags import parse_tags
from vixio.providers.sherpa_onnx.asr_kinds import KINDS, ASRKind, detect, files_of
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings
from vixio.providers.sherpa_onnx.folder import NAME, ModelFolder
from vixio.providers.sherpa_onnx.hotwords import Hotwords

Vendor: TypeAlias = Any
"""An object of the library, which is untyped."""

_SLICE = 5 * LISTEN_RATE * BYTES_PER_SAMPLE
"""Bytes that are converted to a list at once, which holds the GIL for a millisecond."""
_LEAST_SAMPLES = LISTEN_RATE // 2
"""A shorter utterance is padded with silence: models have a minimum input."""
_TAIL_SAMPLES = LISTEN_RATE * 2 // 3
"""Silence after a streaming utterance, for the model's look-ahead."""


def samples(pcm: bytes) -> list[float]:
    """Return PCM as a list of floats from -1 to 1, the input of the library.

    The binding holds the GIL while it converts ten seconds of audio: 1 ms for a list, 20 ms for a
    numpy array.
    """
    floats: list[float] = []
    for start in range(0, len(pcm), _SLICE):
        piece = np.frombuffer(pcm[start : start + _SLICE], "<i2").astype(np.float32)
        floats += (piece / np.float32(32768)).tolist()
    return floats


def readable(text: str) -> str:
    """Return ``text`` stripped, and in lower case if all its letters are capitals."""
    text = text.strip()
    return text.lower() if text.upper() == text else text


class SherpaOfflineModel(OfflineModel[Sequence[str]]):
    """Decodes whole utterances, several in one call. For one thread."""

    def __init__(self, recognizer: Vendor, kind: ASRKind, hotwords: Hotwords | None) -> None:
        self._recognizer = recognizer
        self._hotwords = hotwords
        self.kind = kind
        self.batched = kind.batched

    def decode(self, utterances: Sequence[tuple[bytes, Sequence[str]]]) -> list[Recognition]:
        """Return the transcript of each of ``utterances``: PCM at 16 kHz, expected words."""
        streams = []
        for pcm, expected in utterances:
            stream = _stream(self._recognizer, self._hotwords, expected)
            heard = samples(pcm)
            heard += [0.0] * (_LEAST_SAMPLES - len(heard))
            stream.accept_waveform(LISTEN_RATE, heard)
            streams.append(stream)
        self._recognizer.decode_streams(streams)
        return [_recognition(stream.result) for stream in streams]


class SherpaOnlineModel(OnlineModel[Sequence[str]]):
    """Decodes utterances while the user speaks, several in one call. For one thread."""

    def __init__(self, recognizer: Vendor, kind: ASRKind, hotwords: Hotwords | None) -> None:
        self._recognizer = recognizer
        self._hotwords = hotwords
        self.kind = kind
        self.batched = kind.batched

    def open(self, request: Sequence[str] = ()) -> Vendor:
        """Return the state of a new utterance. ``request``: words that are likely to be said."""
        return _stream(self._recognizer, self._hotwords, request)

    def accept(self, state: Vendor, pcm: bytes) -> None:
        """Add audio to an utterance."""
        state.accept_waveform(LISTEN_RATE, samples(pcm))

    def end(self, state: Vendor) -> None:
        """Mark the end of an utterance."""
        state.accept_waveform(LISTEN_RATE, [0.0] * _TAIL_SAMPLES)
        state.input_finished()

    def ready(self, state: Vendor) -> bool:
        """Return whether there is enough audio for a step."""
        return bool(self._recognizer.is_ready(state))

    def step(self, states: Sequence[Vendor]) -> None:
        """Decode one step of each of ``states``, which must all be ready."""
        self._recognizer.decode_streams(list(states))

    def text(self, state: Vendor) -> str:
        """Return the transcript so far."""
        return readable(self._recognizer.get_result(state))


def load(settings: SherpaASRSettings) -> SherpaOfflineModel | SherpaOnlineModel:
    """Load the model. Blocking for seconds. Raises ProviderUnavailable."""
    folder = ModelFolder(settings.folder, int8=settings.int8)
    kind = detect(folder) if settings.kind == "auto" else KINDS[settings.kind]
    files = files_of(kind, folder)
    arguments: dict[str, Any] = {name: str(path) for name, path in files.items()}
    arguments |= kind.extra
    arguments["num_threads"] = settings.threads
    if kind.name in {"sense-voice", "whisper"}:
        arguments["language"] = settings.language
    if kind.name == "sense-voice":
        arguments["use_itn"] = settings.itn
    if settings.biased:
        arguments |= _hotwords(settings, kind, folder)
    try:
        import sherpa_onnx
    except ImportError as error:
        raise ProviderUnavailable(
            NAME, f"sherpa-onnx is not installed: {how_to_install('sherpa')}"
        ) from error
    maker = sherpa_onnx.OnlineRecognizer if kind.streaming else sherpa_onnx.OfflineRecognizer
    wrapper = SherpaOnlineModel if kind.streaming else SherpaOfflineModel
    try:
        hotwords = Hotwords(files["tokens"], settings.modeling_unit) if settings.biased else None
        return wrapper(getattr(maker, kind.loader)(**arguments), kind, hotwords)
    except Exception as error:  # the library raises whatever its C++ parts throw
        reason = str(error).strip().partition("\n")[0][:200]
        raise folder.error(f"cannot be loaded as {kind.name} ({reason})") from error


def warm_up(model: SherpaOfflineModel | SherpaOnlineModel) -> None:
    """Decode half a second of silence: the first run allocates. Raises ProviderUnavailable."""
    try:
        if isinstance(model, SherpaOfflineModel):
            model.decode([(b"", ())])
        else:
            state = model.open()
            model.end(state)
            while model.ready(state):
                model.step([state])
    except Exception as error:  # as in load
        reason = str(error).strip().partition("\n")[0][:200]
        raise ProviderUnavailable(NAME, f"the model does not run ({reason})") from error


def _stream(recognizer: Vendor, hotwords: Hotwords | None, expected: Sequence[str]) -> Vendor:
    written = hotwords(expected) if hotwords is not None else ""
    return recognizer.create_stream(written) if written else recognizer.create_stream()


def _hotwords(settings: SherpaASRSettings, kind: ASRKind, folder: ModelFolder) -> dict[str, Any]:
    if kind.loader != "from_transducer":
        raise ProviderUnavailable(NAME, f"hotwords: a model of kind {kind.name} takes none")
    given: dict[str, Any] = {
        "decoding_method": "modified_beam_search",
        "hotwords_score": settings.hotwords_score,
        "modeling_unit": settings.modeling_unit,
    }
    if "bpe" in settings.modeling_unit:
        given["bpe_vocab"] = str(folder.require(r"bpe\.vocab", "bpe.vocab, which hotwords need"))
    return given


def _recognition(result: Vendor) -> Recognition:
    # The library returns SenseVoice's tags in fields: "<|zh|>", "<|HAPPY|>", "<|Speech|>".
    tagged = parse_tags(f"{result.lang}{result.emotion}{result.event}{result.text}")
    return Recognition(readable(tagged.text), language=tagged.language, emotion=tagged.emotion)
