"""eSpeak NG as a TTS provider."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.espeak_process.cleaning import speakable
from vixio.providers.espeak_process.messages import NAME, Kind, Voice
from vixio.providers.espeak_process.pool import EspeakPool, Request, acquire, release
from vixio.providers.registry import ProviderFactory
from vixio.providers.spoken_text import clean, split_by_cost, spoken_language
from vixio.providers.tts import TTSProvider, VoiceChoice

_log = logging.getLogger(__name__)

_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8}){0,3}")


class EspeakSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``espeak``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    voice: str = "en-us"
    """Speaks where no language is known: a language of ``vixio voices``, ``+f3`` a variant."""
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
    """A voice of eSpeak NG. All providers of the event loop share its worker processes."""

    name = NAME
    sample_rate = 22_050
    pauses = False

    def __init__(self, settings: EspeakSettings | None = None) -> None:
        self._settings = settings or EspeakSettings()
        self._starting = asyncio.Lock()
        self._pool: EspeakPool | None = None
        self._closed = False
        self._requests: set[Request] = set()

    @property
    def outage(self) -> ProviderError | None:
        """Why there is no worker process, though there were some; None if there is one."""
        return self._pool.outage if self._pool is not None else None

    async def start(self) -> None:
        """Start the worker processes. Raises ProviderUnavailable, also for an unknown voice."""
        async with self._starting:
            if self._closed:
                raise ProviderError(NAME, "the provider is closed", retryable=False)
            if self._pool is not None:
                return
            pool = await acquire()
            try:
                await self._check_voices(pool)
            except BaseException:
                await release()
                raise
            self.sample_rate = pool.sample_rate
            self._pool = pool
        _log.debug("TTS loaded", extra={"provider": NAME, "sample_rate": self.sample_rate})

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM in chunks of at most 120 ms; nothing if ``text`` holds no letter or digit.

        A text in Chinese or Japanese is read in that language whatever ``language`` says. The
        configured voice speaks for a language that eSpeak NG does not know. Raises ProviderError.
        """
        pieces = split(clean(speakable(text)))
        voices = self._voices(spoken_language(text, language))
        for number, piece in enumerate(pieces, 1):
            pool = self._pool
            if pool is None or self._closed:
                state = "closed" if self._closed else "not started"
                raise ProviderError(NAME, f"it is {state}", retryable=False)
            request = Request(Kind.SPEAK, voices, piece, pause_after=number < len(pieces))
            self._requests.add(request)
            pool.submit(request)
            try:
                while (pcm := await request.next()) is not None:
                    yield pcm
            finally:
                self._requests.discard(request)
                pool.cancel(request)

    async def close(self) -> None:
        """Fail what is being spoken; the last provider ends the worker processes. Idempotent."""
        self._closed = True
        for request in self._requests:
            if self._pool is not None:
                self._pool.cancel(request)
            request.finish(ProviderError(NAME, "the provider is closed", retryable=False))
        async with self._starting:  # a start in progress leaves nothing behind
            pool, self._pool = self._pool, None
        if pool is not None:
            await release()

    async def _check_voices(self, pool: EspeakPool) -> None:
        wanted = {self._settings.voice}
        if "voices" in self._settings.model_fields_set:  # the default ones need not all exist
            wanted.update(self._settings.voices.values())
        if missing := await pool.missing(self._voice(name) for name in sorted(wanted)):
            raise ProviderUnavailable(
                NAME, f"no voice {', '.join(missing)}: `vixio voices --provider espeak` lists them"
            )

    def _voice(self, name: str) -> Voice:
        return Voice(name, self._settings.rate, self._settings.pitch, self._settings.volume)

    def _voices(self, language: str) -> tuple[Voice, ...]:
        """Return the voices to try: the language's, its main language's, the configured one."""
        names: list[str] = []
        tag = language.lower().replace("_", "-")
        if not _TAG.fullmatch(tag):
            tag = ""  # the library reads a name as a path to a file
        while tag:
            names.append(self._settings.voices.get(tag, tag))
            tag = tag.rpartition("-")[0]
        names.append(self._settings.voice)
        return tuple(self._voice(name) for name in dict.fromkeys(names))


def _create(settings: EspeakSettings) -> EspeakTTSProvider:
    return EspeakTTSProvider(settings)


async def _list_voices(_: EspeakSettings) -> list[VoiceChoice]:
    pool = await acquire()
    try:
        return [
            VoiceChoice(name, tag, about, {"voice": name, "voices": {tag: name}})
            for name, tag, about in await pool.voices()
        ]
    finally:
        await release()


PIECE_COST: Final = 240
"""A piece's length in Latin letters. It takes about 2 ms and gives about 15 s of speech: no other
device waits longer for its turn, and no reply holds more audio than that."""


def split(text: str) -> list[str]:
    """Cut ``text`` into pieces of at most :data:`PIECE_COST`, at the best place that each has."""
    return split_by_cost(text, PIECE_COST)


_LINE: Final = re.compile(rb"^language\s+([A-Za-z-]+)", re.MULTILINE)
_BEGINNING: Final = 1_000
"""Bytes of a file within which its languages stand."""


_MISREAD: Final = frozenset({"ja"})
"""It reads kana only: for each Han character in Japanese it says "Chinese letter"."""


@cache
def packaged() -> frozenset[str]:
    """Return the tags of all voices; empty if the system's library is used. Blocking, 5 ms.

    From the data of its package: no library is loaded for them. A file of ``lang`` has a line
    ``language TAG`` for each of the voice's languages.
    """
    try:
        import espeakng_loader
    except ImportError:
        return frozenset()
    found: set[str] = set()
    for path in Path(espeakng_loader.get_data_path(), "lang").rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                beginning = file.read(_BEGINNING)
            found.update(tag.decode("ascii") for tag in _LINE.findall(beginning))
    return frozenset(found)


FACTORY = ProviderFactory(
    settings_model=EspeakSettings,
    create=_create,
    memory_mb=lambda _: 30,
    voices=_list_voices,
    languages=lambda settings: (
        (known - _MISREAD) | {*settings.voices} if (known := packaged()) else None
    ),
)
