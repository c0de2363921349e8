"""Device profiles from the settings."""

from __future__ import annotations

from fnmatch import fnmatchcase

from vixio.core.device import Device, DeviceProfile, ToolAccess, normalise_device_id
from vixio.settings import Settings
from vixio.settings.sections import DeviceSettings


class SettingsProfiles:
    """The profiles that a settings file describes."""

    def __init__(self, settings: Settings) -> None:
        self._assistant = settings.assistant
        self._access = settings.tools.devices
        self._devices = {
            normalise_device_id(device_id): device
            for device_id, device in settings.assistant.devices.items()
        }

    def __call__(self, device: Device) -> DeviceProfile:
        """Return the profile of a device."""
        assistant, own = self._assistant, self._devices.get(device.id, DeviceSettings())
        accesses = [
            access
            for pattern, access in self._access.items()
            if fnmatchcase(device.id, normalise_device_id(pattern))
        ]
        return DeviceProfile(
            name=own.name,
            place=own.place or assistant.place,
            user=own.user or assistant.user_name,
            language=assistant.language,
            instructions=assistant.instructions,
            wake_greeting=assistant.wake_reply,
            tools=ToolAccess(
                allow=next((access.allow for access in reversed(accesses) if access.allow), ()),
                deny=tuple(pattern for access in accesses for pattern in access.deny),
            ),
        )
