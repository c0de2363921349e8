"""Which characters are sent with a text; tests/models/test_glyphs.py has how they look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from vixio.transports.xiaozhi import glyphs
from vixio.transports.xiaozhi.glyphs import MAX_BYTES, MAX_GLYPHS, TextFont, read_text_font

STATED: dict[str, Any] = {"bundle": "noto-v1", "charset": "common", "size": 20, "bpp": 4}
HELLO: dict[str, Any] = {"features": {"glyph_push": True}, "text_font": STATED}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The characters that are drawn, each a box of 20 pixels; the typeface has no ☃."""
    asked: list[str] = []

    def draw(codepoint: int, size: int, bpp: int) -> dict[str, Any] | None:
        asked.append(chr(codepoint))
        box = {"codepoint": codepoint, "box_w": size, "box_h": size}
        return None if chr(codepoint) == "☃" else box

    monkeypatch.setattr(glyphs, "_glyph", draw)
    monkeypatch.setattr(glyphs, "is_installed", lambda: True)
    glyphs._usable.cache_clear()
    yield asked
    glyphs._usable.cache_clear()


async def pushed(text: str, **font: Any) -> str:  # noqa: ANN401 - fields of any type
    """Return the characters that go with a text."""
    push = await TextFont(**{**STATED, **font}).push_for(text)
    return "".join(chr(each["codepoint"]) for each in push["glyphs"]) if push else ""


async def test_what_a_font_has_is_not_sent(drawn: list[str]) -> None:
    assert await pushed("Grüße, 123!\n\t") == ""
    assert await pushed("你好，世界。「ひらがな」カタカナ", charset="common") == ""
    assert drawn == []
    assert await pushed("𠮷野家的龘", charset="common") == "𠮷龘"
    assert await pushed("你好，ABC 你", charset="basic") == "你好，"
    assert await pushed("Đặng Ữ", charset="basic") == "ĐặỮ"
    assert await pushed("☃") == ""


async def test_a_payload_has_the_header_of_the_device_and_its_limits(drawn: list[str]) -> None:
    many = "".join(map(chr, range(0x3400, 0x3400 + 200)))
    push = await TextFont("common", 20, 4, "noto-v1").push_for(many)
    assert push is not None
    assert {name: push[name] for name in ("v", "bundle", "size", "bpp")} == {
        "v": 1, "bundle": "noto-v1", "size": 20, "bpp": 4,
    }  # fmt: skip
    assert len(push["glyphs"]) == MAX_GLYPHS
    largest = await pushed(many, size=64)
    assert len(largest) == MAX_BYTES // (64 * 64 // 2)


async def test_without_the_extra_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glyphs, "is_installed", lambda: False)
    glyphs._usable.cache_clear()
    assert await pushed("龘") == ""
    glyphs._usable.cache_clear()


async def test_a_glyph_that_cannot_be_drawn_costs_itself_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise OSError("the file is gone")

    monkeypatch.setattr(glyphs, "_drawn", broken)
    monkeypatch.setattr(glyphs, "_usable", lambda: True)
    glyphs._glyph.cache_clear()
    assert await pushed("龘靐") == ""
    glyphs._glyph.cache_clear()


WRONG: tuple[dict[str, Any], ...] = (
    {"bundle": "other"}, {"bundle": 1}, {"charset": "full"}, {"charset": None}, {"size": 7},
    {"size": 65}, {"size": "20"}, {"bpp": 2}, {"bpp": None},
)  # fmt: skip


def test_a_font_is_read_where_it_is_one_of_those_that_are_drawn() -> None:
    assert read_text_font(HELLO) == TextFont("common", 20, 4, "noto-v1")
    for field in WRONG:
        assert read_text_font({**HELLO, "text_font": {**STATED, **field}}) is None, field
    for hello in (
        {}, {**HELLO, "text_font": None}, {**HELLO, "text_font": []}, {"text_font": STATED},
        {**HELLO, "features": None}, {**HELLO, "features": {"glyph_push": 1}},
    ):  # fmt: skip
        assert read_text_font(hello) is None, hello
