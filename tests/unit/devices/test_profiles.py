"""The profile of a device, from the settings."""

from __future__ import annotations

from vixio.core.device import Device, ToolAccess
from vixio.devices.profiles import SettingsProfiles
from vixio.settings import Settings


def test_the_tools_of_a_device() -> None:
    settings = Settings.model_validate(
        {"tools": {"devices": {"CC:*": {"deny": ["self.lamp"]}, "cc:01": {"allow": ["get_*"]}}}}
    )
    profiles = SettingsProfiles(settings)
    assert profiles(Device("aa:bb")).tools == ToolAccess()
    assert profiles(Device("cc:02")).tools == ToolAccess(deny=("self.lamp",))
    assert profiles(Device("cc:01")).tools == ToolAccess(allow=("get_*",), deny=("self.lamp",))
