"""Tool policies: the tools that a session may use, and their options.

Patterns have the wildcards of file names (``*``, ``?``, ``[…]``) and match a tool's name or
``source/name``: ``self.lamp.*``, ``weather/*``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from vixio.core.device import ToolAccess
from vixio.core.tools.types import ToolDefinition


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The policy of a server. ``access`` holds for all sessions.

    ``options``: pattern of tools → fields of :class:`~vixio.core.tools.types.ToolOptions`; of
    several that match, the later one wins, field by field.
    """

    access: ToolAccess = field(default_factory=ToolAccess)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def for_profile(self, access: ToolAccess) -> SessionPolicy:
        """Return the policy of a session, which ``access`` restricts further."""
        return SessionPolicy((self.access, access), self.options)


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """The policy of one session: a tool must be permitted by each of ``accesses``."""

    accesses: tuple[ToolAccess, ...]
    options: Mapping[str, Mapping[str, Any]]

    def __call__(self, tool: ToolDefinition) -> ToolDefinition | None:
        """Return ``tool`` with the options that apply to it; None: it must not be used."""
        if not self.permits(tool):
            return None
        changed: dict[str, Any] = {}
        for pattern, fields in self.options.items():
            if matches(tool, (pattern,)):
                changed |= fields
        if any(matches(tool, access.confirm) for access in self.accesses):
            changed["confirm"] = True  # last, so that no pattern takes the consent away
        if not changed:
            return tool
        return replace(tool, options=replace(tool.options, **changed))

    def permits(self, tool: ToolDefinition) -> bool:
        """Whether ``tool`` may be used."""
        return all(
            not matches(tool, access.deny) and (not access.allow or matches(tool, access.allow))
            for access in self.accesses
        )


def chosen(name: str, allow: Sequence[str], deny: Sequence[str]) -> bool:
    """Whether a source offers the tool that it calls ``name``. ``allow``: empty for all."""
    if any(fnmatchcase(name, pattern) for pattern in deny):
        return False
    return not allow or any(fnmatchcase(name, pattern) for pattern in allow)


def matches(tool: ToolDefinition, patterns: Sequence[str]) -> bool:
    """Whether one of ``patterns`` matches ``tool``."""
    if not patterns:
        return False
    whole = f"{tool.source}/{tool.name}"
    return any(
        fnmatchcase(tool.name, pattern) or fnmatchcase(whole, pattern) for pattern in patterns
    )
