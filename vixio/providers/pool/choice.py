"""What a provider is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from vixio.providers.registry import ProviderKind


class Startable(Protocol):
    """What the providers of all kinds have in common."""

    name: str

    async def start(self) -> None: ...
    async def close(self) -> None: ...


P = TypeVar("P", bound=Startable)
P_co = TypeVar("P_co", bound=Startable, covariant=True)


class ProviderChoice(Protocol[P_co]):
    """A provider and its options. Hashable; equal choices share one provider.

    The sections of the settings are choices (``vixio.settings.provider``).
    """

    @property
    def kind(self) -> ProviderKind:
        """The interface that the provider implements."""
        ...

    @property
    def name(self) -> str:
        """The provider's registered name."""
        ...

    def create(self) -> P_co:
        """Make the provider, quickly and unstarted. Raises ProviderUnavailable, ConfigError."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class MadeProvider(Generic[P]):
    """The choice of a provider that exists already. Choices of the same object are equal."""

    kind: ProviderKind
    provider: P

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MadeProvider)
            and self.kind is other.kind
            and self.provider is other.provider
        )

    def __hash__(self) -> int:
        return hash((self.kind, id(self.provider)))

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name

    def create(self) -> P:
        """Return the provider."""
        return self.provider
