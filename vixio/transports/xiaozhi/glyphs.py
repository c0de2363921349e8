"""Glyphs that a device's font lacks, drawn here and sent with the words that need them.

The wire is version 1 of the firmware's glyph_push (its page glyph-push), checked there by
TextGlyphPayload::Parse. Bitmaps and metrics are those that lv_font_conv makes of the same typeface
with the options of the device's bundle (scripts/build.py of 78/xiaozhi-fonts): rows of pixels,
packed without a gap, the leftmost in the highest bits.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import unicodedata
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, Final

from vixio.core.errors import describe
from vixio.core.extras import how_to_install
from vixio.core.tools.types import JsonObject

BUNDLES: Final = {"noto-v1"}
"""Those of the typeface that is drawn here: 78/xiaozhi-fonts 2.0, Noto Sans."""

MAX_GLYPHS: Final = 64
MAX_BYTES: Final = 64 * 1024
"""Of the bitmaps of a message, as is :data:`MAX_GLYPHS`."""

MAX_SIDE: Final = 64
"""Pixels of a glyph."""

MAX_CACHED: Final = 4_096
"""Glyphs that are kept drawn: some 2 MB."""

SIMPLIFIED: Final = 2
"""The typeface's number in the collection: Japanese, Korean, simplified Chinese, …"""

DRAW_S: Final = 0.1
"""Audio may wait behind the text. What is drawn later is there for the next one."""

_ROWS: Final = frozenset((0xA1, 0xA3, 0xA4, 0xA5, *range(0xB0, 0xD8)))
"""Of GB 2312: punctuation, full-width forms, both kana, and the 3,755 most usual characters.
``common`` has what a language model's tokens have, which is far more (the list is not published
with the firmware). A glyph too many is not harmful: the device prefers its own."""

_drawing = threading.Lock()
_log = logging.getLogger(__name__)


def is_installed() -> bool:
    """Whether the extra ``glyphs`` is installed."""
    return all(map(find_spec, ("freetype", "noto_cjk_sans_otc")))


@dataclass(frozen=True, slots=True)
class TextFont:
    """The font of a device's texts (protocol.cc, AddTextFontCapabilities)."""

    charset: str
    """``basic``: Latin-1 and the firmware's own texts; ``common``: most characters."""
    size: int
    bpp: int
    bundle: str

    async def push_for(self, text: str) -> JsonObject | None:
        """Return the field ``glyph_push`` of a message with this text; None: it needs none."""
        lacking = [each for each in dict.fromkeys(text) if self._lacks(each)]
        if not lacking or not _usable():
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAW_S):
                return await asyncio.to_thread(self._push, lacking)
        return None

    def _lacks(self, character: str) -> bool:
        if ord(character) < 0x100 or unicodedata.category(character)[0] in "CZ":
            return False
        row = character.encode("gb2312", "replace")[0]
        return self.charset != "common" or row not in _ROWS

    def _push(self, characters: list[str]) -> JsonObject | None:
        left, glyphs = MAX_BYTES, list[JsonObject]()
        for each in characters:
            glyph = _glyph(ord(each), self.size, self.bpp)
            size = _bytes(glyph["box_w"], glyph["box_h"], self.bpp) if glyph else 0
            if glyph is None or size > left:
                continue
            left -= size
            glyphs.append(glyph)
            if len(glyphs) == MAX_GLYPHS:
                break
        header = {"v": 1, "bundle": self.bundle, "size": self.size, "bpp": self.bpp}
        return {**header, "glyphs": glyphs} if glyphs else None


def read_text_font(hello: JsonObject) -> TextFont | None:
    """Return the font that a hello states; None: it takes no glyphs, or none that are drawn here.

    The firmware has one of 14 to 30 pixels.
    """
    features = hello.get("features")
    match hello.get("text_font"):
        case {
            "bundle": str(bundle),
            "charset": "basic" | "common" as charset,
            "size": int(size),
            "bpp": 1 | 4 as bpp,
        } if bundle in BUNDLES and 8 <= size <= MAX_SIDE and isinstance(features, dict):
            font = TextFont(charset, size, int(bpp), bundle)
            return font if features.get("glyph_push") is True else None
    return None


@cache
def _usable() -> bool:
    """Whether glyphs can be drawn. Says once why not."""
    if not is_installed():
        remedy = how_to_install("glyphs")
        _log.info("a device's font lacks characters, which it shows as boxes", extra={"do": remedy})
        return False
    return True


@cache
def _face() -> Any:  # noqa: ANN401 - freetype-py has no types
    import freetype
    import noto_cjk_sans_otc

    return freetype.Face(str(noto_cjk_sans_otc.FONT_PATH), SIMPLIFIED)


@lru_cache(MAX_CACHED)
def _glyph(codepoint: int, size: int, bpp: int) -> JsonObject | None:
    """Draw a character; None: it has none, or it is too large. Blocks, never raises."""
    try:
        with _drawing:
            return _drawn(codepoint, size, bpp)
    except Exception as error:  # noqa: BLE001 - a defect of the library or its file costs a glyph
        _log.warning("a glyph cannot be drawn", extra={"error": describe(error)})
        return None


def _drawn(codepoint: int, size: int, bpp: int) -> JsonObject | None:
    import freetype

    face = _face()
    index = face.get_char_index(codepoint)
    if not index:
        return None
    face.set_pixel_sizes(0, size)
    flags = freetype.FT_LOAD_RENDER
    if bpp == 1:
        flags |= freetype.FT_LOAD_NO_AUTOHINT | freetype.FT_LOAD_TARGET_MONO
    else:
        flags |= freetype.FT_LOAD_FORCE_AUTOHINT | freetype.FT_LOAD_TARGET_LIGHT
    face.load_glyph(index, flags)
    glyph, bitmap = face.glyph, face.glyph.bitmap
    width, rows, pitch, grey = bitmap.width, bitmap.rows, abs(bitmap.pitch), bitmap.buffer
    if max(width, rows) > MAX_SIDE:
        return None
    bits = 0
    for start in range(0, rows * pitch, pitch or 1):
        for x in range(width):
            pixel = grey[start + x // 8] >> (7 - x % 8) & 1 if bpp == 1 else grey[start + x] >> 4
            bits = bits << bpp | pixel
    length = _bytes(width, rows, bpp)
    packed = (bits << (length * 8 - width * rows * bpp)).to_bytes(length)
    return {
        "codepoint": codepoint,
        "adv_w": round(glyph.linearHoriAdvance / 4096),  # 16.16 pixels in sixteenths
        "box_w": width,
        "box_h": rows,
        "ofs_x": glyph.bitmap_left,
        "ofs_y": glyph.bitmap_top - rows,
        "bitmap": b64encode(packed).decode(),
    }


def _bytes(width: int, rows: int, bpp: int) -> int:
    return (width * rows * bpp + 7) // 8
