"""Loads what a server hears and speaks with, and gives each session what there is of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.metrics import Counters
from vixio.providers.asr import ASRProvider
from vixio.providers.chain.members import Chain
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.waking import HOLD_S, Loading, WakingASR, WakingTTS, WakingVAD

_log = logging.getLogger(__name__)


class Startable(Protocol):
    """What the providers of all kinds have in common."""

    async def start(self) -> None: ...


class Senses:
    """The detector, the recogniser and the voice, each as far as it has come.

    ``unusable``: what only somebody's doing can mend, by the section of the settings.
    """

    def __init__(
        self, vad: VADProvider, asr: ASRProvider, tts: TTSProvider, counters: Counters
    ) -> None:
        self.unusable: dict[str, ProviderUnavailable] = {}
        self._vad = vad
        self._asr = asr
        self._tts = tts
        self._counters = counters
        self._providers: Mapping[str, VADProvider | ASRProvider | TTSProvider] = {
            "vad": vad,
            "asr": asr,
            "tts": tts,
        }
        self._loading = {kind: Loading(each.name) for kind, each in self._providers.items()}

    async def load(self) -> None:
        """Start all of them beside each other."""
        async with asyncio.TaskGroup() as group:
            for kind in self._providers:
                group.create_task(self._load(kind))

    async def over(self) -> None:
        """Wait until all of them are ready or have failed, but only for a short while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_S):
                for loading in self._loading.values():
                    await loading.over()

    async def awake(self) -> tuple[VADProvider, ASRProvider, TTSProvider]:
        """Return the senses of a new session, after that wait."""
        await self.over()
        vad, asr, tts = (self._loading[kind] for kind in ("vad", "asr", "tts"))
        return (
            self._vad if vad.ready else WakingVAD(self._vad, vad),
            self._asr if asr.ready else WakingASR(self._asr, asr),
            self._tts if tts.ready else WakingTTS(self._tts, tts),
        )

    async def start(self, kind: str, provider: Startable) -> None:
        """Start a provider of any kind; what keeps it from that is told in the log."""
        try:
            await provider.start()
        except ProviderUnavailable as error:
            # The rest works, and a turn that needs this one is told.
            self._counters.add("provider.unusable")
            self.unusable[kind] = error
            _log.error("%s cannot be used: %s; mend it and start again", kind, error)
        except ProviderError as error:
            # It may be a service that is down just now: its turns will say so.
            self._counters.add("provider.start_failed")
            _log.warning("a provider is not ready: %s", error)

    async def _load(self, kind: str) -> None:
        loading, provider = self._loading[kind], self._providers[kind]
        if not isinstance(provider, Chain):
            await self.start(kind, provider)
        else:  # one of its members will do
            async with asyncio.TaskGroup() as group:
                usable = group.create_task(_usable(provider, loading))
                await self.start(kind, provider)
                usable.cancel()
        if kind in self.unusable:
            loading.failed(self.unusable[kind])
        else:
            loading.succeeded()


async def _usable(chain: Chain[VADProvider | ASRProvider | TTSProvider], loading: Loading) -> None:
    if await chain.usable():
        loading.succeeded()


def chains(*providers: object) -> dict[str, Any]:
    """Return for a health page the state of each provider that stands in a list."""
    found = [each for each in providers if isinstance(each, Chain)]
    return {"chains": {each.members.kind: each.stats() for each in found}} if found else {}
