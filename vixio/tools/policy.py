"""Which tools a device may use, and with which options: what the configuration says of them.

Patterns have the wildcards of file names (``*``, ``?``, ``[…]``) and are held against a tool's name
and against ``source/name``: ``self.lamp.*``, ``weather/*``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from vixio.core.tools.types import ToolDefinition


@dataclass(frozen=True, slots=True)
class Access:
    """What is offered: matched by ``allow`` (empty: everything) and not by ``deny``."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def permits(self, tool: ToolDefinition) -> bool:
        """May ``tool`` be used?"""
        if matches(tool, self.deny):
            return False
        return not self.allow or matches(tool, self.allow)


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """``access`` holds for all, ``devices`` (by a pattern of device ids) besides for some.

    ``options``: pattern of tools → fields of :class:`~vixio.core.tools.types.ToolOptions`; of
    several that match, the later one wins, field by field.
    """

    access: Access = Access()
    devices: Mapping[str, Access] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def for_device(self, device_id: str) -> DevicePolicy:
        """Return what holds for one device."""
        folded = device_id.lower()
        own = [
            access
            for pattern, access in self.devices.items()
            if fnmatchcase(folded, pattern.lower())
        ]
        return DevicePolicy((self.access, *own), self.options)


@dataclass(frozen=True, slots=True)
class DevicePolicy:
    """A policy as it holds for one device."""

    accesses: tuple[Access, ...]
    options: Mapping[str, Mapping[str, Any]]

    def __call__(self, tool: ToolDefinition) -> ToolDefinition | None:
        """Return ``tool`` with the options that hold for it; None: it must not be used."""
        if not self.permits(tool):
            return None
        changed: dict[str, Any] = {}
        for pattern, fields in self.options.items():
            if matches(tool, (pattern,)):
                changed |= fields
        if not changed:
            return tool
        return replace(tool, options=replace(tool.options, **changed))

    def permits(self, tool: ToolDefinition) -> bool:
        """May ``tool`` be used?"""
        return all(access.permits(tool) for access in self.accesses)


def matches(tool: ToolDefinition, patterns: Sequence[str]) -> bool:
    """Is ``tool`` meant by one of ``patterns``?"""
    if not patterns:
        return False
    whole = f"{tool.source}/{tool.name}"
    return any(
        fnmatchcase(tool.name, pattern) or fnmatchcase(whole, pattern) for pattern in patterns
    )
