"""The interfaces of models. Each is used by one thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from vixio.providers.asr import Recognition

RequestT = TypeVar("RequestT")
"""What a vendor's model is told about an utterance besides its audio."""


class OfflineModel(ABC, Generic[RequestT]):
    """Decodes whole utterances."""

    batched: bool = False
    """Whether one call decodes several utterances faster than one call for each."""

    @abstractmethod
    def decode(self, utterances: Sequence[tuple[bytes, RequestT]]) -> list[Recognition]:
        """Return the words of each of ``utterances``: 16 kHz PCM, and its request."""


class OnlineModel(ABC, Generic[RequestT]):
    """Decodes utterances while the user speaks. A state belongs to one utterance."""

    batched: bool = False
    """Whether one step may be of several utterances."""

    @abstractmethod
    def open(self, request: RequestT) -> Any:  # noqa: ANN401 - of the vendor's library
        """Return the state of a new utterance."""

    @abstractmethod
    def accept(self, state: Any, pcm: bytes) -> None:  # noqa: ANN401 - as above
        """Add 16 kHz PCM to an utterance."""

    @abstractmethod
    def end(self, state: Any) -> None:  # noqa: ANN401 - as above
        """Mark the end of an utterance."""

    @abstractmethod
    def ready(self, state: Any) -> bool:  # noqa: ANN401 - as above
        """Return whether there is enough audio for a step."""

    @abstractmethod
    def step(self, states: Sequence[Any]) -> None:
        """Decode one step of each of ``states``, which must all be ready."""

    @abstractmethod
    def text(self, state: Any) -> str:  # noqa: ANN401 - as above
        """Return the words so far."""
