"""What survives a restart of the device: non-volatile storage and the installed firmware.

Give the same `Flash` to the next `DeviceConfig` (or make that with `dataclasses.replace`) and it
is the same device's next boot. Follows main/settings.cc, and for the firmware's slots
components/app_update/esp_ota_ops.c of ESP-IDF.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from firmware_test_client.errors import OtaError
from firmware_test_client.mcp.properties import value_as_int

NVS_KEY_BYTES: Final = 15  # NVS_KEY_NAME_MAX_SIZE without its NUL (nvs.h)
NVS_STRING_BYTES: Final = 3999  # Page::CHUNK_MAX_SIZE, 4,000, without its NUL (nvs_page.hpp)

Slot = Literal["ota_0", "ota_1"]
ImageState = Literal["valid", "new", "pending"]
"""`pending`: booted once after its installation, not confirmed (ESP_OTA_IMG_PENDING_VERIFY)."""


@dataclass(slots=True, eq=False)
class Nvs:
    """The namespaces of the device's settings (Settings), by name."""

    namespaces: dict[str, dict[str, str | int]] = field(default_factory=dict)

    def string(self, namespace: str, key: str) -> str:
        """GetString; empty if there is no string of that key."""
        value = self.namespaces.get(namespace, {}).get(key)
        return value if isinstance(value, str) else ""

    def integer(self, namespace: str, key: str, default: int = 0) -> int:
        """GetInt; `default` if there is no number of that key."""
        value = self.namespaces.get(namespace, {}).get(key)
        return value if isinstance(value, int) else default

    def store(self, namespace: str, section: Mapping[str, object]) -> None:
        """Write each string and number of an OTA section, if it differs (Ota::CheckVersion).

        Other values are passed over. What comes before a value that aborts stays written.

        Raises:
            OtaError: a key or string is too long: ESP_ERROR_CHECK aborts, the device restarts.
        """
        for key, value in section.items():
            stored: str | int
            if isinstance(value, str):
                stored, differs = value, value != self.string(namespace, key)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                stored = value_as_int(value)
                differs = stored != self.integer(namespace, key)
            else:
                continue
            if differs:
                self._write(namespace, key, stored)

    def _write(self, namespace: str, key: str, value: str | int) -> None:
        where = f"key {key!r} of the section {namespace!r}"
        if len(key.encode()) > NVS_KEY_BYTES:
            raise OtaError(
                f"boot aborted: {where} is longer than {NVS_KEY_BYTES} bytes "
                "(ESP_ERR_NVS_KEY_TOO_LONG)"
            )
        if isinstance(value, str) and len(value.encode()) > NVS_STRING_BYTES:
            raise OtaError(
                f"boot aborted: the value of {where} is longer than {NVS_STRING_BYTES} bytes "
                "(ESP_ERR_NVS_VALUE_TOO_LONG)"
            )
        self.namespaces.setdefault(namespace, {})[key] = value


@dataclass(frozen=True, slots=True)
class App:
    """A firmware as its descriptor states it (esp_app_desc_t)."""

    version: str
    project: str
    date: str
    time: str
    idf_version: str
    elf_sha256: str  # hexadecimal


@dataclass(slots=True, eq=False)
class Flash:
    """One device's flash memory.

    Attributes:
        device_id: of the device that it belongs to, from its first start on.
        app: the firmware that runs; None: the one of `DeviceConfig.firmware_version`.
        state: whether that firmware has been confirmed, see `power_on`.
    """

    device_id: str = ""
    nvs: Nvs = field(default_factory=Nvs)
    app: App | None = None
    slot: Slot = "ota_0"
    state: ImageState = "valid"
    _previous: App | None = None

    def power_on(self, device_id: str, *, rollback: bool) -> None:
        """Choose the firmware as the bootloader does.

        With `rollback` (CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE, as in sdkconfig.defaults) a new
        firmware that restarts before it confirmed itself gives way to the one before it.

        Raises:
            ValueError: it belongs to another device, whose token it would give away.
        """
        if self.device_id not in ("", device_id):
            raise ValueError(
                f"this flash belongs to device {self.device_id}, not {device_id}: "
                "give each DeviceConfig of another device its own `flash=Flash()`"
            )
        self.device_id = device_id
        if not rollback:
            self.state = "valid"
        elif self.state == "new":
            self.state = "pending"
        elif self.state == "pending":
            self.app, self._previous = self._previous, None
            self._change_slot()
            self.state = "valid"

    def install(self, app: App) -> None:
        """esp_ota_set_boot_partition: the firmware runs from the next boot on."""
        self._previous, self.app = self.app, app
        self._change_slot()
        self.state = "new"

    def confirm(self) -> None:
        """Ota::MarkCurrentVersionValid."""
        self.state = "valid"

    def _change_slot(self) -> None:
        self.slot = "ota_1" if self.slot == "ota_0" else "ota_0"
