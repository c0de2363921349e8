"""Kokoro as a TTS provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.inference.memory import models_mb
from vixio.providers.kokoro.files import (
    NAME,
    UNREAD,
    Styles,
    language_of,
    load_voice,
    packaged_network,
    voice_names,
)
from vixio.providers.kokoro.phonemes import KokoroPhonemes
from vixio.providers.kokoro.vocabulary import MOST_SYMBOLS, PAD, numbers
from vixio.providers.local_voice.network import VoiceNetwork
from vixio.providers.local_voice.provider import LocalVoiceProvider
from vixio.providers.local_voice.worker import Sound, Utterance, Write
from vixio.providers.registry import ProviderFactory
from vixio.providers.spoken_text import cost, split, spoken_language
from vixio.providers.tts import VoiceChoice

_SENTENCE: Final = re.compile(
    r"(?<=[.!?…])\s+|(?<=[.!?…][\"”’)])\s+|(?<=[。！？])(?![”’」』）])|(?<=[。！？][”’」』）])|\n+"
)
_CLAUSE: Final = re.compile(r"(?<=[,;:])(?=\s)|(?<=[，；：])")

FIRST: Final = 32
"""Length of the first piece, in Latin letters: two seconds of speech."""
SHORTEST: Final = 12
"""Clauses that are shorter stay with the next one: a cut costs a pause."""
GROWTH: Final = 1.6
"""Each piece may be so many times as long as the one before: 1 / 0.6."""


# The network computes a piece as a whole, at some 0.6 of real time on one core. So the first piece
# is short, for a quick first sound, and each one may be longer than the one before, whose sound
# covers its computation. Cuts are at the ends of sentences and at commas only.
def pieces(text: str) -> Iterator[str]:
    """Yield the pieces of ``text``."""
    limit: float = FIRST
    for sentence in _SENTENCE.split(text):
        current = ""
        for clause in _CLAUSE.split(sentence):
            longer = current + clause
            if cost(current) >= SHORTEST and cost(longer) > limit:
                yield current.strip()
                limit *= GROWTH
                current = clause
            else:
                current = longer
        if current.strip():
            yield current.strip()
            limit *= GROWTH


RATE = 24_000
_QUIET = 0.01
"""Below this, samples are silence: the network puts 0.3 s before and 0.5 s behind its speech."""
_LEAD, _FADE = RATE // 50, RATE * 6 // 100
"""Samples of it that are kept before and behind, so that no consonant is cut."""
_PAUSE, _SHORT_PAUSE = RATE // 5, RATE // 20
"""Samples of silence behind a sentence, and behind another piece."""


_BY_LANGUAGE: Final = {
    "es": "ef_dora",
    "fr": "ff_siwis",
    "hi": "hf_alpha",
    "it": "if_sara",
    "pt": "pf_dora",
    "zh": "zf_xiaoxiao",
}


class KokoroSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``kokoro``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    voice: str = "af_heart"
    """Name of the voice; its first letter says its language (docs/providers.md)."""
    voices: dict[str, str] = Field(default_factory=lambda: dict(_BY_LANGUAGE))
    """Voice by language (BCP 47, lower case), for texts in another language than ``voice``."""
    speed: float = Field(default=1.0, ge=0.5, le=2.0)
    """1 is the voice's own speed; more is faster."""
    threads: int = Field(default=2, ge=1, le=64)
    """CPU threads."""
    model: Path | None = None
    """The network's ONNX file. Default: the int8 one of the extra ``kokoro``."""
    voices_path: Path | None = None
    """Folder of NAME.bin files, or a file of several (voices-v1.0.bin). Default: the extra's."""


