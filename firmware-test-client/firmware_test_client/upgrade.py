"""The download and installation of a firmware, as Ota::Upgrade in main/ota.cc does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from firmware_test_client.chips import APP_BYTES
from firmware_test_client.config import DeviceConfig
from firmware_test_client.flash import App
from firmware_test_client.image import DESCRIPTOR_END, IMAGE_MAGIC, ImageError, read_image
from firmware_test_client.web import Download, RequestError, download

_PAGE: Final = 4096  # bytes read and written at a time


@dataclass(slots=True)
class Upgrade:
    """One attempt to install a firmware. `wait_for` sees every change of it."""

    url: str
    version: str  # as offered; empty for `self.upgrade_firmware`
    size: int = 0  # bytes, the Content-Length; 0 until it is known
    received: int = 0  # bytes
    error: str | None = None  # why it failed, as the firmware logs it
    app: App | None = None  # what was installed

    @property
    def progress(self) -> int:
        """Percent, as shown on the screen."""
        return self.received * 100 // self.size if self.size else 0

    @property
    def ended(self) -> bool:
        """Installed, or failed."""
        return self.error is not None or self.app is not None


class UpgradeError(Exception):
    """The firmware was not installed."""


async def fetch_firmware(
    config: DeviceConfig, upgrade: Upgrade, changed: Callable[[], None]
) -> App:
    """Download an image and verify it. `changed` is called after every page of 4,096 bytes.

    Raises:
        UpgradeError: with the reason that the firmware logs.
    """
    try:
        async with download(upgrade.url, timeout=config.http_timeout) as body:
            if body.status != 200:
                raise UpgradeError(f"Failed to get firmware, status code: {body.status}")
            upgrade.size = body.size
            if not upgrade.size:
                raise UpgradeError("Failed to get content length")
            image = await _write(config, upgrade, body, changed)
    except RequestError as error:
        raise UpgradeError(f"Failed to read HTTP data: {error}") from error
    try:
        return read_image(image, chip=config.chip)
    except ImageError as error:
        raise UpgradeError(f"Image validation failed, image is corrupted: {error}") from error


async def _write(
    config: DeviceConfig, upgrade: Upgrade, body: Download, changed: Callable[[], None]
) -> bytes:
    """The image in the slot. esp_ota_begin comes with the end of the descriptor."""
    image = bytearray()
    begun = False
    while page := await body.read(min(_PAGE, upgrade.size - len(image))):
        image += page
        if not begun and len(image) >= DESCRIPTOR_END:
            begun = True
            if config.flash.state == "pending":
                raise UpgradeError(
                    "Failed to begin OTA: the running firmware is not confirmed yet "
                    "(ESP_ERR_OTA_ROLLBACK_INVALID_STATE)"
                )
        if image[0] != IMAGE_MAGIC:
            raise UpgradeError(
                "Failed to write OTA data: OTA image has invalid magic byte "
                f"(expected 0x{IMAGE_MAGIC:02X}, saw 0x{image[0]:02x})"
            )
        if len(image) > APP_BYTES:
            raise UpgradeError("Failed to write OTA data: larger than the slot")
        upgrade.received = len(image)
        changed()
    if len(image) < upgrade.size:
        text = f"Failed to read HTTP data: closed after {len(image)} of {upgrade.size} bytes"
        raise UpgradeError(text)
    if not begun:
        raise UpgradeError(f"Failed to write OTA data: {len(image)} bytes are no image")
    return bytes(image)
