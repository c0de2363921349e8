"""The readiness checks that every server has."""

from __future__ import annotations

import asyncio

from vixio.composition.server_providers import ServerProviders
from vixio.core.readiness import Readiness


class ServerReadiness(Readiness):
    """``ports`` and ``providers``; other parts add theirs.

    ``listening``: set while the ports are open. ``loading``: the task that loads the providers.
    """

    def __init__(self, providers: ServerProviders) -> None:
        super().__init__()
        self.listening = False
        self.loading: asyncio.Task[None] | None = None
        self._providers = providers
        self.add("ports", lambda: "" if self.listening else "the ports are closed")
        self.add("providers", self._provider_trouble)

    @property
    def status(self) -> str:
        """What the health page says: ``ok``, ``loading`` or ``degraded``."""
        if self._providers.unusable():
            return "degraded"
        return "ok" if self._loaded else "loading"

    @property
    def _loaded(self) -> bool:
        loading = self.loading
        return loading is not None and loading.done() and not loading.cancelled()

    def _provider_trouble(self) -> str:
        if unusable := self._providers.unusable():
            return f"cannot be used: {', '.join(unusable)}"
        return "" if self._loaded else "still loading"