class KokoroVoice:
    """The loaded network and its voices."""

    name = NAME
    sample_rate = RATE

    def __init__(
        self, network: VoiceNetwork, settings: KokoroSettings, phonemes: KokoroPhonemes
    ) -> None:
        """Raises ProviderUnavailable, also for a voice that is not there."""
        self._network = network
        self._settings = settings
        self._phonemes = phonemes
        self._symbols = "input_ids" if "input_ids" in network.inputs else "tokens"
        self._speed = np.array([settings.speed], np.float32)
        self._voices: dict[str, Styles] = {}
        chosen = {settings.voice}
        present = voice_names(settings.voices_path)
        for voice in settings.voices.values():
            # The default ones need not be there.
            if voice in present or "voices" in settings.model_fields_set:
                chosen.add(voice)
        for voice in sorted(chosen):
            self._voices[voice] = load_voice(voice, settings.voices_path)
            if language_of(voice) in UNREAD:
                raise ProviderUnavailable(
                    NAME, f"{voice} speaks {language_of(voice)}, which Vixio cannot read out yet"
                )

    def speak(self, utterance: Utterance, write: Write) -> None:
        """Pass each piece to ``write`` as soon as it is synthesised. Raises ProviderError."""
        voice = self._voice_for(utterance)
        for piece in pieces(utterance.text):
            symbols = self._phonemes.of(piece, language_of(voice) or "en-us")
            for part in split(symbols, lambda _: MOST_SYMBOLS):
                sound = self._synthesise(part, voice, utterance)
                if sound is None or (len(sound) and not write(sound)):
                    return

    def close(self) -> None:
        """End the processes of the phonemes."""
        self._phonemes.close()

    def _voice_for(self, utterance: Utterance) -> str:
        settings = self._settings
        tag = spoken_language(utterance.text, utterance.language).lower().replace("_", "-")
        main = tag.partition("-")[0]
        if main == language_of(settings.voice).partition("-")[0]:
            return settings.voice
        wanted = settings.voices.get(tag) or settings.voices.get(main) or settings.voice
        return wanted if wanted in self._voices else settings.voice

    def _synthesise(self, symbols: str, voice: str, utterance: Utterance) -> Sound | None:
        """Return the sound of one call; None if it was interrupted."""
        ids = numbers(symbols)
        if not ids:
            return np.zeros(0, np.float32)
        sound = self._network.run(
            {
                self._symbols: np.array([[PAD, *ids, PAD]], np.int64),
                "style": self._voices[voice][None, len(ids) - 1],
                "speed": self._speed,
            },
            utterance.interruption,
        )
        if sound is None:
            return None
        pause = _PAUSE if symbols[-1:] in ".!?…" else _SHORT_PAUSE
        return np.concatenate([_trimmed(sound), np.zeros(pause, np.float32)])


def _trimmed(sound: Sound) -> Sound:
    """Return ``sound`` without the silence around it."""
    loud = np.flatnonzero(np.abs(sound) > _QUIET)
    if not len(loud):
        return sound
    return sound[max(0, loud[0] - _LEAD) : loud[-1] + _FADE]


class KokoroTTSProvider(LocalVoiceProvider):
    """The network, shared by all devices."""

    name = NAME

    def __init__(self, settings: KokoroSettings) -> None:
        super().__init__()
        self._settings = settings

    def load(self) -> KokoroVoice:
        """Return the voice. Raises ProviderUnavailable with what is missing."""
        settings = self._settings
        phonemes = KokoroPhonemes(NAME)
        try:
            voice = KokoroVoice(_network(settings), settings, phonemes)
            phonemes.prepare(language_of(settings.voice) or "en-us")
            _warm_up(voice)
        except BaseException:
            phonemes.close()
            raise
        return voice


def _network(settings: KokoroSettings) -> VoiceNetwork:
    # With the second copy of the weights it takes 210 MB more and no less time.
    if settings.model is None:
        with packaged_network() as path:
            return VoiceNetwork(
                NAME, path, settings.threads, remedy=how_to_install("kokoro"), prepack=False
            )
    path = settings.model.expanduser()
    if not path.is_file():
        raise ProviderUnavailable(NAME, f"there is no file {path} (tts.model)")
    remedy = "is it a network of Kokoro's (tts.model)?"
    return VoiceNetwork(NAME, path, settings.threads, remedy=remedy, prepack=False)


def _warm_up(voice: KokoroVoice) -> None:
    """Synthesise once: the first run allocates."""
    try:
        voice.speak(Utterance("OK"), lambda _: True)
    except Exception as error:  # the runtime raises classes of its own
        raise ProviderUnavailable(
            NAME, f"the voice does not speak ({type(error).__name__}): is it a network of Kokoro's?"
        ) from error


def _create(settings: KokoroSettings) -> KokoroTTSProvider:
    return KokoroTTSProvider(settings)


def _memory_mb(settings: KokoroSettings) -> int:
    if settings.model is not None:
        return models_mb([settings.model]) + 150
    return 360  # scripts/measure_providers.py


async def _list_voices(settings: KokoroSettings) -> list[VoiceChoice]:
    names = await asyncio.to_thread(voice_names, settings.voices_path)
    return [
        VoiceChoice(
            name,
            language_of(name),
            {"f": "female", "m": "male"}.get(name[1:2], ""),
            {"voice": name, "voices": {}},
        )
        for name in names
        if language_of(name) not in UNREAD
    ]


def _languages(settings: KokoroSettings) -> Collection[str] | None:
    own = language_of(settings.voice)
    return {own, *settings.voices} if own else None


FACTORY = ProviderFactory(
    settings_model=KokoroSettings,
    create=_create,
    memory_mb=_memory_mb,
    voices=_list_voices,
    languages=_languages,
)
