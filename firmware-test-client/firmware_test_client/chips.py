"""Figures of the chips that the firmware is built for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Chip:
    """One kind of chip. The addresses are where an image's segments belong."""

    image_id: int  # esp_chip_id_t (esp_app_format.h)
    model: int  # esp_chip_model_t (esp_chip_info.h), as the device reports it
    bootloader_at: int  # offset in flash, bytes
    mapped: tuple[int, int]  # constant data, mapped from flash: SOC_DROM_LOW, SOC_DROM_HIGH
    loaded: int  # in internal memory, for code


CHIPS: Final = {
    "esp32": Chip(0, 1, 0x1000, (0x3F400000, 0x3F800000), 0x40080000),
    "esp32s3": Chip(9, 9, 0, (0x3C000000, 0x3E000000), 0x40374000),
    "esp32c3": Chip(5, 5, 0, (0x3C000000, 0x3C800000), 0x40380000),
    "esp32c6": Chip(13, 13, 0, (0x42000000, 0x43000000), 0x40800000),
    "esp32p4": Chip(18, 18, 0x2000, (0x40000000, 0x44000000), 0x4FF00000),
    "esp32c5": Chip(23, 23, 0x2000, (0x42000000, 0x44000000), 0x40800000),
}
"""By the name that the device reports as `chip_model_name`."""

PAGE_BYTES: Final = 0x10000
"""Unit in which flash is mapped into memory (SPI_FLASH_MMU_PAGE_SIZE)."""

APP_BYTES: Final = 0x3F0000
"""Size of a firmware's slot (partitions/v2/16m.csv)."""
APP_AT: Final = {"ota_0": 0x20000, "ota_1": 0x20000 + APP_BYTES}
"""Offsets of the slots in flash, same file."""
