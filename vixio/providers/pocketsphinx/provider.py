"""PocketSphinx as an ASR provider: settings, the provider, its streams."""

from __future__ import annotations

import asyncio
import json
import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_bytes
from vixio.core.chunk import Completeness
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.text_forms import of_form
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.pocketsphinx.messages import NAME, WORST_SCORE, Kind, WorkerSettings
from vixio.providers.pocketsphinx.pool import RecognitionPool, RecognitionWorker, default_size
from vixio.providers.registry import ProviderFactory

_log = logging.getLogger(__name__)

REJECTION: Final = -100.0
"""Score below which an utterance is rejected; chosen on the tuning set (docs/speech.md)."""

CAUTION: Final = 12.0
"""What ends or erases something must score so much better than other sentences; chosen on the
tuning set (docs/speech.md)."""


_language = of_form(
    "de|en|es|fr|ja|zh", "de, en, es, fr, ja or zh, since there are no other phrase books"
)


class PocketSphinxSettings(BaseModel):
    """Options of ``asr.pocketsphinx``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Annotated[str, AfterValidator(_language)] = "en"
    """Language of model and phrase book. A model is packaged for English only."""
    model: Path | None = None
    """Folder of another acoustic model; needs ``dictionary``."""
    dictionary: Path | None = None
    """Pronunciation dictionary of that model."""
    rejection: Annotated[float, Field(le=0)] = REJECTION
    """Values nearer to 0 reject more; docs/speech.md has the curve."""
    caution: Annotated[float, Field(ge=0)] = CAUTION
    """Taken off the score of what ends or erases something ("good night")."""
    workers: Annotated[int, Field(ge=1, le=32)] | None = None
    """Processes. Default: two, or one on a single core."""
    decoders: Annotated[int, Field(ge=1, le=16)] = 3
    """Decoders per process; one of them is reserved for utterances that have ended."""
    max_seconds: Annotated[float, Field(gt=0, le=120)] = 15.0
    """Longest utterance; a longer one is no command and is rejected."""
    timeout: Annotated[float, Field(gt=0)] = 10.0
    """Seconds without an answer after which a worker counts as hung and is killed."""


class PocketSphinxASRProvider(ASRProvider):
    """Closed-grammar recognition. The grammar is made of each session's current tools."""

    name = NAME

    def __init__(self, settings: PocketSphinxSettings | None = None) -> None:
        """Raises ProviderUnavailable if there is no model for the language."""
        self._settings = settings or PocketSphinxSettings()
        self._worker_settings = _worker_settings(self._settings)
        self._pool: RecognitionPool | None = None
        self._starting = asyncio.Lock()
        self._request: tuple[SpeechHints, bytes] | None = None
        self._closed = False

    @property
    def settings(self) -> PocketSphinxSettings:
        """The provider's options."""
        return self._settings

    @property
    def workers(self) -> tuple[RecognitionWorker, ...]:
        """The worker processes that can be used now."""
        return self._pool.workers if self._pool is not None else ()

    @property
    def outage(self) -> ProviderError | None:
        """Why there is no worker, though there were some; None if there is one."""
        return self._pool.outage if self._pool is not None else None

    @property
    def closed_vocabulary(self) -> bool:
        return True

    @property
    def hears_freely(self) -> bool:
        return False

    async def start(self) -> None:
        async with self._starting:
            if self._closed:
                raise ProviderError(NAME, "closed", retryable=False)
            if self._pool is None:
                pool = RecognitionPool(
                    self._worker_settings, self._settings.workers or default_size()
                )
                await pool.start()
                self._pool = pool
                if self._request is not None:
                    pool.prepare(self._request[1])
                pids = [worker.pid for worker in pool.workers]
                _log.debug("recognition workers started", extra={"workers": pids})

    def open(self, hints: SpeechHints) -> PocketSphinxStream:
        return PocketSphinxStream(self, self.encode(hints), self._settings)

    def prepare(self, hints: SpeechHints) -> None:
        request = self.encode(hints)
        if self._pool is not None:
            self._pool.prepare(request)

    async def close(self) -> None:
        self._closed = True
        async with self._starting:
            pool, self._pool = self._pool, None
            if pool is not None:
                await pool.close()

    async def choose(self) -> RecognitionWorker:
        """Return a worker for a new utterance. Raises ProviderError."""
        if self._closed:
            raise ProviderError(NAME, "closed", retryable=False)
        if self._pool is None:
            raise ProviderError(NAME, "not started", reason="not_ready")
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await self._pool.choose()
        except TimeoutError:
            raise ProviderTimeout(NAME, "recognition worker", self._settings.timeout) from None

    def encode(self, hints: SpeechHints) -> bytes:
        """Return the request for a grammar of these hints."""
        known = self._request
        if known and known[0].tools is hints.tools and known[0].phrases == hints.phrases:
            return known[1]
        from vixio.language.phrasebook import fingerprint, signatures  # not while the server starts

        tools = signatures(hints.tools)
        request = {
            "key": fingerprint(tools, hints.phrases),
            "phrases": list(hints.phrases),
            "tools": [
                [tool.alias, tool.description, tool.parameters, tool.confirm] for tool in tools
            ],
        }
        encoded = json.dumps(request, default=str).encode()
        # Cached by the identity of the tuple of tools: a new list is a new tuple.
        if isinstance(hints.tools, tuple):
            self._request = (hints, encoded)
        return encoded


