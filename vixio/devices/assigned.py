"""What the registry says of how a device is served: its profile and its name."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vixio.core.errors import ConfigError
from vixio.devices.news import Known
from vixio.devices.records import UNKNOWN
from vixio.settings import Settings
from vixio.settings.devices import DeviceSection
from vixio.settings.profile import stored_section

MAX_KEPT: Final = 10_000
"""Sections that are kept, a profile's and those of the names."""

_log = logging.getLogger(__name__)


class AssignedProfiles:
    """Sections as the settings file has them for a device. Equal ones are one object."""

    def __init__(self, settings: Settings, known: Known) -> None:
        self._settings = settings
        self._known = known
        self._sections: dict[str, DeviceSection | None] = {}

    def __call__(self, device_id: str) -> Sequence[DeviceSection]:
        """Return the sections of a device, the stronger ones last."""
        standing = self._known.standings.get(device_id, UNKNOWN)
        contents: list[Mapping[str, Any]] = []
        if standing.profile in self._known.profiles:
            contents.append(self._known.profiles[standing.profile])
        if standing.name:
            contents.append({"name": standing.name})
        sections = (self._section(content, standing.profile) for content in contents)
        return [section for section in sections if section is not None]

    def _section(self, content: Mapping[str, Any], profile: str) -> DeviceSection | None:
        """Return a section; None for one that the settings no longer fit, which is logged."""
        key = json.dumps(content, sort_keys=True)
        if key not in self._sections:
            if len(self._sections) >= MAX_KEPT:
                self._sections.clear()
            try:
                self._sections[key] = stored_section(self._settings, content, os.environ)
            except ConfigError as error:
                self._sections[key] = None
                fields = {"profile": profile, "reason": str(error)}
                _log.error("invalid profile of the registry, it is left out", extra=fields)
        return self._sections[key]
