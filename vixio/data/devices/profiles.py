"""Device profiles from the settings and the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from vixio.core.device import Device, DeviceProfile, ToolAccess
from vixio.data.devices.assigned import MAX_KEPT, AssignedProfiles
from vixio.data.devices.registry_cache import RegistrySnapshot
from vixio.settings import Settings
from vixio.settings.devices import DeviceSection

CLIENT = "client:"
"""In front of a pattern of client ids."""

_WILDCARDS = frozenset("*?[")


class SettingsProfiles:
    """The profiles that settings describe: what is for all devices, and over it what differs.

    Over all of that is the role that a device has taken, which does not change who and where it is.

    Of several sections that match a device, the later one applies, key by key; then what the
    registry says of it (``known``), and last the section of its whole id. ``deny`` and ``confirm``
    of tools add up, the last ``allow`` applies.
    """

    def __init__(self, settings: Settings, known: RegistrySnapshot | None = None) -> None:
        self._general = DeviceProfile(**settings.assistant.of_profile())
        self._ids: dict[str, DeviceSection] = {}
        self._patterns: list[tuple[str, DeviceSection]] = []
        for key, section in settings.devices.items():
            if is_pattern(key):
                self._patterns.append((key, section))
            else:
                self._ids[key] = section
        self._assigned = AssignedProfiles(settings, known or RegistrySnapshot())
        self._known: dict[
            tuple[str, str, tuple[int, ...]], tuple[DeviceProfile, list[DeviceSection]]
        ] = {}
        """By person, profile and the identities of the sections, which it therefore keeps alive."""

    def __call__(self, device: Device) -> DeviceProfile:
        """Return the profile of a device. Devices of a person with the same sections share one."""
        sections = [section for key, section in self._patterns if _matches(key, device)]
        sections += self._assigned(device.id)
        if (own := self._ids.get(device.id)) is not None:
            sections.append(own)
        person = self._assigned.person(device.id)
        assigned = self._assigned.profile(device.id)
        key = (person, assigned, tuple(map(id, sections)))
        if (found := self._known.get(key)) is not None:
            return self._in_role(device, found[0])
        if len(self._known) >= MAX_KEPT:
            self._known.clear()
        profile = self._over_all(person, assigned, sections)
        self._known[key] = (profile, sections)
        return self._in_role(device, profile)

    def _in_role(self, device: Device, profile: DeviceProfile) -> DeviceProfile:
        """Return ``profile`` under the role of its device. What it names may be taken, not what
        the role names: nobody gets further from one role to the next."""
        if (found := self._assigned.role(device.id, profile.roles)) is None:
            return profile
        role, section = found
        return replace(
            _over(profile, section),
            name=profile.name,
            place=profile.place,
            user=profile.user,
            roles=profile.roles,
            role=role,
        )

    def drafted(self, device: Device, content: Mapping[str, Any]) -> DeviceProfile:
        """Return the profile of a device as if the registry had ``content`` for it.

        Raises ConfigError.
        """
        sections = [section for key, section in self._patterns if _matches(key, device)]
        sections += self._assigned.drafted(device.id, content)
        if (own := self._ids.get(device.id)) is not None:
            sections.append(own)
        person, assigned = self._assigned.person(device.id), self._assigned.profile(device.id)
        return self._over_all(person, assigned, sections)

    def _over_all(
        self, person: str, assigned: str, sections: Sequence[DeviceSection]
    ) -> DeviceProfile:
        profile = replace(self._general, person=person, assigned=assigned)
        for section in sections:
            profile = _over(profile, section)
        return profile


def is_pattern(key: str) -> bool:
    """Whether a key of the section ``devices`` stands for more than one device."""
    return key.startswith(CLIENT) or not _WILDCARDS.isdisjoint(key)


def _matches(key: str, device: Device) -> bool:
    if key.startswith(CLIENT):
        return fnmatchcase(device.client_id.lower(), key.removeprefix(CLIENT))
    return fnmatchcase(device.id, key)


def _over(profile: DeviceProfile, section: DeviceSection) -> DeviceProfile:
    """Return ``profile`` with what ``section`` gives in its place."""
    tools = section.tools
    access = ToolAccess(
        allow=tools.allow if "allow" in tools.model_fields_set else profile.tools.allow,
        deny=(*profile.tools.deny, *tools.deny),
        confirm=(*profile.tools.confirm, *tools.confirm),
    )
    return replace(profile, **section.of_profile(), tools=access)
