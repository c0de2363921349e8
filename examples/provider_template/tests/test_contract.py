"""The voice does what every voice does: the suite is Vixio's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vixio_tones.tts import TonesTTSProvider

from vixio.providers.tts import TTSProvider
from vixio.testing.contract import TTSContract


class TestTones(TTSContract):
    limit = 30.0  # seconds that a rule may take; more for a model that is slow

    @asynccontextmanager
    async def create(self) -> AsyncIterator[TTSProvider]:
        # Around a cloud vendor's client: a local server that speaks the vendor's protocol.
        yield TonesTTSProvider()
