"""A provider within the options of another one: ``{name: …, option: value, …}``, as its section."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, SerializeAsAny, model_validator

from vixio.core.errors import ConfigError, ProviderUnavailable
from vixio.providers import registry
from vixio.providers.fallback.making import Chosen, make
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.providers.servers import read_options, write_options


class ProviderEntry(BaseModel):
    """The name of a provider of :attr:`kind`, and its options, which its own model validates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ClassVar[ProviderKind]
    example: ClassVar[str] = ""
    """What a missing name could be, for people."""

    name: str
    options: SerializeAsAny[BaseModel]
    replicas: tuple[SerializeAsAny[BaseModel], ...] = ()
    """Options for further servers, which share the work."""

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        name = value.get("name")
        if not isinstance(name, str):
            raise ValueError(f"name is missing: the name of {cls.example}")  # noqa: TRY004 - pydantic explains a ValueError
        name = registry.current_name(cls.kind, name)
        try:
            factory = registry.resolve(cls.kind, name)
        except (ConfigError, ProviderUnavailable) as error:
            raise ValueError(f"name: {error}") from error
        cls.check(name, factory)
        given = {key: option for key, option in value.items() if key != "name"}
        options, *replicas = read_options(factory, given)
        return {"name": name, "options": options, "replicas": replicas}

    @classmethod
    def check(cls, name: str, factory: ProviderFactory[Any, Any]) -> None:
        """Raise ValueError if the provider cannot stand here."""

    @classmethod
    def options_for(cls, value: object) -> type[BaseModel]:
        """Return the model of the options of the entry ``value``, if it is one.

        Raises ConfigError, ProviderUnavailable as the registry does.
        """
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            return cls
        return registry.resolve(cls.kind, name).settings_model

    def given(self) -> dict[str, Any]:
        """Return the entry as it stands in a file: the name, and the options that are set."""
        factory = registry.resolve(self.kind, self.name)
        return {"name": self.name, **write_options(factory, self.each_options())}

    def each_options(self) -> tuple[BaseModel, ...]:
        """Return the options once for each server."""
        return (self.options, *self.replicas)

    def within(self, seconds: float) -> Self:
        """Return the entry with the provider's own ``timeout``, if it has one, below ``seconds``.

        One that is set in the file is not changed.
        """
        own = getattr(self.options, "timeout", None)
        fixed = "timeout" in self.options.model_fields_set
        if fixed or not isinstance(own, int | float) or own <= seconds:
            return self
        options, *replicas = (
            each.model_copy(update={"timeout": seconds}) for each in self.each_options()
        )
        return self.model_copy(update={"options": options, "replicas": tuple(replicas)})

    def create(self) -> Any:  # noqa: ANN401 - the kind's interface, which the caller names
        """Make the provider, unstarted. Raises ConfigError, ProviderUnavailable."""
        return make(self.kind, [Chosen(self.name, self.each_options())])
