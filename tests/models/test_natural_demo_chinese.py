"""``make demo-natural`` in Chinese. It talks for a minute, beside the one in English."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.demos.natural_script import CHINESE
from examples.demos.natural_words import behind, contains, share_heard
from tests.models.natural_support import check_conversation
from tests.models.needs import needs

pytestmark = [
    *needs("whisper kokoro", "faster_whisper", "rjieba", "pypinyin"),
    pytest.mark.timeout(900),
]


async def test_a_natural_conversation(tmp_path: Path) -> None:
    ready = "asr whisper · agent fallback · tts kokoro"
    await check_conversation(CHINESE, ready, tmp_path)


def test_chinese_is_compared_by_its_sounds() -> None:
    said = "声音太大了，请把音量调到百分之二十。"
    assert share_heard(said, "聲音太大了,請把音量掉到20%", "zh") == 1
    assert share_heard(said, "声音太大了。", "zh") < 0.4
    assert share_heard(said, "", "zh") == 0
    assert contains("請擺一亮掉到20%。", "二十", "zh")
    assert not contains("我想听一个故事", "二十", "zh")
    assert behind("请记住,我的妹妹喜欢吃苹果。", "记住", "zh") == "我的妹妹喜欢吃苹果"
