"""The section ``devices``: what differs for single devices, by id or pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from vixio.core.device import normalise_device_pattern
from vixio.providers.faults import fault
from vixio.settings.conversation import IdleSeconds, Phrase, TurnsADay, WakeReply
from vixio.settings.provider import (
    AgentSection,
    ASRSection,
    ProviderSection,
    TTSSection,
    VADSection,
)
from vixio.settings.sections import (
    AssistantSettings,
    InstructionsText,
    LanguageTag,
    Section,
    TimeoutSettings,
)

PROVIDERS = ("vad", "asr", "agent", "tts")
"""The keys of a device that choose a provider, and the server's sections of the same names."""

Pattern = Annotated[str, Field(min_length=1)]


class DeviceToolsSection(Section):
    """What a device may use of the tools; the section ``tools`` applies besides."""

    allow: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    confirm: tuple[Pattern, ...] = ()


class DeviceSection(Section):
    """What differs for a device. A key that is not given is as for all devices."""

    name: str = ""
    """What the device is called."""
    place: str = ""
    """Instead of ``assistant.place``, as each key below instead of the one of its name."""
    user: str = ""
    language: LanguageTag | None = None
    instructions: InstructionsText | None = None
    wake_reply: WakeReply | None = None
    idle_timeout: IdleSeconds | None = None
    exit_phrases: tuple[Phrase, ...] | None = None
    daily_turns: TurnsADay | None = None
    vad: VADSection | None = None
    """A section without ``name`` changes single options of the server's section."""
    asr: ASRSection | None = None
    agent: AgentSection | None = None
    tts: TTSSection | None = None
    tools: DeviceToolsSection = DeviceToolsSection()

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the fields ``names`` that are in the file and not null."""
        return {
            name: value
            for name in names
            if name in self.model_fields_set and (value := getattr(self, name)) is not None
        }

    def providers(self) -> Iterator[tuple[str, ProviderSection]]:
        """Return the provider sections of the device, by key."""
        yield from self.given(*PROVIDERS).items()

    def within(self, timeouts: TimeoutSettings) -> DeviceSection:
        """Return the section with its providers' limits below those of the server."""
        changed: dict[str, ProviderSection] = {}
        for key, section in self.providers():
            try:
                changed[key] = section.within(timeouts)
            except ValueError as error:
                raise fault(str(error), key) from None
        return self.model_copy(update=changed)


_OF_ALL: Final = {
    key: name
    for key in DeviceSection.model_fields
    if (name := {"user": "user_name"}.get(key, key)) in AssistantSettings.model_fields
}
"""The keys of a device that are a setting of the assistant too, and the names of that."""


def of_all(assistant: AssistantSettings) -> dict[str, Any]:
    """Return what holds for all devices, by the keys of a device."""
    return {key: getattr(assistant, name) for key, name in _OF_ALL.items()}


def to_profile(section: DeviceSection) -> dict[str, Any]:
    """Return the fields of a profile that a section gives, but for the tools."""
    return fields_of_profile(section.given("name", *_OF_ALL, *PROVIDERS))


def fields_of_profile(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the names of a profile's fields; ``values``: by the keys of a device."""
    return {"wake_greeting" if key == "wake_reply" else key: each for key, each in values.items()}


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
