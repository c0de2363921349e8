"""eSpeak NG as a TTS provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.espeak.engine import ENGINE, Job
from vixio.providers.espeak.text import split
from vixio.providers.espeak_library import NAME, Voice
from vixio.providers.registry import ProviderFactory
from vixio.providers.spoken_text import clean, spoken_language
from vixio.providers.tts import TTSProvider

_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8}){0,3}")


class EspeakSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``espeak``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    voice: str = "en-us"
    """Speaks where no language is known: a name of ``espeak-ng --voices``, ``+f3`` a variant."""
    voices: dict[str, str] = Field(
        default_factory=lambda: {"en": "en-us", "zh": "cmn", "zh-hk": "yue"}
    )
    """Voice by language (BCP 47, lower case). A language without an entry has its own name."""
    rate: int = Field(default=165, ge=80, le=450)
    """Words a minute."""
    pitch: int = Field(default=50, ge=0, le=99)
    volume: int = Field(default=100, ge=0, le=200)
    """100 is eSpeak NG's own; more may clip."""


class EspeakTTSProvider(TTSProvider):
    """A voice of eSpeak NG. All providers of the process share one thread."""

    name = NAME
    sample_rate = 22_050

    def __init__(self, settings: EspeakSettings | None = None) -> None:
        self._settings = settings or EspeakSettings()
        self._starting = asyncio.Lock()
        self._started = False
        self._closed = False
        self._jobs: set[Job] = set()

    async def start(self) -> None:
        """Load the library in a thread. Raises ProviderUnavailable, also for an unknown voice."""
        async with self._starting:
            if self._closed:
                raise ProviderError(NAME, "it is closed", retryable=False)
            if self._started:
                return
            self.sample_rate = await asyncio.to_thread(self._load)
            ENGINE.hold()
            self._started = True
        logger.bind(provider=NAME, sample_rate=self.sample_rate).debug("TTS loaded")

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM in chunks of at most 120 ms; nothing if ``text`` holds no letter or digit.

        A text in Chinese or Japanese is read in that language whatever ``language`` says. The
        configured voice speaks for a language that eSpeak NG does not know. Raises ProviderError.
        """
        pieces = split(clean(text))
        voices = self._voices(spoken_language(text, language))
        for number, piece in enumerate(pieces, 1):
            if not self._started or self._closed:
                state = "closed" if self._closed else "not started"
                raise ProviderError(NAME, f"it is {state}", retryable=False)
            job = Job(piece, voices, pause_after=number < len(pieces))
            self._jobs.add(job)
            try:
                ENGINE.submit(job)
                while (pcm := await job.next()) is not None:
                    yield pcm
            finally:
                self._jobs.discard(job)
                job.cancel()

    async def close(self) -> None:
        """Fail what is being spoken and give the thread back. Idempotent."""
        self._closed = True
        for job in self._jobs:
            job.cancel()
            job.finish(ProviderError(NAME, "it is closed", retryable=False))
        async with self._starting:  # a start in progress leaves nothing behind
            started, self._started = self._started, False
        if started:
            await asyncio.to_thread(ENGINE.release)

    def _load(self) -> int:
        sample_rate = ENGINE.load()
        wanted = {self._settings.voice}
        if "voices" in self._settings.model_fields_set:  # else some may lack on this system
            wanted.update(self._settings.voices.values())
        missing = sorted(name for name in wanted if not ENGINE.has_voice(self._voice(name)))
        if missing:
            raise ProviderUnavailable(
                NAME, f"no voice {', '.join(missing)}: `espeak-ng --voices` lists what there is"
            )
        return sample_rate

    def _voice(self, name: str) -> Voice:
        return Voice(name, self._settings.rate, self._settings.pitch, self._settings.volume)

    def _voices(self, language: str) -> tuple[Voice, ...]:
        """Return the voices to try: the language's, its main language's, the configured one."""
        names: list[str] = []
        tag = language.lower().replace("_", "-")
        if not _TAG.fullmatch(tag):
            tag = ""  # the library takes a name for a path to a file
        while tag:
            names.append(self._settings.voices.get(tag, tag))
            tag = tag.rpartition("-")[0]
        names.append(self._settings.voice)
        return tuple(self._voice(name) for name in dict.fromkeys(names))


def _create(settings: EspeakSettings) -> EspeakTTSProvider:
    return EspeakTTSProvider(settings)


FACTORY = ProviderFactory(settings_model=EspeakSettings, create=_create)
