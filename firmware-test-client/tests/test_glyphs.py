"""Glyphs that come with a text: what the firmware takes, and what it rejects."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from firmware_test_client.glyphs import Glyph, TextFont, parse_glyphs

BITMAP = bytes(range(200))
ITEM: dict[str, Any] = {
    "codepoint": 0x9F98,
    "adv_w": 320,
    "box_w": 20,
    "box_h": 20,
    "ofs_x": 0,
    "ofs_y": -2,
    "bitmap": base64.b64encode(BITMAP).decode(),
}


def message(*items: object, **header: object) -> dict[str, Any]:
    payload = {"v": 1, "bundle": "noto-v1", "size": 20, "bpp": 4, "glyphs": list(items)}
    return {"type": "stt", "text": "龘", "glyph_push": {**payload, **header}}


def test_what_is_taken() -> None:
    assert parse_glyphs({"type": "stt", "text": "x"}, TextFont()) == []
    assert parse_glyphs(message(ITEM), TextFont()) == [Glyph(0x9F98, 320, 20, 20, 0, -2, BITMAP)]
    assert len(parse_glyphs(message(*[ITEM] * 64), TextFont())) == 64


FAULTS: dict[str, dict[str, Any]] = {
    "a version": message(ITEM, v=2),
    "another bundle": message(ITEM, bundle="noto-v2"),
    "another size": message(ITEM, size=16),
    "another depth": message(ITEM, bpp=1),
    "too many": message(*[ITEM] * 65),
    "too large": message(
        *[{**ITEM, "box_w": 64, "box_h": 64, "bitmap": base64.b64encode(bytes(2048)).decode()}] * 33
    ),
    "a bitmap that is too short": message({**ITEM, "bitmap": "AAAA"}),
    "no base64": message({**ITEM, "bitmap": "ä"}),
    "a wide one": message({**ITEM, "box_w": 65}),
    "no character": message({**ITEM, "codepoint": 0}),
    "no number": message({**ITEM, "ofs_x": "0"}),
    "one of two": message(ITEM, {**ITEM, "box_h": -1}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_rejects_all(fault: str) -> None:
    with pytest.raises(ValueError, match=r"glyph|bitmap"):
        parse_glyphs(FAULTS[fault], TextFont())


def test_a_device_that_states_no_font_takes_none() -> None:
    with pytest.raises(ValueError, match="incompatible"):
        parse_glyphs(message(ITEM), None)
