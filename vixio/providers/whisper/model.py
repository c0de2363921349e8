"""Runs a Whisper model that was converted for CTranslate2.

The model looks at half a minute at a time, so a short utterance takes as long as a long one. Each
is decoded once: the library's repetitions at higher temperatures, and words carried over from one
window to the next, make it hear what nobody said.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.asr import Recognition
from vixio.providers.local_recogniser.models import OfflineModel
from vixio.providers.whisper.files import NAME

_NEEDED: Final = ("model.bin", "config.json", "tokenizer.json")
"""Without tokenizer.json the library would fetch one from a hub."""
_QUIET: Final = 250
"""Largest sample (of 32768, -42 dB) of an utterance in which nobody speaks."""
_LEAST_SAMPLES: Final = LISTEN_RATE // 2
_TOKENS_PER_SECOND: Final = 12
_TOKENS_ALWAYS: Final = 16
_TOKENS_AT_MOST: Final = 220
"""Fast Chinese has ten tokens a second. A model that finds many more repeats itself; a window has
room for 224."""
_REPEATED: Final = 2.4
"""Compression ratio of words that repeat themselves, as in OpenAI's own code."""

_PROMPTS: Final = {
    "zh": "以下是对语音助手说的普通话：把音量调大，亮度调低，现在几点，星期几，还剩多少电，"
    "设十五分钟的计时器，七点的闹钟，打开灯。",
    "zh-hant": "以下是對語音助手說的普通話：把音量調大，亮度調低，現在幾點，星期幾，還剩多少電，"
    "設十五分鐘的計時器，七點的鬧鐘，打開燈。",
}
"""The script that the model is to write, else Chinese comes in either, and words to expect: of
base, half as many characters of everyday sentences are wrong with them (docs/speech.md)."""
_TRADITIONAL: Final = ("hant", "tw", "hk", "mo")


class WhisperModel(OfflineModel[str]):
    """The loaded model. A request is the language as BCP 47; empty: detected."""

    def __init__(
        self, folder: Path, *, threads: int, beam: int, rejection: float, no_speech: float
    ) -> None:
        """``beam``: width of the search. ``rejection``: mean log-probability of the words below
        which they are rejected; ``no_speech``: probability from which doubtful words are none.

        Blocking for seconds. Raises ProviderUnavailable.
        """
        self._beam = beam
        self._rejection = rejection
        self._no_speech = no_speech
        folder = folder.expanduser()
        for name in _NEEDED:
            if not folder.joinpath(name).is_file():
                raise ProviderUnavailable(
                    NAME,
                    f"{folder} has no {name}: it needs a model that is converted for CTranslate2",
                )
        try:
            import faster_whisper
            from tqdm import tqdm
        except ImportError as error:
            raise ProviderUnavailable(
                NAME, f"faster-whisper is not installed: {how_to_install('whisper')}"
            ) from error
        tqdm.monitor_interval = 0  # else its bar, which is not shown, starts a thread
        logging.getLogger("faster_whisper").setLevel(logging.WARNING)
        try:
            self._model = faster_whisper.WhisperModel(
                str(folder), device="cpu", compute_type="int8", cpu_threads=threads, num_workers=1
            )
            self._encoder = _Encoder(self._model)
            self._transcribe(np.zeros(_LEAST_SAMPLES, np.float32), "en")
        except Exception as error:  # the library raises whatever its C++ parts throw
            reason = str(error).strip().partition("\n")[0][:200]
            raise ProviderUnavailable(
                NAME, f"the model in {folder} cannot be used ({reason})"
            ) from error

    def decode(self, utterances: Sequence[tuple[bytes, str]]) -> list[Recognition]:
        """Return the words of each utterance."""
        return [self._recognise(pcm, language) for pcm, language in utterances]

    def _recognise(self, pcm: bytes, language: str) -> Recognition:
        heard = np.frombuffer(pcm, "<i2")
        if not heard.size or int(np.abs(heard.astype(np.int32)).max()) < _QUIET:
            return Recognition("")
        floats = heard.astype(np.float32) / np.float32(32768)
        padded = np.pad(floats, (0, max(0, _LEAST_SAMPLES - floats.size)))
        segments, spoken = self._transcribe(padded, language)
        text = "".join(segment.text for segment in segments).strip()
        if not any(map(str.isalnum, text)):
            return Recognition("")
        mean = float(np.mean([segment.avg_logprob for segment in segments]))
        repeated = max(segment.compression_ratio for segment in segments) > _REPEATED
        if mean < self._rejection or repeated:
            return Recognition("", rejected=True, language=spoken, guess=text)
        return Recognition(text, confidence=min(1.0, float(np.exp(mean))), language=spoken)

    def _transcribe(self, floats: np.typing.NDArray[np.float32], tag: str) -> tuple[list[Any], str]:
        try:
            return self._found(floats, tag)
        finally:
            self._encoder.forget()

    def _found(self, floats: np.typing.NDArray[np.float32], tag: str) -> tuple[list[Any], str]:
        language = self._language(tag) or self._spoken(floats)
        seconds = floats.size / LISTEN_RATE
        segments, info = self._model.transcribe(
            floats,
            language=language,
            beam_size=self._beam,
            best_of=1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
            vad_filter=False,
            no_speech_threshold=self._no_speech,
            initial_prompt=_prompt(tag) if language == "zh" else None,
            max_new_tokens=min(_TOKENS_AT_MOST, _TOKENS_ALWAYS + int(seconds * _TOKENS_PER_SECOND)),
        )
        return list(segments), str(info.language)

    def _language(self, tag: str) -> str | None:
        """Return the model's name of a language; None: it is to be detected."""
        name = tag.replace("_", "-").partition("-")[0].lower()
        return name if name in self._model.supported_languages else None

    def _spoken(self, floats: np.typing.NDArray[np.float32]) -> str:
        """Return the language that is spoken."""
        if not self._model.model.is_multilingual:
            return "en"
        # The library does not look at the last frame when it finds the words.
        features = self._model.feature_extractor(floats)[..., :-1]
        return str(self._model.detect_language(features=features)[0])


class _Encoder:
    """Encodes the audio of an utterance once.

    The library does so for its language and again for its words, and that is nearly all of its
    work.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - of faster-whisper
        """Take the place of the model's own."""
        self._encode = model.encode
        self._last: tuple[np.typing.NDArray[np.float32], object] | None = None
        model.encode = self._encoded

    def forget(self) -> None:
        """Drop what a user has said."""
        self._last = None

    def _encoded(self, features: np.typing.NDArray[np.float32]) -> object:
        if self._last is None or not np.array_equal(self._last[0], features):
            self._last = (features, self._encode(features))
        return self._last[1]


def _prompt(tag: str) -> str:
    parts = tag.replace("_", "-").lower().split("-")
    return _PROMPTS["zh-hant" if any(part in _TRADITIONAL for part in parts) else "zh"]
