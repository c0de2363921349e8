"""What the API does with the content of a profile that is not saved. Cheap to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from vixio.core.device import TRIAL_PREFIX

DEVICE_TRIAL: Final = "api.trial"
"""The command to a device's session, with ``action`` (one of the following) and ``content``."""

START: Final = "start"
END: Final = "end"
SHOW: Final = "show"

ASK: Final = "trial.ask"
"""The command to a trial in writing, with ``text``."""

CLOSE: Final = "trial.close"


class TooManyTrials(Exception):
    """This process has as many trials as it may."""


def trial_key(trial: str) -> str:
    """Return the key of the lease of a trial in writing."""
    return f"{TRIAL_PREFIX}{trial}"


class ProfileDrafts(Protocol):
    """Checks, describes and tries contents of profiles."""

    def check(self, content: Mapping[str, Any]) -> None:
        """Raise ConfigError for a content that the settings refuse. May block."""
        ...

    def mistakes(self, content: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """Return all that is wrong with a content: paths and messages. May block."""
        ...

    def form(self) -> Mapping[str, Any]:
        """Return the schema of contents and what a form can offer. May block."""
        ...

    def shareable(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return a content as it may be given to others: without what may be a secret."""
        ...

    async def voices(self, provider: str, language: str) -> Sequence[Mapping[str, Any]]:
        """Return the voices of a provider, of all configured ones if it is empty.

        Raises ConfigError, ProviderError.
        """
        ...

    async def sample(self, tts: Any, language: str, text: str) -> bytes:  # noqa: ANN401 - JSON
        """Return a WAV file in which a voice speaks. Raises ConfigError, ProviderError."""
        ...

    async def open_trial(self, content: Mapping[str, Any]) -> tuple[str, int]:
        """Open a conversation in writing; return its id and when it expires without a question.

        Raises ConfigError, ProviderError, ClusterUnavailable, TooManyTrials.
        """
        ...

    async def close(self) -> None:
        """Close all trials. Idempotent."""
        ...
