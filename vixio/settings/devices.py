"""The section ``devices``: what differs for single devices, by id or pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from vixio.core.device import normalise_device_pattern
from vixio.providers.faults import fault
from vixio.settings.assistant import PROFILE_KEYS, ForOneDevice
from vixio.settings.provider import (
    AgentSection,
    ASRSection,
    ProviderSection,
    TTSSection,
    VADSection,
)
from vixio.settings.sections import Section, TimeoutSettings

PROVIDERS = ("vad", "asr", "agent", "tts")
"""The keys of a device that choose a provider, and the server's sections of the same names."""

Pattern = Annotated[str, Field(min_length=1)]


class DeviceToolsSection(Section):
    """What a device may use of the tools; the section ``tools`` applies besides."""

    allow: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    confirm: tuple[Pattern, ...] = ()


class DeviceSection(ForOneDevice):
    """What differs for a device. A key that is not given is as for all devices."""

    name: str = ""
    """What the device is called."""
    vad: VADSection | None = None
    """A section without ``name`` changes single options of the server's section."""
    asr: ASRSection | None = None
    agent: AgentSection | None = None
    tts: TTSSection | None = None
    tools: DeviceToolsSection = DeviceToolsSection()

    def _given(self, key: str) -> Any:  # noqa: ANN401 - of any field
        """Return the value of a key that is in the file; None if it is not."""
        return getattr(self, key) if key in self.model_fields_set else None

    def of_profile(self) -> dict[str, Any]:
        """Return the fields of a profile that the section gives, but for the tools."""
        keys = {each.field: each.key for each in PROFILE_KEYS} | {
            key: key for key in ("name", *PROVIDERS)
        }
        found = {field: self._given(key) for field, key in keys.items()}
        return {field: value for field, value in found.items() if value is not None}

    def providers(self) -> Iterator[tuple[str, ProviderSection]]:
        """Return the provider sections of the device, by key."""
        for kind in PROVIDERS:
            if (section := self._given(kind)) is not None:
                yield kind, section

    def within(self, timeouts: TimeoutSettings) -> DeviceSection:
        """Return the section with its providers' limits below those of the server."""
        changed: dict[str, ProviderSection] = {}
        for key, section in self.providers():
            try:
                changed[key] = section.within(timeouts)
            except ValueError as error:
                raise fault(str(error), key) from None
        return self.model_copy(update=changed)


def check_ids(value: object) -> object:
    """Raise ValueError when two keys mean the same device."""
    seen: dict[str, str] = {}
    for key in value if isinstance(value, Mapping) else ():
        pattern = normalise_device_pattern(str(key))
        if pattern in seen:
            raise fault(f"is the same device as {seen[pattern]!r}: keep one of them", str(key))
        seen[pattern] = str(key)
    return value


def inherit_providers(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return raw settings in which provider sections of devices are complete.

    A section without ``name`` gets the name and the other options of the server's section. Raises
    ValidationError where that is a list.
    """
    devices = settings.get("devices")
    if not isinstance(devices, Mapping):
        return dict(settings)
    completed = {key: _completed(key, device, settings) for key, device in devices.items()}
    return {**settings, "devices": completed}


def _completed(key: str, device: object, settings: Mapping[str, Any]) -> object:
    if not isinstance(device, Mapping):
        return {} if device is None else device
    sections: dict[str, Any] = {}
    for kind in PROVIDERS:
        own, general = device.get(kind), settings.get(kind)
        if not isinstance(own, Mapping) or "name" in own:
            continue
        if isinstance(general, list | tuple):
            raise fault(f"expected a name, since {kind} is a list", "devices", key, kind)
        if isinstance(general, Mapping):
            sections[kind] = {**general, **own}
    return {**device, **sections}
