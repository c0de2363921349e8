"""Settings whose providers are scripted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from vixio.providers import registry
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD


class NoOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass
class Kit:
    """The providers that every name stands for, and which of them were closed."""

    vad: ScriptedVAD = field(default_factory=ScriptedVAD)
    asr: ScriptedASR = field(default_factory=ScriptedASR)
    agent: ScriptedAgentBackend = field(default_factory=ScriptedAgentBackend)
    tts: Any = field(default_factory=ScriptedTTS)
    vision: Any = None
    closed: list[str] = field(default_factory=list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the registry give these."""
        monkeypatch.setattr(registry, "resolve", self._resolve)
        for kind in ("vad", "asr", "agent", "tts"):

            async def close(kind: str = kind) -> None:
                self.closed.append(kind)

            monkeypatch.setattr(getattr(self, kind), "close", close)

    def _resolve(self, kind: ProviderKind, name: str) -> ProviderFactory[Any, Any]:
        return ProviderFactory(NoOptions, lambda _: getattr(self, kind.value))
