"""Plug-ins: objects that Vixio or another installed distribution offers under a name.

A distribution publishes a plug-in by an entry point, ``name = "module:attribute"``, in the group of
its kind. Importing that module must be cheap: it happens while the settings are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from vixio.core.errors import ConfigError, PluginUnavailable
from vixio.core.extras import Extra, how_to_install, how_to_repair

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """Where a plug-in is: ``module:attribute``.

    ``extra``: of Vixio, with the packages that its module needs. ``owner``: its distribution.
    """

    location: str
    extra: Extra | None = None
    owner: str = "vixio"

    def remedy(self) -> str:
        """Return the command that installs what its module needs."""
        if self.owner != "vixio":
            return f"pip install --upgrade {self.owner}"
        return how_to_repair() if self.extra is None else how_to_install(self.extra)


class PluginGroup(Generic[T]):
    """The plug-ins of one entry-point group. Other distributions cannot take built-in names."""

    def __init__(
        self,
        group: str,
        kind: str,
        expected: type[T],
        builtin: Mapping[str, Plugin],
        prefix: str = "",
    ) -> None:
        """``kind`` names a plug-in in messages: "tool source". ``expected``: its class.

        ``prefix``: of the entry points, where a group has several kinds: "tts." of "tts.acme".
        """
        self.group = group
        self.builtin = builtin
        self._prefix = prefix
        self._kind = kind
        self._expected = expected

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self.builtin, *self._installed()})

    def load(self, name: str) -> T:
        """Import and return the plug-in ``name``.

        Raises ConfigError for an unknown or ambiguous name and for an object of another class,
        PluginUnavailable when its module cannot be imported.
        """
        plugin = self._find(name)
        module, _, attribute = plugin.location.partition(":")
        try:
            found: Any = import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except ImportError as error:
            raise PluginUnavailable(
                f"{error}; to install what it needs: {plugin.remedy()}"
            ) from error
        except AttributeError as error:
            raise ConfigError(f"{self._kind} {name}: {plugin.location} does not exist") from error
        if not isinstance(found, self._expected):
            expected = self._expected.__name__
            raise ConfigError(f"{self._kind} {name}: {plugin.location} is not a {expected}")
        return found

    def _find(self, name: str) -> Plugin:
        if name in self.builtin:
            return self.builtin[name]
        plugins = self._installed().get(name)
        if plugins is None:
            raise ConfigError(self._unknown(name))
        if len(plugins) > 1:
            owners = ", ".join(sorted(plugin.owner for plugin in plugins))
            raise ConfigError(
                f"{owners} all bring a {self._kind} {name}: uninstall all but one of them"
            )
        return plugins[0]

    def _installed(self) -> dict[str, list[Plugin]]:
        """Return those of entry points by name; several where distributions use one name."""
        found: dict[str, list[Plugin]] = {}
        for point in installed(self.group):
            if point.name.startswith(self._prefix):
                name = point.name.removeprefix(self._prefix)
                found.setdefault(name, []).append(Plugin(point.value, owner=_owner(point)))
        return found

    def _unknown(self, name: str) -> str:
        known = self.names()
        message = f"there is no {self._kind} {name!r}"
        if close := get_close_matches(name.lower(), known, n=1):
            message += f", did you mean {close[0]!r}?"
        return f"{message} (known: {', '.join(known) or 'none'}; packages can add others)"


def _owner(point: EntryPoint) -> str:
    """Return the name of an entry point's distribution."""
    return point.dist.name if point.dist is not None else point.value.partition(".")[0]


@cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """Read once: it opens the metadata of every installed distribution."""
    return tuple(entry_points(group=group))
