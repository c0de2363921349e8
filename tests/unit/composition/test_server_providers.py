"""The default profile's providers, and what a change of the settings does to them."""

from __future__ import annotations

import pytest

from vixio.composition import server_providers
from vixio.composition.choices import Providers
from vixio.composition.server_providers import ServerProviders
from vixio.core.metrics import Counters
from vixio.settings import Settings
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD


class Voice(ScriptedTTS):
    """Counts its starts and ends."""

    def __init__(self) -> None:
        super().__init__()
        self.starts = self.closes = 0

    async def start(self) -> None:
        self.starts += 1

    async def close(self) -> None:
        self.closes += 1


async def test_a_providers_object_stays_in_use_when_the_settings_change() -> None:
    voice = Voice()
    made = Providers(ScriptedVAD(), ScriptedASR(), ScriptedAgentBackend(), voice)
    providers = ServerProviders(Settings(), made, Counters())
    try:
        await providers.warm_up()
        loaders = providers.pool.loaders()
        providers.replace(Settings.model_validate({"assistant": {"place": "Berlin"}}))
        await providers.warm_up()
        assert providers.pool.loaders() == loaders
        assert [each["sessions"] for each in providers.pool.stats()] == [1, 1, 1, 1]
        assert (voice.starts, voice.closes) == (1, 0)
    finally:
        await providers.close()
    assert voice.closes == 1


async def test_new_providers_are_started_before_they_are_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def settings(voice: str) -> Settings:
        return Settings.model_validate({"tts": {"name": "espeak", "voice": voice}})

    made = Providers(ScriptedVAD(), ScriptedASR(), ScriptedAgentBackend())
    providers = ServerProviders(settings("en"), made, Counters())
    try:
        await providers.warm_up()
        assert await providers.start_new(settings("en")) == {}
        assert len(providers.pool.loaders()) == 4
        with monkeypatch.context() as patch:
            patch.setattr(server_providers, "START_S", 0.0)
            failed = await providers.start_new(settings("de"))
            assert str(failed["tts"]) == "espeak: no readiness within 0 s"
        assert await providers.start_new(settings("de")) == {}
        loaders = providers.pool.loaders()
        assert loaders[-1].ready
        providers.replace(settings("de"))
        assert providers.pool.loaders() == loaders, "what was started is what is in use"
    finally:
        await providers.close()
