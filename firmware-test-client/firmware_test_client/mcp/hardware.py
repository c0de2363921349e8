"""The parts of the device that its tools act upon, and the firmware's common tools.

Source: McpServer::AddCommonTools and AddUserOnlyTools in main/mcp_server.cc, and
WifiBoard::GetDeviceStatusJson in main/boards/common/wifi_board.cc.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from firmware_test_client.mcp.photo import PHOTO
from firmware_test_client.mcp.preview import fetch_picture
from firmware_test_client.mcp.properties import Property
from firmware_test_client.mcp.tool import Tool, dumps

FETCH_TIMEOUT = 10.0  # seconds for each step

Photograph = Callable[[str], Awaitable[str]]
"""Takes the question, sends the photo, returns the vision service's answer."""

Snapshot = Callable[[str, int], Awaitable[bool]]
"""Takes the URL and the quality, and posts the screen's picture there."""


@dataclass(slots=True)
class Hardware:
    """The state that the tools read and change."""

    volume: int = 70  # 0..100
    brightness: int = 75  # 0..100
    theme: str = "light"
    battery: int = 85  # percent
    charging: bool = False
    ssid: str = "simulated"
    photo: bytes = PHOTO  # the camera sends it unchanged
    screenshot: bytes = PHOTO  # what the screen's picture is
    preview: bytes = b""  # the picture that the screen was told to show
    reboots: int = 0
    on_reboot: Callable[[], None] = field(default=lambda: None)
    upgrade_urls: list[str] = field(default_factory=list)
    on_upgrade: Callable[[str], None] = field(default=lambda _: None)
    assets_url: str = ""

    def set_volume(self, volume: int) -> bool:
        self.volume = volume
        return True

    def set_brightness(self, brightness: int) -> bool:
        self.brightness = brightness
        return True

    def set_theme(self, theme: str) -> bool:
        """Return False for an unknown theme, which is not an error."""
        if theme not in ("light", "dark"):
            return False
        self.theme = theme
        return True

    def reboot(self) -> bool:
        self.reboots += 1
        self.on_reboot()
        return True

    def upgrade(self, url: str) -> bool:
        self.upgrade_urls.append(url)
        self.on_upgrade(url)
        return True

    def set_assets_url(self, url: str) -> bool:
        self.assets_url = url
        return True

    async def show_picture(self, url: str) -> bool:
        self.preview = await fetch_picture(url, FETCH_TIMEOUT)
        return True

    def status(self) -> str:
        """WifiBoard::GetDeviceStatusJson."""
        return dumps(
            {
                "audio_speaker": {"volume": self.volume},
                "screen": {"brightness": self.brightness, "theme": self.theme},
                "battery": {"level": self.battery, "charging": self.charging},
                "network": {"type": "wifi", "ssid": self.ssid, "signal": "strong"},
            }
        )


def common_tools(hardware: Hardware, photograph: Photograph | None) -> list[Tool]:
    """The common tools in the firmware's order; the camera's only if there is one."""
    tools = [
        Tool(
            "self.get_device_status",
            "Provides the real-time information of the device, including the current status of the "
            "audio speaker, screen, battery, network, etc.\n"
            "Use this tool for: \n"
            "1. Answering questions about current condition (e.g. what is the current volume of "
            "the audio speaker?)\n"
            "2. As the first step to control the device (e.g. turn up / down the volume of the "
            "audio speaker, etc.)",
            (),
            hardware.status,
        ),
        Tool(
            "self.audio_speaker.set_volume",
            "Set the volume of the audio speaker. If the current volume is unknown, you must call "
            "`self.get_device_status` tool first and then call this tool.",
            (Property("volume", "integer", minimum=0, maximum=100),),
            hardware.set_volume,
        ),
        Tool(
            "self.screen.set_brightness",
            "Set the brightness of the screen.",
            (Property("brightness", "integer", minimum=0, maximum=100),),
            hardware.set_brightness,
        ),
        Tool(
            "self.screen.set_theme",
            "Set the theme of the screen. The theme can be `light` or `dark`.",
            (Property("theme", "string"),),
            hardware.set_theme,
        ),
    ]
    if photograph is not None:
        tools.append(
            Tool(
                "self.camera.take_photo",
                "Always remember you have a camera. If the user asks you to see something, use "
                "this tool to take a photo and then explain it.\n"
                "Args:\n"
                "  `question`: The question that you want to ask about the photo.\n"
                "Return:\n"
                "  A JSON object that provides the photo information.",
                (Property("question", "string"),),
                photograph,
            )
        )
    return tools


def user_only_tools(
    hardware: Hardware, system_info: Callable[[], str], snapshot: Snapshot
) -> list[Tool]:
    """The tools that are listed only with `withUserTools` (AddUserOnlyTools)."""
    return [
        Tool(
            "self.get_system_info",
            "Get the system information",
            (),
            system_info,
            user_only=True,
        ),
        Tool("self.reboot", "Reboot the system", (), hardware.reboot, user_only=True),
        Tool(
            "self.upgrade_firmware",
            "Upgrade firmware from a specific URL. This will download and install the firmware, "
            "then reboot the device.",
            # The firmware passes this sentence as the default value, so it is listed as one.
            (
                Property(
                    "url",
                    "string",
                    default="The URL of the firmware binary file to download and install",
                ),
            ),
            hardware.upgrade,
            user_only=True,
        ),
        Tool(
            "self.screen.get_info",
            "Information about the screen, including width, height, etc.",
            (),
            lambda: {"width": 320, "height": 240, "monochrome": False},
            user_only=True,
        ),
        Tool(
            "self.screen.snapshot",
            "Snapshot the screen and upload it to a specific URL",
            (
                Property("url", "string"),
                Property("quality", "integer", default=80, minimum=1, maximum=100),
            ),
            snapshot,
            user_only=True,
        ),
        Tool(
            "self.screen.preview_image",
            "Preview an image on the screen",
            (Property("url", "string"),),
            hardware.show_picture,
            user_only=True,
        ),
        Tool(
            "self.assets.set_download_url",
            "Set the download url for the assets",
            (Property("url", "string"),),
            hardware.set_assets_url,
            user_only=True,
        ),
    ]