class PocketSphinxStream(ASRStream):
    """One utterance. One worker decodes it, from the first audio to the result."""

    def __init__(
        self, provider: PocketSphinxASRProvider, request: bytes, settings: PocketSphinxSettings
    ) -> None:
        self._provider = provider
        self._request = request
        self._timeout = settings.timeout
        self._language = settings.language
        # Slightly more than is decoded, so that the worker detects an overlong utterance.
        self._left = pcm_bytes(settings.max_seconds + 0.5, LISTEN_RATE)
        self._worker: RecognitionWorker | None = None
        self._number = 0
        self._result: asyncio.Future[dict[str, Any]] | None = None
        self._ended = False
        self._closed = False
        self.guess = ""
        """Once finished: the nearest sentence or beginning of one, rejected or not."""
        self.score = WORST_SCORE
        """Once finished: how well it fits, less ``caution`` where that applies. Below the settings'
        ``rejection`` it is rejected."""

    async def feed(self, pcm: bytes) -> None:
        worker = await self._place()
        if self._result is not None and self._result.done():
            self._result.result()  # raises the error that ended it
        pcm = pcm[: min(self._left, len(pcm) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE)]
        self._left -= len(pcm)
        if not pcm:
            return
        worker.send(Kind.AUDIO, self._number, pcm)
        try:
            async with asyncio.timeout(self._timeout):
                await worker.drain()
        except TimeoutError:
            worker.kill()
            raise ProviderTimeout(NAME, "progress", self._timeout) from None

    def update_hints(self, hints: SpeechHints) -> None:
        """Decode the utterance again, from its beginning, over the grammar of these hints."""
        request = self._provider.encode(hints)
        if self._closed or self._ended or request == self._request:
            return
        self._request = request
        if self._worker is not None:
            self._worker.send(Kind.HINTS, self._number, request)

    async def finish(self) -> Recognition:
        self._ended = True
        worker = await self._place()
        if self._result is None:
            raise ProviderError(NAME, "the stream is closed", retryable=False)
        worker.send(Kind.FINISH, self._number)
        try:
            async with asyncio.timeout(self._timeout):
                result = await asyncio.shield(self._result)
        except TimeoutError:
            worker.kill()
            raise ProviderTimeout(NAME, "transcript", self._timeout) from None
        except asyncio.CancelledError:
            if self._closed:  # cancelled by close(), not by the caller
                raise ProviderError(NAME, "the stream is closed", retryable=False) from None
            raise
        self.guess, self.score = " ".join(result["guess"]), result["score"]
        _log.debug(
            "utterance decoded",
            extra={"score": round(result["score"], 1), "rejected": result["rejected"]},
        )
        return Recognition(
            " ".join(result["words"]),
            rejected=result["rejected"],
            confidence=result["confidence"],
            language=self._language,
            completeness=Completeness(result["completeness"]) if result["completeness"] else None,
            guess=self.guess if result["rejected"] else "",
        )

    async def close(self) -> None:
        self._closed = True
        if self._worker is not None:
            self._worker.forget(self._number)

    async def _place(self) -> RecognitionWorker:
        if self._closed:
            raise ProviderError(NAME, "the stream is closed", retryable=False)
        if self._worker is None:
            worker = await self._provider.choose()
            if self._closed:
                raise ProviderError(NAME, "the stream is closed", retryable=False)
            self._worker = worker
            self._number, self._result = worker.open(self._request)
        return self._worker


def _worker_settings(settings: PocketSphinxSettings) -> WorkerSettings:
    # find_spec does not import the package: the server itself never loads the library.
    package = find_spec("pocketsphinx")
    if package is None or not package.submodule_search_locations:
        raise ProviderUnavailable(NAME, "the package is missing: pip install pocketsphinx")
    if (settings.model is None) != (settings.dictionary is None):
        raise ProviderUnavailable(NAME, "model and dictionary belong together: set both or none")
    if settings.model is None or settings.dictionary is None:
        if settings.language != "en":
            raise ProviderUnavailable(
                NAME,
                f"no model for {settings.language!r} is packaged: set model and dictionary to one, "
                "or choose another ASR",
            )
        packaged = Path(package.submodule_search_locations[0]) / "model" / "en-us"
        model, dictionary = packaged / "en-us", packaged / "cmudict-en-us.dict"
    else:
        model, dictionary = settings.model.expanduser(), settings.dictionary.expanduser()
    for path in (model, dictionary):
        if not path.exists():
            raise ProviderUnavailable(NAME, f"there is no {path}")
    return WorkerSettings(
        model=str(model),
        dictionary=str(dictionary),
        language=settings.language,
        decoders=settings.decoders,
        rejection=settings.rejection,
        caution=settings.caution,
        max_seconds=settings.max_seconds,
    )


FACTORY = ProviderFactory(
    settings_model=PocketSphinxSettings,
    create=PocketSphinxASRProvider,
    memory_mb=lambda _: 105,  # scripts/measure_providers.py, as for the voice eSpeak NG
    languages=lambda settings: (settings.language,),
)
