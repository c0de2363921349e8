"""Glyphs that come with a text, taken as TextGlyphPayload::Parse takes them.

Source: main/protocols/text_glyph_payload.cc and the page glyph-push of the firmware.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final

_MOST: Final = 64
_MOST_BYTES: Final = 64 * 1024
_INT16: Final = range(-(2**15), 2**15)


@dataclass(frozen=True, slots=True)
class TextFont:
    """The font that the device states (Protocol::AddTextFontCapabilities)."""

    bundle: str = "noto-v1"
    charset: str = "common"
    size: int = 20
    bpp: int = 4


@dataclass(frozen=True, slots=True)
class Glyph:
    """One glyph: metrics of LVGL, and rows of pixels, packed without a gap."""

    codepoint: int
    adv_w: int  # sixteenths of a pixel
    box_w: int
    box_h: int
    ofs_x: int
    ofs_y: int
    bitmap: bytes


def parse_glyphs(message: dict[str, Any], font: TextFont | None) -> list[Glyph]:
    """The glyphs of a message. One fault rejects all of them.

    Raises:
        ValueError: the fault.
    """
    payload = message.get("glyph_push")
    if not isinstance(payload, dict):
        return []
    if font is None or (1, font.bundle, font.size, font.bpp) != tuple(
        payload.get(name) for name in ("v", "bundle", "size", "bpp")
    ):
        raise ValueError("incompatible glyph payload")
    items = payload.get("glyphs")
    if not isinstance(items, list) or len(items) > _MOST:
        raise ValueError("no list of glyphs, or too many")
    glyphs = [_glyph(item, font.bpp) for item in items]
    if sum(len(each.bitmap) for each in glyphs) > _MOST_BYTES:
        raise ValueError("oversized glyph payload")
    return glyphs


def _glyph(item: dict[str, Any], bpp: int) -> Glyph:
    names = ("codepoint", "adv_w", "box_w", "box_h", "ofs_x", "ofs_y")
    values = [item.get(name) for name in names]
    if not all(isinstance(value, int) for value in values):
        raise ValueError(f"malformed glyph {item}")
    codepoint, advance, width, height, left, bottom = (int(value or 0) for value in values)
    sides = 0 <= width <= 64 and 0 <= height <= 64 and left in _INT16 and bottom in _INT16
    if not 0 < codepoint <= 0x10FFFF or advance < 0 or not sides:
        raise ValueError(f"malformed glyph {item}")
    try:
        bitmap = base64.b64decode(str(item.get("bitmap")), validate=True)
    except ValueError as error:
        raise ValueError(f"invalid bitmap of U+{codepoint:04X}") from error
    if len(bitmap) != (width * height * bpp + 7) // 8:
        raise ValueError(f"invalid bitmap of U+{codepoint:04X}")
    return Glyph(codepoint, advance, width, height, left, bottom, bitmap)
