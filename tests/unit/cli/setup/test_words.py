"""The words of the set-up: every language has all of them, and all of them are used."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import vixio.cli.setup
from vixio.cli.setup.choices import EARS, VOICES
from vixio.cli.setup.ready import READY
from vixio.cli.setup.vendors import VENDORS
from vixio.cli.setup.words import ENGLISH, LANGUAGES, Words

FOLDER = Path(vixio.cli.setup.__path__[0])


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_every_text_with_the_same_names(language: str) -> None:
    texts = LANGUAGES[language]
    assert set(texts) == set(ENGLISH)
    assert {key: names(text) for key, text in texts.items()} == {
        key: names(text) for key, text in ENGLISH.items()
    }


def test_every_text_is_used_and_every_choice_described() -> None:
    code = "".join(
        each.read_text("utf-8") for each in FOLDER.glob("*.py") if each.name != "words.py"
    )
    choices = {f"ears.{each.name}" for each in EARS} | {f"voice.{each.name}" for each in VOICES}
    choices |= {f"vendor.{name}" for name in VENDORS} | {"ears.funasr-server"}
    choices |= {f"tools.{name}" for name in READY}
    choices |= {f"{question}.vendor" for question in ("ears", "voice")}
    assert choices <= set(ENGLISH)
    used = set(re.findall(r"""["']([a-z][a-z._-]*)["']""", code)) | choices
    assert sorted(set(ENGLISH) - used) == []


def test_other_languages_get_english() -> None:
    assert Words("de")("choose") == Words("")("choose") == "Choose"
    assert Words("zh_CN.UTF-8")("choose") == Words("zh")("choose") == "请选择"
