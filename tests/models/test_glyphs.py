"""Glyphs as they are drawn, beside those that the firmware's own converter makes of the font."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.glyphs import TextFont as StatedFont
from tests.e2e.harness import serving, settings
from tests.models.needs import needs
from vixio.testing import ScriptedTTS
from vixio.transports.xiaozhi.glyphs import TextFont

pytestmark = needs("glyphs", "freetype", "noto_cjk_sans_otc")

# lv_font_conv 1.5.3 with the options of 78/xiaozhi-fonts, scripts/build.py: --no-compress
# --no-prefilter, and --autohint-off for one bit a pixel. Its font: the one for simplified Chinese.
CONVERTED = {
    ("ữ", 20, 4): (
        (194, 12, 16, 1, 0),
        (
            "Ab6ACLAACcTaHIGiDXAd/iX2BBAAQQP1AAAAADzQT4AAB/oAT4AAB/QAT4AAB/QAT4AAB/QAT4AAB/QAT4AA"
            "B/QAT4AAB/QAP5AACfQAH+AAX/QAC/2d6PQAAa7qE/QA"
        ),
    ),
    ("𠮷", 20, 4): (
        (320, 18, 19, 1, -2),
        (
            "AAAAANoAAAAAAAAAANoAAAAAAkREROxEREQQB/////////9gABEREdsREREAAAAAANoAAAAAAAAAANoAAAAA"
            "7//////////8Z3d3d3d3d3d2AAAAAAAAAAAAABIiIiIiIiEAAG////////YAAG9DMzMzNfYAAG8QAAAAAfYA"
            "AG8QAAAAAfYAAG8QAAAAAfYAAG92ZmZmZ/YAAG////////YAAG8QAAAAAfYA"
        ),
    ),
    ("ữ", 14, 1): ((136, 8, 12, 1, 0), "ZFaZA4SEhISEhMx0"),
    ("龘", 14, 1): ((224, 12, 14, 1, -2), "IQWe/OeeeeefSfUU3v57++8+/++7"),
    ("𠮷", 14, 1): ((224, 12, 14, 1, -2), "BgBgf+BgBg//AAAAP+IGIGIGP+IG"),
}
METRICS = ("adv_w", "box_w", "box_h", "ofs_x", "ofs_y")


async def drawn(font: TextFont, text: str) -> dict[str, Any]:
    """Return the glyphs for ``text``. A device's words do not wait for those that take long."""
    async with asyncio.timeout(60):
        while (  # noqa: ASYNC110 - of another thread
            push := await font.push_for(text)
        ) is None or len(push["glyphs"]) < len(set(text)):
            await asyncio.sleep(0.02)
    return push


@pytest.mark.parametrize(("character", "size", "bpp"), CONVERTED)
async def test_a_glyph_is_that_of_the_converter(character: str, size: int, bpp: int) -> None:
    push = await drawn(TextFont("basic", size, bpp, "noto-v1"), character)
    (glyph,) = push["glyphs"]
    metrics, bitmap = CONVERTED[character, size, bpp]
    assert glyph["codepoint"] == ord(character)
    assert tuple(glyph[name] for name in METRICS) == metrics
    assert glyph["bitmap"] == bitmap
    assert base64.b64decode(bitmap)


async def test_every_script_of_the_locales_is_there() -> None:
    text = "𠮷龘㐂ゟヿ한글ЖΩĐặữ"
    for size in (14, 16, 20, 30):
        push = await drawn(TextFont("basic", size, 4, "noto-v1"), text)
        assert "".join(chr(each["codepoint"]) for each in push["glyphs"]) == text


@pytest.mark.parametrize("mqtt", [None, {"port": 0, "udp_port": 0}])
async def test_a_device_takes_them(mqtt: dict[str, int] | None) -> None:
    sections: dict[str, Any] = {"mqtt": mqtt} if mqtt else {}
    stated = StatedFont()
    await drawn(TextFont("basic", stated.size, stated.bpp, stated.bundle), "𠮷龘靐")
    async with (
        serving(settings(**sections), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device(text_font=stated)) as device,
    ):
        await device.type_text("what is 𠮷野家")
        (stt, *_) = device.records.glyphs
        assert [chr(each.codepoint) for each in stt] == ["𠮷"]
        session = server.session(device.config.device_id)
        assert session is not None
        handle = session.say("龘靐")
        reply = await device.wait_for_reply()
        await handle.played()
        assert "龘" in reply.text
        assert {chr(each.codepoint) for each in device.records.glyphs[-1]} == {"龘", "靐"}
        assert device.records.violations == []
