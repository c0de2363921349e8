"""Edge TTS as a TTS provider."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from importlib.util import find_spec

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.core.streams import closing
from vixio.providers.audio_stream import AudioStreamDecoder, decoded, load
from vixio.providers.edge_tts.settings import NAME, EdgeTTSSettings, spoken_by, voice_for
from vixio.providers.edge_tts.speech import Speech
from vixio.providers.registry import ProviderFactory
from vixio.providers.spoken_text import clean, split
from vixio.providers.tts import TTSProvider, VoiceChoice

_log = logging.getLogger(__name__)

MAX_BYTES = 4_096
"""Of one request, as UTF-8 with XML's entities: edge-tts's own limit. Longer Chinese texts, which
have no spaces, it splits within words or not at all."""


class EdgeTTSProvider(TTSProvider):
    """Voices of Microsoft Edge. The service takes one sentence per connection."""

    name = NAME
    sample_rate = 24_000

    def __init__(self, settings: EdgeTTSSettings | None = None) -> None:
        """Raises ProviderUnavailable if the package is not installed."""
        if find_spec("edge_tts") is None:
            raise ProviderUnavailable(
                NAME, f"the package edge-tts is missing: {how_to_install('edge')}"
            )
        self._settings = settings or EdgeTTSSettings()
        self._speaking: set[Speech] = set()
        self._started = False
        self._closed = False

    async def start(self) -> None:
        """Import the package and the decoder in a thread. Raises ProviderUnavailable."""
        if self._closed:
            raise ProviderError(NAME, "the provider is closed", retryable=False)
        if not self._started:
            await asyncio.to_thread(_import)
            self._started = True

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield PCM as it arrives; nothing if ``text`` holds no letter or digit.

        Raises ProviderError. Closing the iterator closes the connection.
        """
        self._check()
        cleaned = clean(text)
        voice = voice_for(self._settings, cleaned, language)
        for piece in split(cleaned, _fitting):
            self._check()
            speech = Speech(piece, voice, self._settings)
            self._speaking.add(speech)
            try:
                decoder = AudioStreamDecoder(NAME, self.sample_rate, asked="mp3")
                async with closing(decoded(speech.pieces(), decoder)) as sound:
                    async for pcm in sound:
                        self._check()
                        yield pcm
            finally:
                self._speaking.discard(speech)
                await speech.close()
            _log.debug("sentence spoken", extra={"provider": NAME, "voice": voice})

    async def close(self) -> None:
        """Fail the speech in progress and close its connections. Idempotent."""
        self._closed = True
        speaking = list(self._speaking)
        for speech in speaking:
            speech.fail(ProviderError(NAME, "the provider is closed", retryable=False))
        await asyncio.gather(*(speech.close() for speech in speaking))

    def _check(self) -> None:
        if self._closed or not self._started:
            state = "closed" if self._closed else "not started"
            raise ProviderError(NAME, f"it is {state}", retryable=False)


def _import() -> None:
    try:
        import edge_tts  # noqa: F401 - takes 0.3 s, which the first sentence should not wait for
    except ImportError as error:
        raise ProviderUnavailable(
            NAME, f"{error}; to install what it needs: {how_to_install('edge')}"
        ) from None
    load(NAME, "mp3")


def _fitting(text: str) -> int:
    """Return how many characters of ``text`` fit into one request, at least one."""
    size = 0
    for position, character in enumerate(text):
        size += 5 if character in "&<>" else len(character.encode())
        if size > MAX_BYTES:
            return max(position, 1)
    return len(text)


def _create(settings: EdgeTTSSettings) -> EdgeTTSProvider:
    return EdgeTTSProvider(settings)


async def _list_voices(settings: EdgeTTSSettings) -> list[VoiceChoice]:
    """Ask the service for its voices, some 400."""
    await asyncio.to_thread(_import)
    import edge_tts

    from vixio.providers.edge_tts.errors import CAUGHT, classify

    try:
        async with asyncio.timeout(settings.connect_timeout + settings.timeout):
            found = await edge_tts.list_voices(proxy=settings.used_proxy)
        return [
            VoiceChoice(
                voice["ShortName"],
                voice["Locale"],
                str(voice.get("Gender", "")).lower(),
                {"voice": voice["ShortName"], "voices": {}},
            )
            for voice in found
        ]
    except CAUGHT as error:
        limit, has_proxy = settings.connect_timeout + settings.timeout, settings.proxy is not None
        raise classify(error, "", limit, has_proxy=has_proxy) from error


FACTORY = ProviderFactory(
    settings_model=EdgeTTSSettings, create=_create, voices=_list_voices, languages=spoken_by
)
