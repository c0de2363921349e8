"""The agent ``fallback``, a list of models: its options and shared state. Cheap to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from vixio.core.errors import ConfigError
from vixio.providers import registry
from vixio.providers.entry import ProviderEntry
from vixio.providers.fallback.availability import Place
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.making import Chosen
from vixio.providers.fallback.time_shares import MIN_SECONDS, TimeLimit
from vixio.providers.openai_agent.backend import SharedModelBackend
from vixio.providers.openai_agent.settings import Seconds, TurnSettings
from vixio.providers.registry import ProviderFactory, ProviderKind

if TYPE_CHECKING:
    from vixio.providers.openai_agent.models import ListedModel, SharedModel

NAME = "fallback"

_OF_THE_TURN = ("max_tool_rounds", "turn_timeout")
"""Options of the turn, in which several models may take part."""


class ModelEntry(ProviderEntry):
    """One model of the list."""

    kind = ProviderKind.AGENT
    example = "an agent such as openai"

    options: SerializeAsAny[TurnSettings]
    replicas: tuple[SerializeAsAny[TurnSettings], ...] = ()

    @classmethod
    def check(cls, name: str, factory: ProviderFactory[Any, Any]) -> None:
        """Refuse a list within the list, and agents that are no models."""
        if name == NAME:
            raise ValueError("a fallback list cannot contain another one: list its models here")
        if not issubclass(factory.settings_model, TurnSettings):
            raise ValueError(f"the agent {name} is not a model and cannot be in a fallback list")  # noqa: TRY004 - pydantic explains a ValueError

    @model_validator(mode="after")
    def _leaves_the_turn_alone(self) -> Self:
        for key in _OF_THE_TURN:
            if key in self.options.model_fields_set:
                raise ValueError(f"{key} applies to all models together: put it beside `models`")
        return self

    def limit(self) -> TimeLimit:
        """Return its time limit for the first token."""
        fixed = "first_token_timeout" in self.options.model_fields_set
        return TimeLimit(self.options.first_token_timeout, fixed)

    def retries(self, *, last: bool) -> int:
        """Return its number of retries; by default only the last model is retried."""
        return self.options.retries if last or "retries" in self.options.model_fields_set else 0


class FallbackAgentSettings(BaseModel):
    """Options of a list of models, which are asked in this order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[ModelEntry, ...]
    max_tool_rounds: int = Field(
        default=8, ge=2, description="Model calls of one turn; the last has to answer in words"
    )
    first_token_timeout: Seconds = Field(
        default=15.0, description="Until one of the models begins to answer, for all together"
    )
    turn_timeout: Seconds = Field(
        default=45.0,
        description="Of waiting for all model calls of one turn, not while words come steadily",
    )
    pause: Seconds = Field(
        default=5.0, description="For which a model that failed is passed over at first"
    )
    longest_pause: Seconds = Field(
        default=300.0, description="To which that doubles with each failure"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.models:
            raise ValueError("models: at least one model is needed")
        limits = [entry.limit() for entry in self.models]
        least = sum(limit.seconds if limit.fixed else MIN_SECONDS for limit in limits)
        if least > self.first_token_timeout:
            raise ValueError(
                f"first_token_timeout ({self.first_token_timeout:g} s) is for all models together, "
                f"and theirs need {least:g} s"
            )
        if self.pause > self.longest_pause:
            raise ValueError("pause must not be above longest_pause")
        return self


@dataclass(frozen=True, slots=True)
class _Listed:
    """A model on one server, and how it takes part in a list."""

    backend: SharedModelBackend
    limit: TimeLimit
    retries: int
    place: Place

    def make(self) -> ListedModel:
        """Make the model, in a thread. Raises ProviderUnavailable."""
        from vixio.providers.openai_agent.models import ListedModel

        return ListedModel(self.backend.make_model(), self.limit, self.retries, self.place)


class _ListBackend(SharedModelBackend):
    """Several models behind one agent; their health is shared by all sessions."""

    def __init__(
        self, name: str, turn: TurnSettings, listed: Sequence[_Listed], breaker: BreakerSettings
    ) -> None:
        super().__init__(name, turn)
        self._listed = listed
        self._breaker = breaker

    def make_model(self) -> SharedModel:
        """Make all models."""
        from vixio.providers.openai_agent.models import fallback_model

        made = [each.make() for each in self._listed]
        return fallback_model(made, self.settings.first_token_timeout, self._breaker)

    def stats(self) -> list[dict[str, Any]]:
        """Return the state of each model, in order; none before the start."""
        from vixio.providers.openai_agent.fallback_model import FallbackModel

        model = self.loaded.model if self.loaded is not None else None
        return model.stats() if isinstance(model, FallbackModel) else []


class FallbackAgentBackend(_ListBackend):
    """Models in an order: where one fails, the next one answers."""

    def __init__(self, settings: FallbackAgentSettings, name: str = NAME) -> None:
        """Raises ProviderUnavailable if a model's key or package is missing."""
        turn = TurnSettings(
            max_tool_rounds=settings.max_tool_rounds,
            first_token_timeout=settings.first_token_timeout,
            turn_timeout=settings.turn_timeout,
        )
        last = len(settings.models) - 1
        listed = [
            # The next model answers sooner than the same one after a pause.
            _Listed(
                _backend(entry.name, options),
                entry.limit(),
                entry.retries(last=number == last and not server),
                Place(number, server),
            )
            for number, entry in enumerate(settings.models)
            for options, server in Chosen(entry.name, entry.each_options()).each(entry.kind)
        ]
        super().__init__(
            name, turn, listed, BreakerSettings(settings.pause, settings.longest_pause)
        )


class ReplicatedAgentBackend(_ListBackend):
    """One model on several servers, which share the work."""

    def __init__(self, name: str, each: Sequence[tuple[TurnSettings, str]]) -> None:
        """``each``: the options for each server, with its address.

        Raises ProviderUnavailable if its key or package is missing.
        """
        turn = each[0][0]
        listed = [
            _Listed(
                _backend(name, options),
                TimeLimit(turn.first_token_timeout),
                options.retries,
                Place(0, server),
            )
            for options, server in each
        ]
        super().__init__(name, turn, listed, BreakerSettings())


def _backend(name: str, options: BaseModel) -> SharedModelBackend:
    made = registry.resolve(ProviderKind.AGENT, name).create(options)
    if not isinstance(made, SharedModelBackend):
        raise ConfigError(f"agent.models: {name} is not a model and cannot be in a fallback list")
    return made


FALLBACK_FACTORY = ProviderFactory(FallbackAgentSettings, FallbackAgentBackend)
