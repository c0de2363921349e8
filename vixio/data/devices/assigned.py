"""What the registry says of how a device is served: its profile, its name, its person."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vixio.core.errors import ConfigError
from vixio.core.roles import Roles
from vixio.data.devices.records import UNKNOWN, Standing
from vixio.data.devices.registry_cache import RegistrySnapshot
from vixio.settings import Settings
from vixio.settings.devices import DeviceSection
from vixio.settings.profile import device_section, stored_section

MAX_KEPT: Final = 10_000
"""Sections that are kept, those of profiles and those of names."""

_log = logging.getLogger(__name__)


class AssignedProfiles:
    """Sections as the settings file has them for a device. Equal ones are one object."""

    def __init__(self, settings: Settings, known: RegistrySnapshot) -> None:
        self._settings = settings
        self._known = known
        self._sections: dict[str, DeviceSection | None] = {}

    def drafted(self, device_id: str, content: Mapping[str, Any]) -> Sequence[DeviceSection]:
        """Return the sections of a device as if ``content`` were its profile, which is not kept.

        Raises ConfigError.
        """
        section = stored_section(self._settings, content, os.environ)
        names = self._names(self._known.standings.get(device_id, UNKNOWN))
        return [section, *([device_section(self._settings, names)] if names else [])]

    def __call__(self, device_id: str) -> Sequence[DeviceSection]:
        """Return the sections of a device, the stronger ones last."""
        standing = self._known.standings.get(device_id, UNKNOWN)
        sections = []
        if (content := self._known.profiles.get(standing.profile)) is not None:
            sections.append(self._section(content, standing.profile))
        if names := self._names(standing):
            sections.append(self._section(names))
        return [section for section in sections if section is not None]

    def person(self, device_id: str) -> str:
        """Return the id of the person that a device belongs to; empty: nobody."""
        person = self._known.standings.get(device_id, UNKNOWN).person
        return person if person in self._known.people else ""

    def role(self, device_id: str, roles: Roles | None) -> tuple[str, DeviceSection] | None:
        """Return the role of a device and its section; None: it has none, or may not have it."""
        role = self._known.standings.get(device_id, UNKNOWN).role
        if not role or roles is None or role not in roles:
            return None
        content = self._known.profiles.get(role)
        section = self._section(content, role) if content is not None else None
        return (role, section) if section is not None else None

    def profile(self, device_id: str) -> str:
        """Return the name of a device's profile; empty: it has none."""
        profile = self._known.standings.get(device_id, UNKNOWN).profile
        return profile if profile in self._known.profiles else ""

    def _names(self, standing: Standing) -> dict[str, str]:
        user = self._known.people.get(standing.person, "")
        names = {"name": standing.name, "place": standing.place, "user": user}
        return {key: name for key, name in names.items() if name}

    def _section(self, content: Mapping[str, Any], profile: str = "") -> DeviceSection | None:
        """Return a section; None for one that the settings no longer fit, which is logged.

        Without ``profile`` it holds names, which are no place for the environment's variables.
        """
        key = f"{bool(profile)} {json.dumps(content, sort_keys=True)}"
        if key not in self._sections:
            if len(self._sections) >= MAX_KEPT:
                self._sections.clear()
            try:
                self._sections[key] = (
                    stored_section(self._settings, content, os.environ)
                    if profile
                    else device_section(self._settings, content)
                )
            except ConfigError as error:
                self._sections[key] = None
                fields = {"profile": profile, "reason": str(error)}
                _log.error("ignoring an invalid stored profile", extra=fields)
        return self._sections[key]
