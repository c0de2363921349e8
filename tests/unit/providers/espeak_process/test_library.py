"""The C library itself: speech, pronunciation, and what is missing."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import unicodedata

import pytest

from vixio.providers.espeak_process.library import EspeakError, EspeakLibrary, load_espeak
from vixio.providers.espeak_process.messages import Voice


def pronounced(text: str, voice: str = "en-us") -> str:
    library = load_espeak()
    assert library.set_voice(Voice(voice))
    return library.phonemes(text)


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("Hello, world!", "həlˈoʊ, wˈɜːld!"),
        ("yes", "jˈɛs"),
        ("Six. Two? Three; nine: five…", "sˈɪks. tˈuː? θɹˈiː; nˈaɪn: fˈaɪv…"),
        ("", ""),
        ("...", ""),
        ("b \0 b", "bˈiː bˈiː"),
    ],
)
def test_sounds_and_marks(text: str, sounds: str) -> None:
    assert pronounced(text) == unicodedata.normalize("NFD", sounds)


def test_a_mark_inside_a_number_is_no_pause() -> None:
    assert "." not in pronounced("It is 3.5 degrees")
    assert pronounced("at 10:30").count(":") == 0


def test_chinese_marks_become_those_that_models_know() -> None:
    sounds = pronounced("你好，世界。", "cmn")
    assert "," in sounds
    assert sounds.endswith(".")


def test_flags_of_a_language_switch_are_left_out() -> None:
    assert "(" not in pronounced("你好 hello", "cmn")


def test_accents_are_characters_of_their_own() -> None:
    sounds = pronounced("un bon vin blanc", "fr")
    assert sounds == unicodedata.normalize("NFD", sounds)
    assert "\u0303" in sounds


def test_markup_is_text() -> None:
    assert pronounced("a <break time='60s'/> b") == pronounced("a break time='60s'/ b")


def test_a_long_word_and_a_long_text_end() -> None:
    assert pronounced("x" * 2000).count("ɛks") > 50  # the library leaves out the rest
    assert pronounced("word " * 500).count("wˈɜːd") == 500


def test_false_from_write_ends_the_call() -> None:
    library = load_espeak()
    assert library.set_voice(Voice("en-us"))
    written: list[bytes] = []

    def write(pcm: bytes) -> bool:
        written.append(pcm)
        return False

    library.synthesize("one two three four five six seven", write, pause_after=False)
    assert len(written) == 1


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(path: str) -> None:
        raise OSError(path)

    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    monkeypatch.setattr(ctypes, "CDLL", nowhere)
    with pytest.raises(EspeakError, match="pip install espeakng-loader"):
        EspeakLibrary()


@pytest.mark.slow
def test_no_data() -> None:
    """In a process of its own: the library's state would not survive it."""
    program = """
from vixio.providers.espeak_process import library
path, _ = library._bundled()
library._bundled = lambda: (path, b"/nonexistent")
try:
    library.EspeakLibrary()
except library.EspeakError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert "no voice data in /nonexistent" in done.stdout
