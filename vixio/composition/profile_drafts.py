"""Checks and tries contents of profiles that are not saved, for the API."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from vixio.composition.conversations import Conversations
from vixio.composition.device_services import DeviceServices
from vixio.composition.profile_form import profile_form
from vixio.composition.text_trials import TextTrials
from vixio.composition.voice_samples import VoiceSamples
from vixio.core.cluster import Cluster
from vixio.core.errors import VixioError
from vixio.core.session.session import Session
from vixio.core.tools.types import JsonObject
from vixio.settings import Settings
from vixio.settings.profile import profile_mistakes, stored_section
from vixio.settings.shown import shareable
from vixio.web.api.drafts import END, START


class Drafts:
    """Implements :class:`~vixio.web.api.drafts.ProfileDrafts`."""

    def __init__(
        self, device_services: DeviceServices, conversations: Conversations, cluster: Cluster
    ) -> None:
        self._device_services = device_services
        samples = VoiceSamples(self._settings, conversations.pool)
        self.voices, self.sample = samples.voices, samples.sample
        self.trials = TextTrials(conversations, cluster, device_services.profiles.drafted)
        self.open_trial = self.trials.open
        self.shareable = shareable

    def check(self, content: Mapping[str, Any]) -> None:
        """Raise ConfigError for a content that the settings refuse. May block."""
        stored_section(self._settings(), content, os.environ)

    def mistakes(self, content: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """Return all that is wrong with a content: paths and messages. May block."""
        found = profile_mistakes(self._settings(), content, os.environ)
        return [(each.path, each.message) for each in found]

    def form(self) -> Mapping[str, Any]:
        """Return the schema of contents and what a form can offer. May block."""
        return profile_form(self._settings())

    async def on_device(self, session: Session, arguments: JsonObject) -> Any:  # noqa: ANN401 - JSON
        """Carry out the command :data:`~vixio.web.api.drafts.DEVICE_TRIAL`.

        Returns the content that the session tries out; null: none.
        """
        updates = self._device_services.updates
        if updates is None:
            raise VixioError("the server is starting, try again")
        match arguments["action"]:
            case action if action == START:
                updates.try_out(session, arguments["content"])
            case action if action == END:
                updates.end_trial(session)
        return updates.trial(session)

    async def close(self) -> None:
        """Close all trials. Idempotent."""
        await self.trials.close()

    def _settings(self) -> Settings:
        return self._device_services.profiles.defaults.settings
